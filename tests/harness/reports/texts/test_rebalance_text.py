"""An explanation is read by people and by programs; every statement stands beside what shows it."""

from __future__ import annotations

import json
import re

import pytest
from tests.harness.judging.diagnosis.recordings import by_group, explained, recorded

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.rebalances import Rebalance
from groupproof.harness.reports.texts.rebalance_text import SCHEMA, epoch_ms_of, explanation_to_json, tell, tell_summary


def _rebalance_text(group: str, number: int, release: str = "4.1.0", source: str = "info") -> str:
    return "\n".join(tell(by_group(explained(release, source))[group][number], epoch_ms_of(recorded(release, source))))


@pytest.mark.requirement("TUNE-09")
@pytest.mark.parametrize(("group", "number"), [("slow-member", 1), ("heartbeat-timeout", 2), ("poll-interval", 2), ("sync-timeout", 1)])
def test_each_report_names_the_marker_lines_and_the_requirement_ids(group: str, number: int) -> None:
    text = _rebalance_text(group, number)

    assert re.search(r"shown by DIAG-01 at [-0-9:., ]+: \[GroupCoordinator id=\d .*\] Preparing to rebalance group", text)
    assert re.search(r"shown by DIAG-03 .*Assignment received from leader", text)
    assert re.search(r"advice   (TUNE|DIAG|DISC)-\d\d ", text)


@pytest.mark.requirement("DIAG-26")
def test_join_and_sync_are_distinguished_with_who_was_waited_for() -> None:
    text = _rebalance_text("slow-member", 1)

    assert re.search(r"phases   join 4 s, sync \d+ ms; 4\.\d+ s in all", text)
    assert re.search(r"waited   4 s to join for slow-stuck: did not join again", text)


@pytest.mark.requirement("DIAG-29")
def test_27_and_22_are_reported_as_what_they_mean_to_an_application() -> None:
    text = "\n".join(tell(Rebalance(group="g", number=1, start_seq=0, started_ms=0.0, answers={27: 8, 22: 1})))

    assert "REBALANCE_IN_PROGRESS (27) ×8: a rebalance is running" in text
    assert "ILLEGAL_GENERATION (22) ×1: the rebalance is over, and my generation is old" in text
    assert "REBALANCE_IN_PROGRESS (27)" in _rebalance_text("slow-member", 1, "1.1.0", "all"), "as the request log tells"


def test_times_are_those_of_the_log() -> None:
    assert re.search(r"began at 2026-11-21 21:08:\d\d\.\d{3}, broker 0", _rebalance_text("poll-interval", 2))


def test_a_trace_without_a_calendar_tells_seconds() -> None:
    (first, *_) = tell(Rebalance(group="g", number=1, start_seq=0, started_ms=12_345.0))

    assert first == "group g, rebalance 1: generation none → ?, began at 12.345 s"


def test_what_could_be_something_else_says_so() -> None:
    assert "or poll-interval, closed: they would look the same here" in _rebalance_text("closed", 2, "2.8.2")


def test_a_sum_of_times_that_no_source_tells_is_none() -> None:
    untold = Rebalance(group="g", number=1, start_seq=0, started_ms=0.0)
    ended = Rebalance(group="g", number=2, start_seq=1, started_ms=0.0, synced_ms=2_000.0)

    assert "how long unknown" in list(tell_summary([untold]))[1]
    assert "2 s in all" in list(tell_summary([untold, ended]))[1]


def test_the_summary_begins_with_what_was_found_most_often() -> None:
    first, *rows = tell_summary(explained("4.1.0", "info"))
    counts = [int(row.split()[0]) for row in rows]

    assert first == f"{len(explained('4.1.0', 'info'))} rebalances in 14 groups:"
    assert counts == sorted(counts, reverse=True)
    assert list(tell_summary([])) == ["no rebalance began in this trace"]


def test_of_equally_frequent_causes_the_most_frequent_one_in_the_field_comes_first() -> None:
    item = [
        Rebalance(group="g", number=1, start_seq=0, started_ms=0.0, cause=cause)
        for cause in (Cause.CLOSED, Cause.HEARTBEAT_TIMEOUT, Cause.POLL_INTERVAL)
    ]

    assert [row.split()[2] for row in list(tell_summary(item))[1:]] == ["poll-interval", "heartbeat-timeout", "closed"]


def test_as_json_it_is_one_document() -> None:
    entry = json.loads(json.dumps(explanation_to_json(explained("4.1.0", "info"), 1)))

    assert (entry["schema"], entry["epoch_ms"]) == (SCHEMA, 1)
    assert sum(entry["causes"].values()) == len(entry["rebalances"])
    assert all(rebalance["advice"] for rebalance in entry["rebalances"] if rebalance["cause"] == "poll-interval")
