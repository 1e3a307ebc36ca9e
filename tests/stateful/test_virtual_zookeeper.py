"""The virtual ZooKeeper in any history: one server beside a naive one, and several that lag behind their leader."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.stateful.naive_zookeeper import NaiveZooKeeper

from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble, Output, SessionAnswer, SessionExpiry
from groupproof.coordinator.relatives.zookeeper.tree import WatchFired
from groupproof.protocol.relatives.zookeeper_messages import Children, Create, Delete, Exists, Get, Operation, Set, WatchEvent

PATHS = st.sampled_from(("/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/z"))
DATA = st.sampled_from((b"", b"1", b"2"))
VERSIONS = st.sampled_from((-1, -1, 0, 1, 2))
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Create, PATHS, DATA, st.booleans()), st.builds(Create, PATHS, DATA, st.booleans()), st.builds(Delete, PATHS, VERSIONS),
    st.builds(Set, PATHS, DATA, VERSIONS), st.builds(Get, PATHS, st.booleans()), st.builds(Exists, PATHS, st.booleans()),
    st.builds(Children, PATHS, st.booleans()),
)  # fmt: skip
WHO = st.integers(0, 9)


def fired_watches(outputs: list[Output]) -> set[tuple[int, WatchEvent]]:
    return {(one.session_id, one.event) for one in outputs if isinstance(one, WatchFired)}


class OneServer(RuleBasedStateMachine):
    """One server answers and tells what the naive one does."""

    def __init__(self) -> None:
        super().__init__()
        self.ensemble = Ensemble()
        self.naive = NaiveZooKeeper()
        self.sessions: list[int] = []
        self.now_us = 0

    @rule()
    def opens(self) -> None:
        self.sessions.append(self.ensemble.open(6_000))

    @precondition(lambda self: self.sessions)
    @rule(who=WHO, operation=OPERATIONS)
    def asks(self, who: int, operation: Operation) -> None:
        session = self.sessions[who % len(self.sessions)]
        outputs = self.ensemble.ask(session, "token", operation, self.now_us)
        answer, events = self.naive.ask(session, operation)

        assert [one for one in outputs if isinstance(one, SessionAnswer)] == [SessionAnswer(session, "token", answer)]
        assert fired_watches(outputs) == events
        assert len(outputs) == len(events) + 1
        assert isinstance(outputs[-1], SessionAnswer)  # events come before the answer

    @precondition(lambda self: self.sessions)
    @rule(who=WHO)
    def closes(self, who: int) -> None:
        session = self.sessions.pop(who % len(self.sessions))

        assert fired_watches(self.ensemble.close(session, None, self.now_us)) == self.naive.end(session)

    @precondition(lambda self: self.sessions)
    @rule(who=WHO)
    def vanishes(self, who: int) -> None:
        session = self.sessions.pop(who % len(self.sessions))
        self.ensemble.lost(session, self.now_us)
        self.now_us = self.ensemble.next_deadline_us or 0
        outputs = self.ensemble.advance(self.now_us)

        assert outputs[0] == SessionExpiry(session)
        assert fired_watches(outputs) == self.naive.end(session)

    @precondition(lambda self: self.sessions)
    @rule(who=WHO)
    def blinks(self, who: int) -> None:
        session = self.sessions[who % len(self.sessions)]
        self.ensemble.lost(session, self.now_us)

        assert self.ensemble.resume(session, server=0, now_us=self.now_us + 1) == []  # nothing has happened: all watches stand

    @invariant()
    def holds_the_same(self) -> None:
        for path, (data, version, owner) in self.naive.nodes.items():
            node = self.ensemble.tree().node(path)
            assert node is not None
            assert (node.data, node.version, node.owner) == (data, version, owner)


class LaggingServers(RuleBasedStateMachine):
    """Three servers, two behind: each request is answered once, no session goes back in time, and in the end all know the same."""

    def __init__(self) -> None:
        super().__init__()
        self.ensemble = Ensemble(servers=3, lags_us={1: 1_000, 2: 50_000})
        self.sessions = [self.ensemble.open(6_000, server=server) for server in (0, 1, 2)]
        self.asked = 0
        self.now_us = 0
        self.answers: Counter[object] = Counter()
        self.versions: dict[tuple[int, str], int] = {}

    def hear(self, outputs: list[Output]) -> None:
        self.answers.update(one.token for one in outputs if isinstance(one, SessionAnswer))

    @rule(who=st.integers(0, 2), operation=OPERATIONS)
    def asks(self, who: int, operation: Operation) -> None:
        self.asked += 1
        self.hear(self.ensemble.ask(self.sessions[who], self.asked, operation, self.now_us))

    @rule(ms=st.sampled_from((1, 10, 100)))
    def passes(self, ms: int) -> None:
        self.now_us += ms * 1_000
        self.hear(self.ensemble.advance(self.now_us))

    @rule(server=st.integers(1, 2), lag_us=st.sampled_from((0, 500, 200_000)))
    def lags(self, server: int, lag_us: int) -> None:
        self.ensemble.lag(server, lag_us)

    @invariant()
    def followers_know_no_more_than_the_leader(self) -> None:
        zxids = [self.ensemble.tree(server).zxid for server in (0, 1, 2)]
        assert max(zxids) == zxids[0]

    def teardown(self) -> None:
        self.now_us += 10_000_000
        self.hear(self.ensemble.advance(self.now_us))
        assert self.answers == Counter(range(1, self.asked + 1))
        everything = [{path: self._content(server, path) for path in ("/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/z")} for server in (0, 1, 2)]
        assert everything[0] == everything[1] == everything[2]

    def _content(self, server: int, path: str) -> tuple[bytes, int, int, tuple[str, ...]] | None:
        node = self.ensemble.tree(server).node(path)
        return None if node is None else (node.data, node.version, node.owner, node.names())


def _live(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> int:
    lives: list[object] = []

    def teardown(self: RuleBasedStateMachine) -> None:
        machine.teardown(self)
        lives.append(self)

    run_state_machine_as_test(
        type(machine.__name__, (machine,), {"teardown": teardown}), settings=settings(max_examples=examples, stateful_step_count=steps)
    )
    return len(lives)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [OneServer, LaggingServers])
def test_it_answers_and_tells_as_its_documents_say_in_any_history(machine: type[RuleBasedStateMachine]) -> None:
    assert _live(machine, 50, 40) >= 50


@pytest.mark.soak
@pytest.mark.parametrize("machine", [OneServer, LaggingServers])
def test_it_answers_and_tells_as_its_documents_say_in_thousands_of_histories(machine: type[RuleBasedStateMachine]) -> None:
    assert _live(machine, 2_000, 80) >= 2_000
