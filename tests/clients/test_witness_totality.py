"""Answers × phases: each comes up in some course of events, or is sworn impossible and refused by the machine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import pytest

from groupproof.clients.member.member_core import Core
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.member.policy import Policy
from groupproof.protocol.rules.classic.member_reactions import MEMBER_APIS, UNREACHABLE, Phase
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

FIND, JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT, FETCH = (
    Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH,
)  # fmt: skip
CURRENT, JOINING, SYNCING, STALE = Phase
Course = Callable[["Bench"], object]


def _asked(b: Bench) -> None:
    """Be Stable, with a heartbeat, a commit and an OffsetFetch in flight."""
    b.stable(0)
    b.do(b.member.commit("c", {("t", 0): 1}, b.now, is_sync=True))
    b.do(b.member.fetch_offsets("f", frozenset({("t", 0)}), b.now))
    b.advance(1_000)


def _rejoining(b: Bench) -> None:
    _asked(b)
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    assert b.waits(JOIN)


def _beating_while_syncing(b: Bench) -> None:
    b.syncing()
    b.do(b.member.fetch_offsets("f", frozenset({("t", 0)}), b.now))
    b.advance(1_000)


def _answered(api: Api, *ways: Course) -> Course:
    """Return the course that goes these ways, and then answers."""

    def course(b: Bench) -> None:
        for way in ways:
            way(b)
        b.answer(api)

    return course


def _leaves(b: Bench) -> None:
    b.do(b.member.unsubscribe(b.now))


def _moves_on(b: Bench) -> None:
    _rejoining(b)
    b.rejoined(0, generation=2)


COURSES: dict[tuple[Api, Phase], Course] = {
    (FIND, CURRENT): _answered(FIND, lambda b: b.poll()),
    (FIND, STALE): _answered(FIND, lambda b: b.poll(), lambda b: b.answer(FIND)),
    (JOIN, CURRENT): _answered(JOIN, lambda b: b.joining()),
    (JOIN, STALE): _answered(JOIN, lambda b: b.joining(), _leaves),
    (SYNC, CURRENT): lambda b: b.stable(0),
    (SYNC, STALE): _answered(SYNC, lambda b: b.syncing(), _leaves),
    (LEAVE, STALE): _answered(LEAVE, lambda b: b.stable(), _leaves),
    **{(api, CURRENT): _answered(api, _asked) for api in (HEARTBEAT, COMMIT, FETCH)},
    **{(api, JOINING): _answered(api, _rejoining) for api in (HEARTBEAT, COMMIT, FETCH)},
    **{(api, SYNCING): _answered(api, _beating_while_syncing) for api in (HEARTBEAT, FETCH)},
    **{(api, STALE): _answered(api, _moves_on) for api in (HEARTBEAT, COMMIT, FETCH)},
}


def test_every_pair_of_an_api_and_a_phase_has_a_course_or_is_sworn_impossible() -> None:
    # No commit is sent by a member that is not STABLE (CLIENT-70), unless its policy says so: see below.
    assert COURSES.keys() | {(COMMIT, SYNCING)} | UNREACHABLE.keys() == set(product(MEMBER_APIS, Phase))
    assert not COURSES.keys() & UNREACHABLE.keys()
    assert all(UNREACHABLE.values())


@pytest.mark.parametrize(("api", "phase"), COURSES, ids=str)
def test_an_answer_finds_the_member_in_its_phase(bench: type[Bench], monkeypatch: pytest.MonkeyPatch, api: Api, phase: Phase) -> None:
    cells: set[tuple[Api, Phase]] = set()
    measure = Core.phase

    def noted(core: Core, pending: RequestInFlight) -> Phase:
        found = measure(core, pending)
        cells.add((pending.message.api, found))
        return found

    monkeypatch.setattr(Core, "phase", noted)
    COURSES[api, phase](bench(Policy(lookups_at_once=2 if (api, phase) == (FIND, STALE) else 1)))

    assert (api, phase) in cells
    assert not cells & UNREACHABLE.keys()


def test_a_commit_of_a_member_that_is_not_stable_needs_another_policy(bench: type[Bench]) -> None:
    for policy, commits in ((Policy(), 0), (Policy(commits_when_unstable=True), 1)):
        b = bench(policy)
        b.syncing()
        b.do(b.member.commit("c", {("t", 0): 1}, b.now, is_sync=True))
        assert b.count(COMMIT) == commits


@pytest.mark.parametrize(("api", "phase"), UNREACHABLE, ids=str)
def test_an_impossible_pair_is_refused(bench: type[Bench], monkeypatch: pytest.MonkeyPatch, api: Api, phase: Phase) -> None:
    course = next(course for (item, _), course in COURSES.items() if item is api)
    monkeypatch.setattr(Core, "phase", lambda core, pending: phase if pending.message.api is api else CURRENT)

    with pytest.raises(AssertionError, match="was answered to a member that is"):
        course(bench())
