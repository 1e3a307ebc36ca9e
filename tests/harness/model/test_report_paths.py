from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.report_paths import case_place, replay_line, trace_name, trace_place

ODD = ["../../etc/passwd", "/root", "a//b", "..", "", "JOIN/classic/x", "a/b/trace.ndjson", "a/b/trace-2.ndjson", "x" * 500, "ü\0\n/../é", "CON/aux"]


def test_a_case_of_the_suites_has_the_folder_of_its_name() -> None:
    assert [case_place(case.id) for case in CASES] == [f"cases/{case.id}" for case in CASES]


@pytest.mark.parametrize("id", ODD)
def test_an_odd_id_stays_inside_the_folder_of_cases(id: str) -> None:
    parts = PurePosixPath(case_place(id)).parts

    assert parts[0] == "cases"
    assert len(parts) > 1
    assert not {"..", ".", ""} & set(parts)
    assert all(len(part) < 100 and part.isascii() and part == part.lower() for part in parts)


@given(st.lists(st.text(), unique=True, min_size=2, max_size=6))
def test_two_ids_never_share_a_folder(ids: list[str]) -> None:
    assert len({case_place(id) for id in ids}) == len(ids)


def test_no_case_takes_the_name_of_a_file_of_another() -> None:
    assert case_place("a/b/trace.ndjson").startswith("cases/a/b/trace.ndjson-")
    assert case_place("a/b/trace-7.ndjson").startswith("cases/a/b/trace-7.ndjson-")


def test_traces_are_numbered_from_the_second_run_on() -> None:
    assert [trace_name(run) for run in range(3)] == ["trace.ndjson", "trace-2.ndjson", "trace-3.ndjson"]
    assert trace_place("join/classic/x") == "cases/join/classic/x/trace.ndjson"
    assert trace_place("join/classic/x", 1) == "cases/join/classic/x/trace-2.ndjson"


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("reports/x", "groupproof replay reports/x/cases/join/classic/y/plan.json"),
        (".", "groupproof replay cases/join/classic/y/plan.json"),
        ("/tmp/my reports", "groupproof replay '/tmp/my reports/cases/join/classic/y/plan.json'"),
    ],
)
def test_a_replay_line_can_be_pasted_where_the_report_was_asked_for(output: str, line: str) -> None:
    assert replay_line(output, "join/classic/y") == line
