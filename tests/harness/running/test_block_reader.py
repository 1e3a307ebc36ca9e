"""A trace read in blocks gives what it gives row by row, to the last finding: whoever says that a checker can do without rows is held to it here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.judging.checkers.fleets import long_stream, planted_epochs, planted_fleet
from tests.harness.judging.checkers.stories import PLANTED, busy_group, keeping
from tests.harness.judging.checkers.test_checker_set import _CHANGES, STORIES, changed
from tests.harness.running.still_group import ACTS, MEMBERS, Still, story_of
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.classic.deadlines import NobodyEvictedEarly
from groupproof.harness.judging.checkers.classic.frames import GenerationsGiven, InstanceIdsStay, MemberIdsGiven, NothingAfterLeaving
from groupproof.harness.judging.checkers.classic.invariants import AnsweredOnce, NoStaleCommit
from groupproof.harness.judging.checkers.live_group import GroupChecker, GroupResult
from groupproof.harness.judging.checkers.shared.commits import CommitOutcomesReported, CommitsAreOwn, CommitsWereDelivered, _Positions
from groupproof.harness.judging.checkers.shared.request_storms import RequestsDoNotStorm
from groupproof.harness.judging.checkers.steady import NO_ROWS, Stretch
from groupproof.harness.judging.checkers.tracking.group_state import InferredGroup, Invariant
from groupproof.harness.model.verdicts import Finding
from groupproof.harness.running.block_reader import BlockReader, GroupBlocks, OutOfOrder
from groupproof.harness.running.simulations.parquet_runs import observed, piece_of
from groupproof.harness.running.trace_reader import TraceReader
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.trace import Observation, Trace, write_trace
from groupproof.protocol.trace_blocks import TraceBlock, blocks_of_lines
from groupproof.protocol.trace_column_blocks import blocks_of_batches
from groupproof.protocol.trace_columns import read_parquet, to_batch
from groupproof.protocol.vocabulary import Api


def by_rows(trace: Sequence[Observation]) -> list[GroupResult]:
    reader = TraceReader({})
    reader.take(trace)
    return list(reader.fleet.results())


def columns(trace: Sequence[Observation], rows: int) -> Iterator[TraceBlock]:
    return blocks_of_batches(to_batch(trace[begin : begin + rows]) for begin in range(0, len(trace), rows))


def lines(trace: Sequence[Observation], rows: int) -> Iterator[TraceBlock]:
    text = [f"{line}\n".encode() for line in write_trace(trace)]
    return blocks_of_lines((b"".join(text[begin : begin + rows]) for begin in range(0, len(text), rows)), block_bytes=1)


def by_blocks(
    trace: Sequence[Observation], rows: int, blocks: Callable[[Sequence[Observation], int], Iterator[TraceBlock]] = columns
) -> list[GroupResult]:
    """Read the trace in blocks of so many rows, and pass over whatever can be passed over."""
    reader = BlockReader({}, mins=(1, 1), head_rows=1)
    reader.take_blocks(blocks(trace, rows))
    return list(reader.fleet.results())


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each stretch that is passed over adds its rows."""
    counts: list[int] = []
    original = GroupChecker.pass_over

    def counted(self: GroupChecker, stretch: Stretch) -> bool:
        is_passed = original(self, stretch)
        counts.append(stretch.rows if is_passed else 0)
        return is_passed

    monkeypatch.setattr(GroupChecker, "pass_over", counted)
    return counts


def live(trace: Sequence[Observation]) -> Trace:
    return [replace(obs, case="") for obs in trace]


def with_twins(trace: Trace, twins: Sequence[int]) -> Trace:
    """Return the trace with some of its rows there twice."""
    places = sorted({place % len(trace) for place in twins})
    return [obs for place, obs in enumerate(trace) for obs in [obs] * (1 + (place in places))]


@given(
    st.lists(ACTS, min_size=1, max_size=14),
    st.lists(st.integers(0, 400), max_size=3),
    st.sampled_from([7, 60, 1_000]),
    st.sampled_from([columns, lines]),
    st.sampled_from([0, 5, 25]),
)
@pytest.mark.slow
def test_whatever_befalls_a_group_blocks_and_rows_say_the_same(
    acts: Sequence[Callable[[Still], object]],
    twins: Sequence[int],
    rows: int,
    blocks: Callable[[Sequence[Observation], int], Iterator[TraceBlock]],
    begin: int,
) -> None:
    trace = with_twins(story_of(acts)[begin:] or story_of(acts), twins)

    assert by_blocks(trace, rows, blocks) == by_rows(trace)


@pytest.mark.slow
@given(st.sampled_from(sorted(STORIES)), _CHANGES, st.sampled_from([9, 1_000]))
def test_a_mixed_up_trace_says_the_same_in_blocks(story: str, changes: Sequence[tuple[int, dict[str, object]]], rows: int) -> None:
    trace = changed(STORIES[story](), changes)

    assert by_blocks(trace, rows) == by_rows(trace)


# What there is -----------------------------------------------------------------------------------------------------------------------


def wholes() -> Iterator[tuple[str, Trace]]:
    yield "fleet", planted_fleet()
    yield "epochs", planted_epochs("r")
    yield "busy", busy_group()
    yield "long", list(long_stream(3_000))
    for name, make in PLANTED.items():
        yield name, make().trace


@pytest.mark.parametrize("rows", [50, 2_000])
@pytest.mark.slow
def test_planted_violations_say_the_same_in_blocks(rows: int) -> None:
    for name, trace in wholes():
        assert by_blocks(trace, rows) == by_rows(trace), name


@pytest.mark.parametrize("id", sorted(case.id for case in CASES)[::40])
def test_what_a_suite_s_case_shows_says_the_same_in_blocks(id: str) -> None:
    trace = live(played(next(case for case in CASES if case.id == id)).trace)

    assert by_blocks(trace, 500) == by_rows(trace)


@pytest.mark.soak
@pytest.mark.parametrize("id", sorted(case.id for case in CASES))
def test_what_every_case_shows_says_the_same_in_blocks(id: str) -> None:
    trace = live(played(next(case for case in CASES if case.id == id)).trace)

    assert [by_blocks(trace, rows) for rows in (40, 5_000)] == [by_rows(trace)] * 2


def simulated(folder: Path, **settings: object) -> Trace:
    simulation = Simulation(**{"seed": 7, "members": 5, "duration_ms": 60_000, "auto_commit_interval_ms": 2_000, **settings})  # type: ignore[arg-type]  # by name
    observed(simulation, folder)
    return list(read_parquet(piece_of(folder, simulation.seed)))


@pytest.mark.parametrize("settings", [{}, {"seed": 8, "members": 4}, {"member_variant": "commits-with-previous-generation"}])
@pytest.mark.slow
def test_a_swarm_of_faults_says_the_same_in_blocks(settings: dict[str, object], tmp_path: Path, passed: list[int]) -> None:
    trace = simulated(tmp_path, **settings)

    assert by_blocks(trace, 700) == by_rows(trace)
    assert sum(passed) > 100


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(60))
def test_many_swarms_say_the_same_in_blocks(seed: int, tmp_path: Path) -> None:
    trace = simulated(tmp_path, seed=seed, members=3 + seed % 7, faults=()) if seed % 9 == 0 else simulated(tmp_path, seed=seed, members=3 + seed % 7)

    assert [by_blocks(trace, rows) for rows in (300, 9_000)] == [by_rows(trace)] * 2


# What is passed over -----------------------------------------------------------------------------------------------------------------


def steady() -> Trace:
    story = Still()
    for number in range(40):
        for client in MEMBERS:
            story.beats(client, 3, 900)
            story.commits(client, 1, 300, first=number)
    return story.trace


@pytest.mark.parametrize("blocks", [columns, lines])
def test_of_members_that_keep_still_nearly_all_is_passed_over(
    blocks: Callable[[Sequence[Observation], int], Iterator[TraceBlock]], passed: list[int]
) -> None:
    trace = steady()

    assert by_blocks(trace, 1_000, blocks) == by_rows(trace)
    assert sum(passed) > 0.8 * len(trace)


def test_a_checker_that_says_nothing_gets_every_row(monkeypatch: pytest.MonkeyPatch, passed: list[int]) -> None:
    rows: list[int] = []
    original = MemberIdsGiven.look
    monkeypatch.setattr(MemberIdsGiven, "wants", Checker.wants)

    def look(self: MemberIdsGiven, obs: Observation) -> Iterable[Finding]:
        rows.append(obs.seq)
        return original(self, obs)

    monkeypatch.setattr(MemberIdsGiven, "look", look)
    trace = steady()

    assert by_blocks(trace, 1_000) == by_rows(trace)
    assert sum(passed) > 0.8 * len(trace)
    half = len(rows) // 2
    assert rows[:half] == rows[half:]


def test_an_invariant_without_a_result_keeps_its_group_from_being_skipped(monkeypatch: pytest.MonkeyPatch, passed: list[int]) -> None:
    monkeypatch.setattr(AnsweredOnce, "can_absorb", Invariant.can_absorb)

    assert by_blocks(steady(), 1_000) == by_rows(steady())
    assert sum(passed) == 0


def of_one_group(trace: Sequence[Observation], rows: int) -> GroupResult:
    checker = GroupChecker("", "", "g")
    group = GroupBlocks(checker, mins=(1, 1))
    for block in columns(trace, rows):
        group.take(block)
    return checker.result()


@pytest.mark.parametrize("rows", [9, 1_000])
def test_the_rows_of_one_group_say_the_same_in_blocks(rows: int, passed: list[int]) -> None:
    trace = with_twins(steady(), [100, 200, 300])
    (expected,) = by_rows(trace)

    assert of_one_group(trace, rows) == expected
    assert expected.duplicates == 3
    assert sum(passed) > len(trace) / 4


def test_a_row_that_is_the_last_of_one_block_and_the_first_of_the_next_counts_once() -> None:
    trace = steady()
    place = next(place for place, obs in enumerate(trace) if place > 40 and obs.kind == "request")
    twice = with_twins(trace, [place])

    assert by_blocks(twice, place + 1) == by_rows(twice)
    assert of_one_group(twice, place + 1) == by_rows(twice)[0]


def test_a_row_out_of_its_place_is_found() -> None:
    with pytest.raises(OutOfOrder):
        by_blocks([*keeping().trace[5:], *keeping().trace[:5]], 100)


# Rules that are wrong ------------------------------------------------------------------------------------------------------------------


def _unread(story: Still) -> None:
    for number in range(20):
        story.beats("m0", 2, 400)
        story.commits("m0", 1, 400, first=number)


def _reports(story: Still) -> None:
    _unread(story)
    story.committed(("t", 0, 19), client="m0")
    story.pass_ms(2_000)
    story.link(9, "client")


WRONG: dict[str, tuple[type, str, object, Callable[[Still], None]]] = {
    "an id that was never given": (MemberIdsGiven, "wants", lambda *_: NO_ROWS, lambda story: story.beats("m0", 9, 400, member="m0-9")),
    "a generation that was never given": (GenerationsGiven, "wants", lambda *_: NO_ROWS, lambda story: story.beats("m0", 9, 400, generation=8)),
    "another instance": (InstanceIdsStay, "wants", lambda *_: NO_ROWS, lambda story: _static(story)),
    "a storm": (RequestsDoNotStorm, "wants", lambda *_: NO_ROWS, lambda story: story.beats("m0", 40, 10)),
    "a partition of another": (CommitsAreOwn, "wants", lambda *_: NO_ROWS, lambda story: story.commits("m0", 9, 400, partition=1)),
    "what was not delivered": (CommitsWereDelivered, "wants", lambda *_: NO_ROWS, lambda story: _beyond(story)),
    "what was committed before any record": (CommitsWereDelivered, "conclude", lambda *_: None, lambda story: _early(story)),
    "what was committed before an answer that came late": (
        _Positions,
        "keep_among",
        lambda mine, commits: mine.early.extend(commits),
        lambda story: _late(story),
    ),
    "a report of what was not kept": (CommitOutcomesReported, "absorb", lambda *_: None, _reports),
    "after a leave": (NothingAfterLeaving, "wants", lambda *_: NO_ROWS, lambda story: _leaves(story)),
    "an old generation": (NoStaleCommit, "can_absorb", lambda *_: True, lambda story: story.commits("m0", 9, 400, generation=1)),
    "who beat and was evicted": (NobodyEvictedEarly, "absorb", lambda *_: None, lambda story: _evicted(story)),
    "another node": (InferredGroup, "is_steady", lambda *_: True, lambda story: _moved(story)),
    "answered twice": (AnsweredOnce, "absorb", lambda *_: None, lambda story: _twice(story)),
}


def _static(story: Still) -> None:
    for instance in ("i0", None):
        asked = story.request(Api.JOIN_GROUP, "m0", member="m0-1", connection=1, instance=instance, body={})
        story.answer(asked, generation=2, body={"member_id": "m0-1", "generation_id": 2, "leader": "m0-1", "protocol_name": "range"})
    story.beats("m0", 30, 400)


def _beyond(story: Still) -> None:
    story.consume(("t", 0, 0, 3), client="m0")
    story.commits("m0", 9, 400, first=50)


def _early(story: Still) -> None:
    story.commits("m0", 3, 400, first=50)
    story.beats("m0", 4, 3_000)
    story.consume(("t", 0, 0, 3), client="m0")


def _late(story: Still) -> None:
    story.commits_late("m0", 1_500)
    story.consume(("t", 0, 0, 3), client="m0")


def _leaves(story: Still) -> None:
    story.leave("m0", member="m0-1")
    story.pass_ms(3_000)
    story.beats("m0", 2, 10)
    story.beats("m0", 9, 400)


def _evicted(story: Still) -> None:
    story.beats("m0", 30, 2_000)
    story.beats("m0", 1, 100, error=25)


def _moved(story: Still) -> None:
    story.goes_on(3)
    story.beats("m0", 9, 400, generation=3, node=1)
    story.goes_on(2)


def _twice(story: Still) -> None:
    _unread(story)
    answers = [obs for obs in story.trace if obs.kind == "response"]
    story.trace.append(replace(answers[-20], seq=len(story.trace)))


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_leaves_out_what_counts_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_type, rule, wrong, act = WRONG[name]
    trace = story_of([act])
    expected = by_rows(trace)
    assert by_blocks(trace, 30) == expected

    monkeypatch.setattr(of_type, rule, wrong)

    assert by_blocks(trace, 30) != expected
