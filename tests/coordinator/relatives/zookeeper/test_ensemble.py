"""The virtual ZooKeeper: the scenes that are played on a real one too, and what a reader of the real one's documents expects of several servers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from tests.coordinator.relatives.zookeeper.scenes import SCENES, Event, Scene, play

from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble, Output, SessionAnswer, SessionExpiry
from groupproof.coordinator.relatives.zookeeper.tree import WatchFired
from groupproof.protocol.relatives.zookeeper_messages import (
    OK,
    Answer,
    Children,
    Code,
    Create,
    Delete,
    EventKind,
    Exists,
    Get,
    Operation,
    Set,
    WatchEvent,
)

MS = 1_000


class VirtualClient:
    """A session at the virtual ZooKeeper, whose client sees everything at once."""

    def __init__(self, cluster: VirtualWorld) -> None:
        self.cluster = cluster
        self.events: list[Event] = ["connected"]
        self.session_id = cluster.ensemble.open(6_000)

    async def ask(self, operation: Operation) -> None:
        self.cluster.say(self.cluster.ensemble.ask(self.session_id, None, operation, self.cluster.now_us))

    async def close(self) -> None:
        self.cluster.say(self.cluster.ensemble.close(self.session_id, "closed", self.cluster.now_us))

    async def vanish(self) -> None:
        self.cluster.ensemble.lost(self.session_id, self.cluster.now_us)

    async def cut(self) -> None:
        self.cluster.ensemble.lost(self.session_id, self.cluster.now_us)
        self.events.append("disconnected")

    async def heal(self) -> None:
        outputs = self.cluster.ensemble.resume(self.session_id, server=0, now_us=self.cluster.now_us)
        assert outputs is not None
        self.events.append("connected")
        self.cluster.say(outputs)


class VirtualWorld:
    def __init__(self) -> None:
        self.ensemble = Ensemble()
        self.now_us = 0
        self.clients: dict[int, VirtualClient] = {}

    async def open(self) -> VirtualClient:
        client = VirtualClient(self)
        self.clients[client.session_id] = client
        return client

    async def settle(self) -> None:
        self.say(self.ensemble.advance(self.now_us))

    async def lapse(self) -> None:
        self.now_us = self.ensemble.next_deadline_us or self.now_us
        await self.settle()

    def say(self, outputs: Sequence[Output]) -> None:
        for one in outputs:
            if isinstance(one, WatchFired):
                self.clients[one.session_id].events.append(one.event)
            elif isinstance(one, SessionAnswer) and one.token is None:
                self.clients[one.session_id].events.append(one.answer)


def expect_same(where: str, pairs: Sequence[Event], expected: Sequence[Event]) -> None:
    assert list(pairs) == list(expected), where


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_the_virtual_zookeeper_tells_what_a_real_one_does(scene: Scene) -> None:
    trio.run(play, scene, VirtualWorld(), expect_same)


def answer(outputs: Sequence[Output]) -> Answer:
    (found,) = (one.answer for one in outputs if isinstance(one, SessionAnswer))
    return found


def lagging() -> tuple[Ensemble, int, int]:
    """Return two servers, the second half a second behind, and a session at each; a node /p is known to both."""
    ensemble = Ensemble(servers=2, lags_us={1: 500 * MS})
    near, far = ensemble.open(6_000), ensemble.open(6_000, server=1)
    ensemble.ask(near, None, Create("/p", b"0"), 0)
    ensemble.advance(500 * MS)
    return ensemble, near, far


def test_sessions_at_different_servers_see_different_things_for_a_while() -> None:
    ensemble, near, far = lagging()
    ensemble.ask(near, None, Set("/p", b"1"), 600 * MS)

    assert answer(ensemble.ask(near, None, Get("/p"), 700 * MS)).data == b"1"
    assert answer(ensemble.ask(far, None, Get("/p"), 700 * MS)).data == b"0"
    assert answer(ensemble.ask(far, None, Get("/p"), 1_100 * MS)).data == b"1"


def test_a_watch_fires_when_its_own_server_learns_of_the_change() -> None:
    ensemble, near, far = lagging()
    for session in (near, far):
        ensemble.ask(session, None, Children("/p", is_watched=True), 600 * MS)
    event = WatchEvent(EventKind.CHILDREN_CHANGED, "/p")

    assert WatchFired(near, event) in ensemble.ask(near, None, Create("/p/a"), 700 * MS)
    assert ensemble.next_deadline_us == 1_200 * MS
    assert ensemble.advance(1_200 * MS) == [WatchFired(far, event)]


def test_a_session_sees_its_own_writes_for_the_answer_waits_until_its_server_knows() -> None:
    ensemble, _, far = lagging()

    assert ensemble.ask(far, 1, Set("/p", b"1"), 600 * MS) == []
    assert ensemble.ask(far, 2, Delete("/q"), 600 * MS) == []  # a refusal comes after what was before it
    assert [one for one in ensemble.advance(1_100 * MS) if isinstance(one, SessionAnswer)] == [
        SessionAnswer(far, 1, Answer(Code.OK, version=1)), SessionAnswer(far, 2, Answer(Code.NO_NODE)),
    ]  # fmt: skip
    assert answer(ensemble.ask(far, 3, Get("/p"), 1_100 * MS)).data == b"1"


def test_claims_of_one_node_are_decided_by_the_leader_whatever_its_followers_know() -> None:
    ensemble, near, far = lagging()
    assert answer(ensemble.ask(near, 1, Create("/p/owner", is_ephemeral=True), 600 * MS)) == OK
    ensemble.ask(far, 2, Create("/p/owner", is_ephemeral=True), 601 * MS)

    assert answer(ensemble.ask(far, 3, Exists("/p/owner"), 601 * MS)).code is Code.NO_NODE  # as far as it knows
    assert answer(ensemble.advance(1_101 * MS)).code is Code.NODE_EXISTS


def test_a_lag_may_change_and_transactions_keep_their_order() -> None:
    ensemble, near, far = lagging()
    ensemble.ask(near, None, Set("/p", b"1"), 600 * MS)
    ensemble.lag(1, 0)
    ensemble.ask(near, None, Set("/p", b"2"), 700 * MS)

    assert answer(ensemble.ask(far, None, Get("/p"), 1_099 * MS)).data == b"0"
    assert answer(ensemble.ask(far, None, Get("/p"), 1_100 * MS)).data == b"2"


def test_a_session_does_not_go_back_in_time() -> None:
    ensemble, near, _ = lagging()
    ensemble.ask(near, None, Set("/p", b"1"), 600 * MS)
    ensemble.lost(near, 600 * MS)

    assert ensemble.is_behind(near, 1)
    with pytest.raises(AssertionError, match="back in time"):
        ensemble.resume(near, server=1, now_us=700 * MS)
    ensemble.advance(1_100 * MS)
    assert not ensemble.is_behind(near, 1)
    assert ensemble.resume(near, server=1, now_us=1_100 * MS) == []


@pytest.mark.parametrize(("asked_ms", "until_ms"), [(6_000, 8_000), (100, 6_000), (90_000, 42_000)])
def test_a_lost_session_ends_at_a_tick_after_its_timeout_which_is_bounded_by_ticks(asked_ms: int, until_ms: int) -> None:
    ensemble = Ensemble()
    other, session = ensemble.open(6_000), ensemble.open(asked_ms)
    ensemble.ask(session, None, Create("/e", is_ephemeral=True), 0)
    ensemble.ask(other, None, Exists("/e", is_watched=True), 0)
    ensemble.lost(session, 1_000 * MS)

    assert ensemble.next_deadline_us == until_ms * MS
    assert ensemble.advance(until_ms * MS - 1) == []
    assert ensemble.advance(until_ms * MS) == [SessionExpiry(session), WatchFired(other, WatchEvent(EventKind.DELETED, "/e"))]
    assert not ensemble.is_alive(session)
    assert ensemble.resume(session, server=0, now_us=until_ms * MS) is None
    assert answer(ensemble.ask(session, None, Get("/e"), until_ms * MS)).code is Code.SESSION_EXPIRED


def test_what_a_lost_client_asks_is_lost() -> None:
    ensemble = Ensemble()
    session = ensemble.open(6_000)
    ensemble.lost(session, 0)

    assert answer(ensemble.ask(session, None, Create("/p"), 0)).code is Code.CONNECTION_LOSS
    assert ensemble.tree().node("/p") is None


def test_watches_on_what_was_not_there_are_set_again_or_fire() -> None:
    ensemble = Ensemble()
    here, away = ensemble.open(6_000), ensemble.open(6_000)
    ensemble.ask(here, None, Create("/gone"), 0)
    for path in ("/comes", "/stays away", "/gone"):
        ensemble.ask(away, None, Exists(path, is_watched=True), 0)
    ensemble.ask(away, None, Children("/gone", is_watched=True), 0)
    ensemble.lost(away, 0)
    ensemble.ask(here, None, Create("/comes"), 1)
    ensemble.ask(here, None, Delete("/gone"), 1)

    assert ensemble.resume(away, server=0, now_us=2) == [
        WatchFired(away, WatchEvent(EventKind.CREATED, "/comes")), WatchFired(away, WatchEvent(EventKind.DELETED, "/gone")),
        WatchFired(away, WatchEvent(EventKind.DELETED, "/gone")),
    ]  # fmt: skip
    assert ensemble.ask(here, None, Create("/stays away"), 3)[0] == WatchFired(away, WatchEvent(EventKind.CREATED, "/stays away"))


def test_closing_a_lost_session_ends_it() -> None:
    ensemble = Ensemble()
    session = ensemble.open(6_000)
    ensemble.ask(session, None, Create("/e", is_ephemeral=True), 0)
    ensemble.lost(session, 0)

    assert answer(ensemble.close(session, None, 1)) == OK
    assert (ensemble.tree().node("/e"), ensemble.next_deadline_us) == (None, None)


def test_the_leader_does_not_lag() -> None:
    with pytest.raises(AssertionError, match="lag behind itself"):
        Ensemble(lags_us={0: 5})
