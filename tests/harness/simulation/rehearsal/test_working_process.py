"""An application that works between its polls: what it gets, what it commits, and that it leaves between two polls."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.harness.simulation.rehearsal.small import small

from groupproof.harness.simulation.rehearsal.exercises import Exercise, Step
from groupproof.harness.simulation.rehearsal.rehearsal_run import rehearse
from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
from groupproof.protocol.trace import Recorder, Trace


def _trace(settings: RehearsedSettings, steps: list[Step]) -> Trace:
    kept: list[Recorder] = []

    def make(clock: Callable[[], int]) -> Recorder:
        kept.append(Recorder(clock, run="rehearsal", seed=1, clock="virtual"))
        return kept[0]

    rehearse(settings, Exercise(name="by-hand", says="", steps=lambda _: steps), 1, make)
    return kept[0].trace


def test_offsets_are_committed_after_the_records_were_worked_on() -> None:
    trace = _trace(small(enable_auto_commit="false"), [Step(at_ms=0, act="leave", who="m2")])
    commits = [offset for obs in trace if obs.kind == "request" and obs.api == "OffsetCommit" and obs.client == "m0" for *_, offset in obs.offsets]

    # Ten records a second come to a partition, and a batch is worked on for a second.
    assert {later - earlier for earlier, later in itertools.pairwise(commits[5:20])} == {10}


def test_a_member_leaves_when_its_records_are_done() -> None:
    settings = small(rehearse_processing_ms="20000", session_timeout_ms="30000")
    trace = _trace(settings, [Step(at_ms=100, act="leave", who="m1")])
    began_ms = 90_000 + 1_000 + 6_000
    (left_ms,) = (obs.at_ms for obs in trace if obs.kind == "request" and obs.api == "LeaveGroup")

    assert began_ms + 100 < left_ms < began_ms + 20_100


def test_an_eager_member_gets_no_records_of_partitions_that_it_is_about_to_give_up() -> None:
    eager = small(partition_assignment_strategy="range", auto_commit_interval_ms="1000")
    exercise = Exercise(name="by-hand", says="", steps=lambda _: [Step(at_ms=0, act="leave", who="m1")])

    assert rehearse(eager, exercise, 1).reread == 0
