from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupproof.clients.member.connect_leader import ConnectLeader, jobs_of
from groupproof.clients.member.policy import REFERENCE
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import CONFIG_MISMATCH, ConnectAssignment, WorkerState

JOBS = jobs_of(["c"], 3)
DELAY_MS = 1_000


class Group:
    """A leader `a` and its workers, who take what they are assigned."""

    def __init__(self, max_delay_ms: int = DELAY_MS) -> None:
        self.leader = ConnectLeader(REFERENCE, max_delay_ms)
        self.running: dict[str, set[TopicPartition]] = {}
        self.now_ms = 0

    def deal(self, *members: str, configured: frozenset[TopicPartition] = JOBS) -> Mapping[str, ConnectAssignment]:
        states = {name: self._state(name) for name in members}
        made = self.leader.assign("a", states, configured, offset=1, version=1, now_ms=self.now_ms)
        self.running = {name: (self.running.get(name, set()) - set(made[name].revoked)) | set(made[name].assigned) for name in members}
        return made

    def _state(self, name: str) -> WorkerState:
        held = ConnectAssignment(assigned=tuple(sorted(self.running.get(name, ()))), version=1)
        return WorkerState(url=f"http://{name}/", offset=1, assignment=held, version=1)


@pytest.mark.requirement("CONNECT-05")
def test_each_job_is_given_to_one_worker() -> None:
    group = Group()
    group.deal("a", "b")

    assert sorted([*group.running["a"], *group.running["b"]]) == sorted(JOBS)
    assert len(group.running["a"]) == len(group.running["b"]) == 2


@pytest.mark.requirement("CONNECT-04")
def test_each_assignment_names_the_leader_and_the_greatest_offset() -> None:
    made = Group().deal("a", "b")

    assert {(item.leader, item.leader_url, item.offset, item.version) for item in made.values()} == {("a", "http://a/", 1, 1)}


@pytest.mark.requirement("CONNECT-06")
def test_what_moves_is_revoked_first_and_given_in_the_next_generation() -> None:
    group = Group()
    group.deal("a")
    first = group.deal("a", "b")
    assert (len(first["a"].revoked), first["b"].assigned) == (2, ())

    second = group.deal("a", "b")
    assert second["b"].assigned == first["a"].revoked


@pytest.mark.requirement("CONNECT-08")
def test_what_was_lost_waits_and_other_rebalances_do_not_prolong_it() -> None:
    group = Group()
    group.deal("a", "b")
    first = group.deal("a")
    group.now_ms = 400
    second = group.deal("a")

    assert (first["a"].delay_ms, first["a"].assigned) == (DELAY_MS, ())
    assert (second["a"].delay_ms, second["a"].assigned) == (600, ())


@pytest.mark.requirement("CONNECT-10")
def test_what_was_lost_goes_to_who_came_back_when_the_delay_has_passed() -> None:
    group = Group()
    group.deal("a", "b")
    lost = group.running["b"]
    kept = set(group.running["a"])
    group.deal("a")
    group.deal("a", "b2")
    group.now_ms = DELAY_MS
    made = group.deal("a", "b2")

    assert set(made["b2"].assigned) == lost
    assert (group.running["a"], made["a"].delay_ms) == (kept, 0)


def test_without_a_delay_what_was_lost_is_given_at_once() -> None:
    group = Group(max_delay_ms=0)
    group.deal("a", "b")
    group.deal("a")

    assert group.running["a"] == JOBS


def test_what_an_assignment_that_never_arrived_held_is_given_again_at_once() -> None:
    group = Group()
    group.deal("a", "b")
    group.running["b"] = set()
    group.deal("a", "b")

    assert len(group.running["b"]) == 2


@pytest.mark.requirement("CONNECT-15")
def test_what_was_added_is_assigned_and_what_was_deleted_is_revoked() -> None:
    group = Group()
    group.deal("a")
    group.deal("a", configured=jobs_of(["c", "d"], 1))

    assert group.running["a"] == jobs_of(["c", "d"], 1)


@pytest.mark.requirement("CONNECT-11")
def test_a_leader_behind_another_worker_assigns_nothing_and_says_why() -> None:
    members = {"a": WorkerState(url="u", offset=1, version=1), "b": WorkerState(url="v", offset=5, version=1)}
    made = ConnectLeader(REFERENCE, 0).assign("a", members, JOBS, offset=1, version=1, now_ms=0)

    assert {(item.error, item.offset, item.assigned) for item in made.values()} == {(CONFIG_MISMATCH, 5, ())}


def test_in_version_0_everything_is_assigned_again() -> None:
    members = {name: WorkerState(url=name, offset=1) for name in "ab"}
    made = ConnectLeader(REFERENCE, 0).assign("a", members, JOBS, offset=1, version=0, now_ms=0)

    assert sorted([*made["a"].assigned, *made["b"].assigned]) == sorted(JOBS)
    assert {item.version for item in made.values()} == {0}
