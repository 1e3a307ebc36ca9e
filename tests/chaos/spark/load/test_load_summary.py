from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chaos.spark.loads import order

from groupproof.chaos.spark.load.load_progress import Figures
from groupproof.chaos.spark.load.load_run import LoadResult
from groupproof.chaos.spark.load.load_summary import both_sides, summary_lines, summed_up
from groupproof.chaos.spark.load.resume import COORDINATOR, MEMBERS, TAP
from groupproof.chaos.spark.traces.trace_segments import Sealer
from groupproof.protocol.trace import Observation

STABILIZED = "[2026-01-01 00:00:01,000] INFO [GroupCoordinator 0]: Stabilized group load-0 generation 1 (__consumer_offsets-1) with 2 members (kafka.coordinator.group.GroupCoordinator)\n"
PREPARING = "[2026-01-01 00:00:00,000] INFO [GroupCoordinator 0]: Preparing to rebalance group load-0 in state PreparingRebalance with old generation 0 (__consumer_offsets-1) (reason: Adding new member m0) (kafka.coordinator.group.GroupCoordinator)\n"


def write(folder: Path, *trace: Observation) -> None:
    sealer = Sealer(folder, "load-1", "w")
    for obs in trace:
        sealer.add(obs)
    sealer.seal()


def joined(seq: int, generation: int) -> Observation:
    return Observation(seq=seq, at_ns=seq, run="load-1", kind="response", api="JoinGroup", group="load-0", generation=generation, member="a", error=0)


def moved(generation: int) -> Observation:
    return Observation(
        seq=generation, at_ns=0, run="load-1", kind="transition", group="load-0", generation=generation, state_after="CompletingRebalance"
    )


def loaded(**options: object) -> LoadResult:
    return LoadResult(end="finished", last=Figures(at_s=1.0), **options)  # type: ignore[arg-type]  # what a test names


def test_the_summary_says_whether_both_sides_agree(tmp_path: Path) -> None:
    write(tmp_path / MEMBERS, joined(1, 1), joined(2, 2))
    write(tmp_path / COORDINATOR, moved(1), moved(2))

    summary = summed_up(tmp_path, order(), loaded())

    assert summary["rebalances"] == {"members": 2, "compared": {"both": 2, "members_only": [], "coordinator_only": [], "counted_apart": []}}
    assert summary["observations"]["members"]["rows"] == 2
    assert "rebalances: members report 2, the coordinator of the same" in summary_lines(summary)


def test_what_one_side_lacks_is_said(tmp_path: Path) -> None:
    write(tmp_path / MEMBERS, joined(1, 1), joined(2, 3))
    write(tmp_path / COORDINATOR, moved(1), moved(2))

    lines = summary_lines(summed_up(tmp_path, order(), loaded()))

    assert "  only members report generation 3 of load-0" in lines
    assert "  only the coordinator reports generation 2 of load-0" in lines


def test_frames_that_a_tap_saw_stand_for_the_members(tmp_path: Path) -> None:
    write(tmp_path / MEMBERS, Observation(seq=1, at_ns=1, run="load-1", kind="event", group="load-0"))
    write(tmp_path / TAP, joined(1, 1))

    assert both_sides(tmp_path) == (1, None)


def since_start(line: str) -> str:
    text, _, by = line.partition("INFO ")[2].strip().rpartition(" (")
    return f"1500 [group-coordinator-event-processor-1] INFO {by.rstrip(')')} - {text}\n"


@pytest.mark.parametrize("form", [str, since_start])
def test_what_brokers_logged_is_the_coordinators_trace(tmp_path: Path, form: Callable[[str], str]) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(map(form, (PREPARING, STABILIZED, PREPARING.replace("load-0", "another")))))
    write(tmp_path / "out" / MEMBERS, joined(1, 1))

    summary = summed_up(tmp_path / "out", order(), loaded(logs=(log, tmp_path / "missing.log")))

    assert summary["rebalances"]["compared"]["both"] == 1
    assert not summary["rebalances"]["compared"]["coordinator_only"]


def test_a_log_that_tells_nothing_of_groups_compares_to_nothing(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-01-01 00:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    write(tmp_path / "out" / MEMBERS, joined(1, 1))

    assert summed_up(tmp_path / "out", order(), loaded(logs=(log,)))["rebalances"] == {"members": 1, "compared": None}


def test_groups_of_the_consumer_protocol_are_summed_up_by_their_epochs(tmp_path: Path) -> None:
    def answer(seq: int, epoch: int) -> Observation:
        return Observation(
            seq=seq, at_ns=seq, run="load-1", kind="response", api="ConsumerGroupHeartbeat", group="load-0", member_epoch=epoch, error=0
        )

    write(tmp_path / MEMBERS, answer(1, 1))
    write(tmp_path / COORDINATOR, answer(1, 1), answer(2, 2))

    lines = summary_lines(summed_up(tmp_path, order(dialect="consumer"), loaded()))

    assert "epochs: members report 1, the coordinator of 2" in lines
    assert "  only the coordinator reports epoch 2 of load-0" in lines
