"""`groupproof watch` over files: the table, one group's history, JSON of its schema, and what is wrong usage."""

from __future__ import annotations

from pathlib import Path

from tests.harness.commands.calling import Call
from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit, generation

from groupproof.protocol.schemas import validate


def _segments(folder: Path) -> Path:
    logs = TopicLogs()
    logs.append(0, *(generation(1_000 * number, "payments", number, (member("a-1", (0, 1)),)) for number in range(1, 7)))
    logs.append(1, generation(500, "orders", 1, (member("c-1", (0,)),)), commit(600, "orders", 0, 3))
    logs.write(folder)
    return folder


def test_all_groups_are_shown_and_one_group_with_its_history(groupproof: Call, tmp_path: Path) -> None:
    table = groupproof("watch", str(_segments(tmp_path)))
    history = groupproof("watch", str(tmp_path), "--group", "payments")

    assert (table.code, history.code) == (0, 0)
    assert "2 groups, 8 records" in table.out
    assert "payments" in table.out
    assert "orders" in table.out
    assert history.out.splitlines()[0] == "group payments, classic: Stable, generation 6, 1 members; from its beginning"
    assert "problem  storm: 6 rebalances" in history.out
    assert "does not say who sent a commit" in history.out


def test_json_is_of_its_schema_and_alone_on_stdout(groupproof: Call, tmp_path: Path) -> None:
    document = groupproof("watch", str(_segments(tmp_path)), "--json").json

    validate("watch", document)
    assert [(group["group"], group["in_storm"]) for group in document["groups"]] == [("orders", False), ("payments", True)]
    assert document["topic"]["records"] == {"GroupMetadata": 7, "OffsetCommit": 1}


def test_what_is_recorded_can_be_watched_again(groupproof: Call, tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.ndjson"
    first = groupproof("watch", str(_segments(tmp_path / "log")), "--record", str(recorded), "--group", "orders")

    assert groupproof("watch", str(recorded), "--group", "orders").out == first.out


def test_a_group_that_is_not_there_is_answered_with_the_nearest(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("watch", str(_segments(tmp_path)), "--group", "payment")

    assert called.code == 3
    assert "there is no group payment; did you mean payments?" in called.complaint


def test_what_is_neither_a_file_nor_an_address_is_wrong_usage(groupproof: Call) -> None:
    called = groupproof("watch", "nowhere")

    assert called.code == 3
    assert "'nowhere' is no address" in called.complaint


def test_a_cluster_that_is_not_there_is_the_environments_fault(groupproof: Call) -> None:
    called = groupproof("watch", "127.0.0.1:1", "--once")

    assert called.code == 4
    assert "__consumer_offsets of 127.0.0.1:1 can't be read" in called.complaint


def test_what_is_shown_is_drawn_too(groupproof: Call, tmp_path: Path) -> None:
    table = groupproof("watch", str(_segments(tmp_path / "log")), "--svg", str(tmp_path / "all.svg"))
    group = groupproof("watch", str(tmp_path / "log"), "--group", "orders", "--svg", str(tmp_path / "one.svg"))

    assert (table.code, group.code) == (0, 0)
    assert "payments" in table.out
    assert "payments" in (tmp_path / "all.svg").read_text()
    assert "payments" not in (tmp_path / "one.svg").read_text()
