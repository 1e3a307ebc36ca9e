"""`groupproof trace explain` as an operator calls it: on a real broker's logs, on a trace, and on what is neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.judging.diagnosis.trimming import RECORDED

from groupproof.harness.reports.texts.rebalance_text import SCHEMA

LOGS = sorted((RECORDED / "4.1.0").glob("server-*.log"))


def test_a_broker_s_logs_are_explained_rebalance_by_rebalance(groupproof: Call) -> None:
    called = groupproof("trace", "explain", *LOGS)

    assert called.code == 0
    assert "cause    poll-interval (client change, lost member), as the coordinator says" in called.out
    assert "poll-b did not poll within max.poll.interval.ms and left; it said: consumer poll timeout has expired" in called.out
    assert called.out.rstrip().splitlines()[-1].split()[1] == "×"


def test_one_group_alone_as_json(groupproof: Call) -> None:
    called = groupproof("trace", "explain", *LOGS, "--group", "handover", "--json")

    assert (called.code, called.json["schema"]) == (0, SCHEMA)
    assert [rebalance["cause"] for rebalance in called.json["rebalances"]] == ["first-member", "new-member", "cooperative-handover"]


def test_what_a_consumer_group_waits_for_is_reported_and_is_in_the_json(groupproof: Call) -> None:
    wire = RECORDED / "4.1.0-consumer/wire.ndjson.gz"
    called = groupproof("trace", "explain", wire, "--group", "kip848-slow")
    data = groupproof("trace", "explain", wire, "--group", "kip848-slow", "--json").json

    assert "slow-a was to give up" in called.out or "slow-b was to give up" in called.out
    assert {order["group"] for order in data["orders"]} == {"kip848-slow"}


def test_pictures_and_the_explanation_are_written(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("trace", "explain", *LOGS, "--group", "poll-interval", "--output", "why")

    assert called.code == 0
    assert sorted(file.name for file in (tmp_path / "why").iterdir()) == ["explanation.json", "poll-interval.svg"]
    assert (tmp_path / "why/poll-interval.svg").read_text().startswith("<svg")


def test_several_traces_are_several_documents(groupproof: Call) -> None:
    called = groupproof("trace", "explain", LOGS[0], RECORDED / "1.1.0/wire.ndjson.gz", "--json")

    assert [item["schema"] for item in called.json] == [SCHEMA, SCHEMA]


@pytest.mark.parametrize(("text", "message"), [(None, "No such file"), ("hello", "has nothing about groups")])
def test_what_tells_nothing_is_wrong_usage_in_one_line(text: str | None, message: str, groupproof: Call, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "server.log").write_text(text)

    called = groupproof("trace", "explain", "server.log")

    assert called.code == 3
    assert message in called.complaint


def test_a_folder_that_cannot_be_made_is_the_machine_s_fault(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    called = groupproof("trace", "explain", LOGS[0], "--output", "file/why")

    assert called.code == 4
    assert "can't write" in called.complaint
