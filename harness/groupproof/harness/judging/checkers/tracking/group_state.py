"""The inferred state of a group, by the coordinator's transitions or else by the answers; and the base class of an invariant. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from groupproof.harness.judging.checkers.checker import Newest, UnderWay
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of, instance_of, is_begun_anew, members_of
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode, GroupState

__all__ = ["InferredGroup", "Invariant", "PendingRequest"]

_JOIN, _BEAT, _COMMIT = Api.JOIN_GROUP.title, Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title
_DELETE: Final = Api.DELETE_GROUPS.title
_HAPPENS: Final = frozenset({"move", "stop", "start", "freeze", "thaw", "kill"})
_LOADED: Final = frozenset({
    ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.FENCED_INSTANCE_ID,
})  # fmt: skip
_MEMBERSHIP: Final = frozenset(api.title for api in GROUP_REQUESTS)
_UUID_CHARS: Final = 37
"""The length of the suffix of a static member's id after its instance id: a hyphen and a UUID (STATIC-01)."""
_INITIAL_DELAY_MS: Final = 3_000
_OUTSIDE: Final = frozenset({"link", "kit"})
_STEP_MS: Final = 500.0
"""A clock that is set back by more makes a wait look shorter than it was. Every deadline tolerates less."""
_ENDED_KEPT: Final = 1_000
"""The number of ended connections that are remembered. Frames that were on their way then arrive soon after."""


@dataclass(slots=True)
class PendingRequest:
    """A request under way, and the group's generation and epoch when it reached the coordinator."""

    request: Observation
    generation: int
    epoch: int


@dataclass(slots=True)
class InferredGroup:
    """The state of a group that every invariant uses.

    `epoch` counts how often the group was, or may have been, created again. Generations are compared within one epoch only, because the number of a
    generation that was not stored comes again. `disturbed_ms` is the time of the last outside event that explains lateness and lost members: a
    fault, a broker that ends connections or gives up the group, or a clock that is set back. `loaded_seq` is since when the coordinator has
    certainly loaded the group: before that it answers every Heartbeat without an error (FIND-10). With `counts_epochs` it is a consumer group. A
    classic member then has its epoch as its generation, and no member leads (CGG-26).
    """

    tells: bool = False
    state: str | None = None
    generation: int = -1
    epoch: int = 0
    node: int | None = None
    disturbed_ms: float = -1.0
    rebalance_ms: float = 0.0
    session_ms: float = 0.0
    initial_delay_ms: float = _INITIAL_DELAY_MS
    has_static: bool = False
    counts_epochs: bool = False
    loaded_seq: int | None = None
    now_ms: float = 0.0
    asked: UnderWay[PendingRequest] = field(default_factory=UnderWay)
    answered: PendingRequest | None = None
    _ended: Newest[int, int] = field(default_factory=lambda: Newest(_ENDED_KEPT))
    _instances: dict[str, str] = field(default_factory=dict)
    _unreported: Counter[str] = field(default_factory=Counter)
    _ids: set[str] = field(default_factory=set)
    _members: set[str] = field(default_factory=set)
    _strangers: set[str] = field(default_factory=set)
    _was_made: bool | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether the trace has the group from its creation, and every member of it."""
        return bool(self._was_made) and not self._strangers

    def identity(self, member: str) -> str:
        """Return the instance id of a member id, or the id itself where it has none. The ids of a static member change.

        The answer that gave the id says so. Where that answer was lost, the id itself shows it.
        """
        by_name = member[:-_UUID_CHARS]
        return self._instances.get(member, by_name if self._unreported[by_name] else member)

    def follow(self, obs: Observation) -> None:
        """Record the next observation, before the invariants check it. `answered` is then the request that it answers."""
        self._pass_time(obs)
        self.now_ms, self.answered = obs.at_ms, None
        if obs.kind == "fault" or obs.who in _OUTSIDE:
            self._from_outside(obs)
        if obs.kind == "request":
            self._request(obs)
        elif obs.kind == "response":
            self.answered = self.asked.answered(obs)
            self._response(obs)
        elif obs.kind == "processed":
            if (request := self.asked.of(obs)) is not None:
                request.generation, request.epoch = self.generation, self.epoch
            else:
                self._joins_nameless(obs)  # it came twice: the second answer goes nowhere
        elif obs.who == "kit" and isinstance(obs.body.get("settings"), Mapping):
            self.initial_delay_ms = float(obs.body["settings"].get("group.initial.rebalance.delay.ms", self.initial_delay_ms))

    def _pass_time(self, obs: Observation) -> None:
        """Record a clock that is set back. Record a silence longer than any session: the group may be a new one at the next JoinGroup."""
        if obs.at_ms < self.now_ms - _STEP_MS:
            self.disturbed_ms = max(self.disturbed_ms, self.now_ms)
        elif obs.kind == "request" and obs.api == _JOIN and 0 < self.session_ms < obs.at_ms - self.now_ms and not self.tells:
            self._begin_anew()

    def _from_outside(self, obs: Observation) -> None:
        self.asked.closed(obs)
        if obs.who == "link" and obs.connection is not None and obs.body.get("name") == "closed":
            self._ended.set(obs.connection, obs.seq)
        if _disturbs(obs):
            self.disturbed_ms = max(self.disturbed_ms, obs.at_ms)
        if _unloads(obs):
            self.loaded_seq = None
            if not self.tells:
                self._begin_epoch(obs.at_ms)

    def _request(self, obs: Observation) -> None:
        if obs.connection is None or self._ended.get(obs.connection) is None:  # a request under way when its connection ended is owed nothing
            self.asked.ask(obs, PendingRequest(obs, self.generation, self.epoch))
        if obs.api == _JOIN:
            self.has_static |= instance_of(obs) is not None
            self._joins_nameless(obs)
            self.rebalance_ms = max(self.rebalance_ms, _rebalance_ms(obs.body))
            self.session_ms = max(self.session_ms, float(obs.body.get("session_timeout_ms") or 0))

    def _joins_nameless(self, obs: Observation) -> None:
        """Expect an answer that gives a static member a new id. Until it comes, the id may be in no answer."""
        if obs.api == _JOIN and not obs.member and (instance := instance_of(obs)) is not None:
            self._unreported[instance] += 1

    def _response(self, obs: Observation) -> None:
        if error_of(obs) in COORDINATOR_UNAVAILABLE:
            self._begin_epoch(obs.at_ms)
        elif obs.node is not None and obs.node != self.node and obs.api != Api.FIND_COORDINATOR.title:
            if self.node is not None:
                self._begin_epoch(obs.at_ms)
            self.node = obs.node
        if obs.api == _JOIN and obs.member:
            self._gave(obs, obs.member)
        elif obs.api == _DELETE and not error_of(obs) and not self.tells:
            self._begin_anew()
        if self.loaded_seq is None and _shows_loaded(obs, self.answered):
            self.loaded_seq = obs.seq
        if self.answered is not None and obs.member and (instance := instance_of(self.answered.request)) is not None:
            self._named(obs, self.answered.request, instance)

    def _named(self, obs: Observation, asked: Observation, instance: str) -> None:
        if obs.api == _JOIN or not error_of(obs):
            self._instances[obs.member or ""] = instance
        if obs.api == _JOIN and not asked.member and not error_of(obs):
            self._unreported[instance] -= 1

    def _gave(self, obs: Observation, member: str) -> None:
        """Record what a JoinGroup answer says about the group, before the invariants check it."""
        if not error_of(obs) and obs.generation is not None:
            leader = obs.body.get("leader")
            self.counts_epochs = not leader
            if not self.tells and self._is_of_another(obs.generation):
                self._begin_anew()
            if self._was_made is None:
                self._was_made = obs.generation == 1
            self._strangers |= ({leader} if leader else set()) | members_of(obs)
            self._strangers -= self._ids
            self._members.add(member)
        self._ids.add(member)
        self._strangers.discard(member)

    def _is_of_another(self, generation: int) -> bool:
        """Return whether a generation belongs to a group that was created again: generation 1 comes again, or a new member starts no new
        generation.

        A static member may get a new id without a rebalance, so it proves nothing.
        """
        if generation == 1 < self.generation:
            return True
        asked = self.answered
        if asked is None or asked.epoch != self.epoch or self.counts_epochs or instance_of(asked.request) is not None:
            return False
        return asked.request.member not in self._members and generation <= asked.generation

    def _begin_anew(self) -> None:
        """Record that the same coordinator created the group again, or may have done so."""
        self.epoch += 1
        self.generation, self._was_made = -1, None
        for ids in (self._ids, self._strangers, self._members):
            ids.clear()

    def _begin_epoch(self, at_ms: float) -> None:
        self.epoch += 1
        self.generation = -1
        self.disturbed_ms = max(self.disturbed_ms, at_ms)
        self.loaded_seq = None

    def is_steady(self, steady: Steady) -> bool:
        """Return whether the exchanges change nothing known of the group: its coordinator, whether that has loaded it, and the member's instance."""
        is_open = self._ended.get(steady.connection) is None and steady.node in (None, self.node)
        shows_loaded = self.loaded_seq is None and _COMMIT in steady.apis
        is_same = not steady.instance or self._instances.get(steady.member) == steady.instance
        is_on_time = steady.first_ms >= self.now_ms - _STEP_MS
        return is_open and is_same and is_on_time and not shows_loaded and self.asked.is_apart(steady)

    def moved(self, obs: Observation) -> None:
        """Record a transition, after the invariants checked it."""
        self.tells = True
        if is_begun_anew(obs) or (obs.rule or "").startswith(f"{ClassicEvent.UNLOADED.value}/"):
            self.epoch += 1
            self.generation = -1
            self.loaded_seq = None
        if is_begun_anew(obs):  # a log's first line of a group may have any state
            self._was_made = obs.state_after == GroupState.EMPTY.value and not obs.generation
        self.state = None if obs.state_after == GroupState.DEAD.value else obs.state_after
        if obs.generation is not None and not (obs.rule or "").startswith(f"{ClassicEvent.UNLOADED.value}/"):
            self.generation = max(self.generation, obs.generation)

    def heard(self, generation: int) -> None:
        """Record the generation of a JoinGroup answer, after the invariants checked it."""
        self.generation = max(self.generation, generation)


def _disturbs(obs: Observation) -> bool:
    return obs.kind == "fault" or _unloads(obs) or _closed_by(obs, "tap", "fault", "kit")


def _unloads(obs: Observation) -> bool:
    """Return whether a broker event makes another broker load the group, or the same one again."""
    return _closed_by(obs, "broker", "upstream") or (obs.who == "kit" and obs.client is None and obs.body.get("name") in _HAPPENS)


def _closed_by(obs: Observation, *whom: str) -> bool:
    return obs.who == "link" and obs.body.get("name") == "closed" and obs.body.get("by") in whom


def _shows_loaded(obs: Observation, request: PendingRequest | None) -> bool:
    """Return whether only a coordinator that has loaded the group answers so. Not a Heartbeat without an error, nor an empty commit."""
    is_of_nothing = request is None or (obs.api == _COMMIT and not request.request.offsets)
    is_said_to_all = not error_of(obs) and (obs.api == _BEAT or is_of_nothing)
    return obs.api in _MEMBERSHIP and error_of(obs) in _LOADED and not is_said_to_all


def _rebalance_ms(body: Mapping[str, Any]) -> float:
    """Return how long (ms) a member may take to rejoin. In version 0 that is its session timeout."""
    timeout = body.get("rebalance_timeout_ms")
    return float(timeout if timeout is not None and timeout >= 0 else body.get("session_timeout_ms") or 0)


class Invariant(ABC):
    """One invariant, checked against one group."""

    listens: ClassVar[frozenset[tuple[str, str | None]]]
    """The kinds and APIs that `look` needs. None as API means all of the kind. It gets every event of a connection."""

    @abstractmethod
    def look(self, obs: Observation, group: InferredGroup) -> Iterable[Finding]:
        """Return what `obs` proves. `group` includes requests and answers up to it, and generations and states before it."""

    def rest(self, group: InferredGroup) -> Iterable[Finding]:
        """Return what is certain when nothing follows."""
        return ()

    def can_absorb(self, steady: Steady, group: InferredGroup) -> bool:
        """Return whether a member's steady exchanges change only what `absorb` records. By default, an invariant checks each frame that it listens
        to.
        """
        return not any((kind, api) in self.listens or (kind, None) in self.listens for kind in ("request", "response") for api in steady.apis)

    def absorb(self, steady: Steady, group: InferredGroup) -> None:  # noqa: B027  # most keep nothing
        """Record what it keeps of a member's exchanges when it checks none of them."""
