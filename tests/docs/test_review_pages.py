from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.review_pages import Row, about, named_in, pages_of, rows_of

CASES = ("join/classic/no-bytes", "join/classic/two", "sync/classic/no-bytes", "sync/classic/two", "join/consumer/two", "commit/classic/async-two")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("`join/classic/no-bytes` is right", {"join/classic/no-bytes"}),
        ("`join/classic/no-bytes`, `two`; `sync/classic/two`", {"join/classic/no-bytes", "join/classic/two", "sync/classic/two"}),
        ("`join`, `sync` `/classic/no-bytes`, `two`", set(CASES[:4])),
        ("`sync/classic/{no-bytes, two}`", {"sync/classic/no-bytes", "sync/classic/two"}),
        ("`commit/classic/{, async-}two`", {"commit/classic/async-two"}),
        ("`join/*/two`", {"join/classic/two", "join/consumer/two"}),
        ("`consumer.go:12` calls `two` of it", set()),
        ("join/classic/two without marks", set()),
    ],
)
def test_a_row_names_cases_by_their_ids_and_in_short(text: str, named: set[str]) -> None:
    assert named_in(text, CASES) == named


def test_a_section_about_another_client_is_not_about_this_one() -> None:
    page = "# kafkajs and others\n\nof all\n\n## kafkajs 2.2.4\n\nof kafkajs\n\n### Once\n\nof it too\n\n## @platformatic/kafka\n\nof platformatic\n"
    rows = list(rows_of("docs/reviews/x.md", page))

    assert [row.text for row in about("kafkajs", rows)] == ["of all", "of kafkajs", "of it too"]
    assert [row.text for row in about("platformatic-kafka", rows)] == ["of all", "of platformatic"]


def test_a_name_within_another_name_is_not_meant() -> None:
    rows = list(rows_of("docs/reviews/x.md", "# Python\n\n## kafka-python-ng 2.2.3\n\nof the fork\n"))

    assert about("kafka-python", rows) == []


@pytest.mark.parametrize(
    ("text", "has_place"),
    [
        ("right: `group/mod.rs:571`", True),
        ("right: it forgets the id (base, line 784)", True),
        ("right: `reset_generation` (530)", True),
        ("right: the same `default` (`:3300`)", True),
        ("right: `rd_kafka_cgrp_leave` does", True),
        ("right: [the finding](../findings/x.md)", True),
        ("right, the same", False),
        ("right: it joins anew after 25, in 3 of 3 runs", False),
        ("right: `poll` raises", False),
    ],
)
def test_a_place_in_the_source_is_a_file_a_line_or_a_function(text: str, has_place: bool) -> None:
    assert Row("docs/reviews/x.md", (), text).has_place is has_place


def test_the_pages_of_a_client_stand_in_the_head_of_its_file_alone(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        '# Reviewed in docs/reviews/go.md and docs/reviews/rust.md.\n# Again docs/reviews/go.md.\n\nfindings = "docs/reviews/node.md"\n'
    )

    assert pages_of("x", tmp_path) == ("docs/reviews/go.md", "docs/reviews/rust.md")
