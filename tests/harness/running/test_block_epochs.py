"""Members of KIP-848's protocol, read in blocks: what comes out is what comes out row by row, to the last finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.judging.checkers.fleets import PLANTED_EPOCHS
from tests.harness.judging.consumer_traces import trace_of
from tests.harness.running.still_epochs import ACTS, MEMBERS, StillEpochs, both_beat, epochs_of, static, still
from tests.harness.running.test_block_reader import by_blocks, by_rows, columns, lines, live, passed, simulated
from tests.harness.running.virtual import played

from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.judging.checkers.consumer.consumer_convergence import GroupsComeToRest
from groupproof.harness.judging.checkers.consumer.consumer_frames import EpochsGiven, OneHeartbeatAtATime
from groupproof.harness.judging.checkers.consumer.consumer_invariants import ConsumerGroupInvariants
from groupproof.harness.judging.checkers.steady import NO_ROWS
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.trace_blocks import TraceBlock

__all__ = ["passed"]

Blocks = Callable[[Sequence[Observation], int], Iterator[TraceBlock]]


@given(st.lists(ACTS, min_size=1, max_size=14), st.sampled_from([7, 60, 1_000]), st.sampled_from([columns, lines]))
@pytest.mark.slow
def test_whatever_befalls_a_group_with_epochs_blocks_and_rows_say_the_same(
    acts: Sequence[Callable[[StillEpochs], object]], rows: int, blocks: Blocks
) -> None:
    trace = epochs_of(acts)

    assert by_blocks(trace, rows, blocks) == by_rows(trace)


@pytest.mark.parametrize("blocks", [columns, lines])
@pytest.mark.parametrize("of", [list, static])
def test_of_members_that_stay_in_their_epoch_nearly_all_is_passed_over(blocks: Blocks, of: Callable[[Trace], Trace], passed: list[int]) -> None:
    trace = of(still(40))

    assert by_blocks(trace, 1_000, blocks) == by_rows(trace)
    assert sum(passed) > 0.8 * len(trace)


@pytest.mark.parametrize("name", PLANTED_EPOCHS)
def test_what_is_planted_behind_a_long_stretch_is_found(name: str, passed: list[int]) -> None:
    before = still(40)
    trace = [*before, *(_behind(obs, before[-1]) for obs in PLANTED_EPOCHS[name]().trace)]

    assert by_blocks(trace, 1_000) == by_rows(trace)
    assert sum(passed) > 0.8 * len(before)


def _behind(obs: Observation, last: Observation) -> Observation:
    """Return an observation of another member, behind all that was there."""
    connection = None if obs.connection is None else obs.connection + 20
    client = None if obs.client is None else f"x-{obs.client}"
    return replace(obs, seq=obs.seq + last.seq + 1, at_ns=obs.at_ns + last.at_ns, connection=connection, client=client, group="g")


@pytest.mark.parametrize("settings", [{"classic_members": 0}, {"seed": 8, "members": 4, "classic_members": 0}, {"seed": 9}])
def test_a_swarm_of_faults_on_members_with_epochs_says_the_same(settings: dict[str, object], tmp_path: Path, passed: list[int]) -> None:
    trace = simulated(tmp_path, dialect="consumer", **settings)

    assert by_blocks(trace, 700) == by_rows(trace)
    assert sum(passed) > 100 or "classic_members" not in settings  # who speaks both dialects is read row by row


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(60))
def test_many_swarms_of_members_with_epochs_say_the_same(seed: int, tmp_path: Path) -> None:
    classic = seed % 3 if seed % 5 == 0 else 0
    trace = simulated(tmp_path, dialect="consumer", seed=seed, members=3 + seed % 7, classic_members=classic)

    assert [by_blocks(trace, rows) for rows in (300, 9_000)] == [by_rows(trace)] * 2


@pytest.mark.parametrize("id", sorted(case.id for case in CONSUMER_CASES)[::40])
def test_what_a_case_of_the_dialect_shows_says_the_same_in_blocks(id: str) -> None:
    trace = live(played(next(case for case in CONSUMER_CASES if case.id == id)).trace)

    assert by_blocks(trace, 500) == by_rows(trace)


@pytest.mark.soak
@pytest.mark.parametrize("id", sorted(case.id for case in CONSUMER_CASES))
def test_what_every_case_of_the_dialect_shows_says_the_same_in_blocks(id: str) -> None:
    trace = live(played(next(case for case in CONSUMER_CASES if case.id == id)).trace)

    assert [by_blocks(trace, rows) for rows in (40, 5_000)] == [by_rows(trace)] * 2


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.4"])
def test_drawn_histories_of_the_reference_say_the_same(profile: str) -> None:
    for seed in range(4):
        trace = trace_of(profile, seed, 80)
        assert by_blocks(trace, 50) == by_rows(trace)


# Rules that are wrong ------------------------------------------------------------------------------------------------------------------


def _stays_behind(story: StillEpochs) -> None:
    story.beats("m1", 1, 10, gets=3)
    both_beat(story, 20, epochs=(2, 3))


def _beside(story: StillEpochs) -> None:
    """Tell of a heartbeat on another connection, answered in the end; blocks of 30 rows pass over those that are sent beside it unless they are wanted."""
    first = story.ask(2, "m0", member=MEMBERS["m0"][0], connection=9)
    story.beats("m1", 14, 1)
    story.commits("m0", 1, 10)
    story.beats("m0", 20, 40)
    both_beat(story, 20)
    story.reply(first)


def _is_given_twice(story: StillEpochs) -> None:
    story.beats("m1", 1, 10, gives=[MEMBERS["m0"][2]])
    both_beat(story, 20)


def _goes_on_reconciling(story: StillEpochs) -> None:
    both_beat(story, 20)
    story.described("Reconciling", 2, "a", "b")


def _goes_back(story: StillEpochs) -> None:
    story.beats("m0", 1, 10, gets=3)
    story.beats("m0", 20, 400, epoch=2)


def _takes_back(story: StillEpochs) -> None:
    """Tell of a member that gave its partition up, fetches it all the same, and is given it again."""
    story.beats("m0", 1, 10, gives=[])
    story.beats("m0", 1, 10, owns=[])
    story.pass_ms(3_000)
    for _ in range(3):
        story.fetches("m0", MEMBERS["m0"][2])


_Wrong = tuple[type, str, object]
_STEADY: _Wrong = (GroupTracker, "is_steady", lambda *_: True)
WRONG: dict[str, tuple[list[_Wrong], Callable[[StillEpochs], object]]] = {
    "a commit with an epoch that was never given": (
        [(EpochsGiven, "wants", lambda *_: NO_ROWS), _STEADY], lambda story: story.commits("m0", 40, 400, epoch=7),
    ),
    "two heartbeats at a time": ([(OneHeartbeatAtATime, "wants", lambda *_: NO_ROWS)], _beside),
    "who stays behind": ([(GroupsComeToRest, "wants", lambda *_: NO_ROWS)], _stays_behind),
    "rounds that count": ([(GroupsComeToRest, "absorb", lambda *_: None)], _goes_on_reconciling),
    "an owner that is a member still": ([(ConsumerGroupInvariants, "wants", lambda *_: NO_ROWS)], _is_given_twice),
    "an epoch that goes back": ([(ConsumerGroupInvariants, "wants", lambda *_: NO_ROWS), _STEADY], _goes_back),
    "what is listed no more": ([(TraceBlock, "are_bare", lambda _, places, fields: places >= 0), (TraceBlock, "name_partitions", lambda _, places: places < 0)], _takes_back),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_leaves_out_what_counts_of_epochs_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patches, act = WRONG[name]
    trace = epochs_of([lambda story: both_beat(story, 20), act])
    expected = by_rows(trace)
    assert by_blocks(trace, 30) == expected

    for of_type, rule, wrong in patches:
        monkeypatch.setattr(of_type, rule, wrong)

    assert by_blocks(trace, 30) != expected
