"""The checkers together, each row told to those alone who listen, find what each of them finds by itself when it is told everything."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.fleets import PLANTED_EPOCHS
from tests.harness.judging.checkers.stories import PLANTED, busy_group, keeping
from tests.traces import Story

from groupproof.harness.judging.checkers.checker import Checker, findings_of
from groupproof.harness.judging.checkers.checker_set import CheckerSet
from groupproof.harness.judging.checkers.classic.invariants import INVARIANTS, GroupInvariants
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

MAKERS = (*UNIVERSAL_CHECKERS, *CONSUMER_CHECKERS.members)


def one_by_one(trace: Trace) -> list[Finding]:
    """Return what the checkers find, each told everything, in the order of the trace and then of the checkers."""
    checkers = [make() for make in MAKERS]
    found = [finding for obs in trace for checker in checkers for finding in checker.step(obs)]
    return [*found, *(finding for checker in checkers for finding in checker.end())]


def together(trace: Trace, *, is_put_away: bool = False) -> list[Finding]:
    checkers, found = CheckerSet(MAKERS), list[Finding]()
    for obs in trace:
        found += checkers.step(obs)
        if is_put_away:
            checkers = pickle.loads(pickle.dumps(checkers))
    return [*found, *checkers.end()]


def changed(trace: Trace, changes: Sequence[tuple[int, dict[str, Any]]]) -> Trace:
    """Return rows of a trace, in any order and with other columns, as one trace."""
    return [replace(trace[place % len(trace)], seq=seq, **columns) for seq, (place, columns) in enumerate(changes)]


def _trace_of(make: Callable[[], Story | EpochStory]) -> Callable[[], Trace]:
    return lambda: make().trace


STORIES: dict[str, Callable[[], Trace]] = {
    "busy": busy_group,
    "keeping": _trace_of(keeping),
    **{name: _trace_of(make) for name, make in PLANTED.items()},
    **{name: _trace_of(make) for name, make in PLANTED_EPOCHS.items()},
}


@pytest.mark.parametrize("story", STORIES)
def test_checkers_that_share_a_tracker_and_hear_what_they_listen_to_find_the_same(story: str) -> None:
    trace = STORIES[story]()

    assert together(trace) == one_by_one(trace)


def test_a_set_of_checkers_continues_where_it_was_put_away() -> None:
    assert together(busy_group(), is_put_away=True) == one_by_one(busy_group())


_COLUMNS = st.fixed_dictionaries(
    {"at_ns": st.integers(0, 40).map(lambda tenths: tenths * 100_000_000)},
    optional={
        "kind": st.sampled_from(["request", "response", "processed", "event", "transition", "fault"]),
        "who": st.sampled_from(["coordinator", "kit", "link", "shim", "member", "tap"]),
        "api": st.sampled_from([*(api.title for api in Api), None]),
        "client": st.sampled_from(["m0", "m1", None]),
        "member": st.sampled_from(["m0-1", "m1-1", "m1-2", "", None]),
        "connection": st.sampled_from([1, 2, 3, None]),
        "correlation": st.integers(0, 5),
        "generation": st.sampled_from([-1, 1, 2, 3, None]),
        "error": st.sampled_from([0, 22, 25, 27, 79, 82]),
    },
)  # fmt: skip
_CHANGES = st.lists(st.tuples(st.integers(0, 200), _COLUMNS), min_size=5, max_size=60)


@pytest.mark.slow
@given(st.sampled_from(sorted(STORIES)), _CHANGES)
def test_a_mixed_up_trace_gets_the_same_findings(story: str, changes: Sequence[tuple[int, dict[str, Any]]]) -> None:
    trace = changed(STORIES[story](), changes)

    assert together(trace) == one_by_one(trace)


@pytest.mark.slow
@given(st.sampled_from(sorted(STORIES)), _CHANGES)
def test_an_invariant_that_hears_what_it_listens_to_finds_the_same(story: str, changes: Sequence[tuple[int, dict[str, Any]]]) -> None:
    trace = changed(STORIES[story](), changes)
    kinds = frozenset((kind, None) for kind in ("request", "response", "processed", "event", "transition", "fault", "timer"))
    found = list(findings_of(GroupInvariants(), trace))

    with pytest.MonkeyPatch.context() as patch:
        for invariant in INVARIANTS:
            patch.setattr(invariant, "listens", kinds)
        assert found == list(findings_of(GroupInvariants(), trace))


def test_a_checker_that_forgot_to_listen_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for make in UNIVERSAL_CHECKERS:
        monkeypatch.setattr(make, "listens", frozenset())

    assert together(busy_group()) != one_by_one(busy_group())


def test_a_checker_of_another_dialect_hears_everything_and_keeps_its_own_tracker() -> None:
    class Counts(Checker):
        def __init__(self) -> None:
            self.rows = 0

        def step(self, obs: Observation) -> Iterable[Finding]:
            self.rows += 1
            return ()

        def end(self) -> Iterable[Finding]:
            return ()

    counts = Counts()
    checkers = CheckerSet((lambda: counts,))
    trace = EpochStory().settled().trace
    for obs in trace:
        checkers.step(obs)

    assert counts.rows == len(trace)
