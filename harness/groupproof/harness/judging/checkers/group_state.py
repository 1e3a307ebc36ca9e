"""Where a group stands, as far as its trace tells: by the coordinator's transitions, or by the answers where there are none; and what a law of the group is. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.checkers.checker import Newest, UnderWay
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of, instance_of
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.classic.classic_terms import On
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["Asked", "Law", "Standing"]

_JOIN, _BEAT, _COMMIT = Api.JOIN_GROUP.title, Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title
_MOVES: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
_HAPPENS: Final = frozenset({"move", "stop", "start", "freeze", "thaw", "kill"})
_LOADED: Final = frozenset({
    ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.FENCED_INSTANCE_ID,
})  # fmt: skip
_MEMBERSHIP: Final = frozenset(api.title for api in GROUP_REQUESTS)
_UUID_CHARS: Final = 37
"""As many characters follow the instance id in the member id of a static member: a hyphen and a UUID (STATIC-01)."""
_INITIAL_DELAY_MS: Final = 3_000
_ENDED_KEPT: Final = 1_000
"""Of so many connections it is known that they have ended: what was on its way then arrives soon after."""


@dataclass(slots=True)
class Asked:
    """A request under way, and where the group stood when it came to the coordinator."""

    request: Observation
    generation: int
    epoch: int


@dataclass(slots=True)
class Standing:
    """What every law asks.

    `epoch` counts how often the group was made anew, or may have been: its generations are compared within one epoch only, as the number of one that was
    not stored comes again. `disturbed_ms` is when something
    last happened from outside that explains lateness and lost members: a fault, a broker that ends connections or gives the group away. `loaded_seq` is
    since when it is sure that the coordinator has loaded the group: one that has not answers every Heartbeat without error (FIND-10).
    """

    tells: bool = False
    state: str | None = None
    generation: int = -1
    epoch: int = 0
    node: int | None = None
    disturbed_ms: float = -1.0
    rebalance_ms: float = 0.0
    initial_delay_ms: float = _INITIAL_DELAY_MS
    has_static: bool = False
    loaded_seq: int | None = None
    now_ms: float = 0.0
    asked: UnderWay[Asked] = field(default_factory=UnderWay)
    answered: Asked | None = None
    _ended: Newest[int, int] = field(default_factory=lambda: Newest(_ENDED_KEPT))
    _instances: dict[str, str] = field(default_factory=dict)
    _untold: Counter[str] = field(default_factory=Counter)

    def identity(self, member: str) -> str:
        """Return the instance of a member id, or the id itself where it has none: the ids of a static member change.

        It is told by the answer that gave the id, or else, where such an answer was lost, by the id itself.
        """
        by_name = member[:-_UUID_CHARS]
        return self._instances.get(member, by_name if self._untold[by_name] else member)

    def follow(self, seen: Observation) -> None:
        """Take the next observation, before the laws look at it; `answered` is then the request that it answers."""
        self.now_ms, self.answered = seen.at_ms, None
        self.asked.closed(seen)
        if seen.who == "link" and seen.connection is not None and seen.body.get("name") == "closed":
            self._ended.set(seen.connection, seen.seq)
        if _disturbs(seen):
            self.disturbed_ms = seen.at_ms
        if _unloads(seen):
            self.loaded_seq = None
            if not self.tells:
                self._begin_epoch(seen.at_ms)
        if seen.kind == "request":
            self._request(seen)
        elif seen.kind == "response":
            self.answered = self.asked.answered(seen)
            self._response(seen)
        elif seen.kind == "processed":
            if not self.asked.amend(seen, self._taken_up):
                self._joins_nameless(seen)  # it came twice: the second answer goes nowhere
        elif seen.who == "kit" and isinstance(seen.body.get("settings"), Mapping):
            self.initial_delay_ms = float(seen.body["settings"].get("group.initial.rebalance.delay.ms", self.initial_delay_ms))

    def _taken_up(self, asked: Asked) -> Asked:
        return Asked(asked.request, self.generation, self.epoch)

    def _request(self, seen: Observation) -> None:
        if seen.connection is None or self._ended.get(seen.connection) is None:  # what was under way when its connection ended is owed nothing
            self.asked.ask(seen, Asked(seen, self.generation, self.epoch))
        if seen.api == _JOIN:
            self.has_static |= instance_of(seen) is not None
            self._joins_nameless(seen)
            self.rebalance_ms = max(self.rebalance_ms, _rebalance_ms(seen.body))

    def _joins_nameless(self, seen: Observation) -> None:
        """Expect an answer that gives a static member a new id; until it comes, nobody need have been told the id."""
        if seen.api == _JOIN and not seen.member and (instance := instance_of(seen)) is not None:
            self._untold[instance] += 1

    def _response(self, seen: Observation) -> None:
        if error_of(seen) in _MOVES:
            self._begin_epoch(seen.at_ms)
        elif seen.node is not None and seen.node != self.node and seen.api != Api.FIND_COORDINATOR.title:
            if self.node is not None:
                self._begin_epoch(seen.at_ms)
            self.node = seen.node
        if self.loaded_seq is None and _shows_loaded(seen, self.answered):
            self.loaded_seq = seen.seq
        if self.answered is not None and seen.member and (instance := instance_of(self.answered.request)) is not None:
            self._named(seen, self.answered.request, instance)

    def _named(self, seen: Observation, asked: Observation, instance: str) -> None:
        if seen.api == _JOIN or not error_of(seen):
            self._instances[seen.member or ""] = instance
        if seen.api == _JOIN and not asked.member and not error_of(seen):
            self._untold[instance] -= 1

    def _begin_epoch(self, at_ms: float) -> None:
        self.epoch += 1
        self.generation = -1
        self.disturbed_ms = at_ms
        self.loaded_seq = None

    def moved(self, seen: Observation) -> None:
        """Take a transition, after the laws looked at it."""
        self.tells = True
        if seen.state_before is None or (seen.rule or "").startswith(f"{On.UNLOADED.value}/"):
            self.epoch += 1
            self.generation = -1
            self.loaded_seq = None
        self.state = None if seen.state_after == GroupState.DEAD.value else seen.state_after
        if seen.generation is not None and not (seen.rule or "").startswith(f"{On.UNLOADED.value}/"):
            self.generation = max(self.generation, seen.generation)

    def told(self, generation: int) -> None:
        """Take the generation of a JoinGroup answer, after the laws looked at it; behind a tap a group in its first generation again was made anew."""
        if not self.tells and generation == 1 < self.generation:
            self.epoch += 1
            self.generation = -1
        self.generation = max(self.generation, generation)


def _disturbs(seen: Observation) -> bool:
    return seen.kind == "fault" or _unloads(seen) or _closed_by(seen, "tap", "fault", "kit")


def _unloads(seen: Observation) -> bool:
    """Tell whether something befell a broker after which another loads the group, or the same one anew."""
    return _closed_by(seen, "broker", "upstream") or (seen.who == "kit" and seen.client is None and seen.body.get("name") in _HAPPENS)


def _closed_by(seen: Observation, *whom: str) -> bool:
    return seen.who == "link" and seen.body.get("name") == "closed" and seen.body.get("by") in whom


def _shows_loaded(seen: Observation, asked: Asked | None) -> bool:
    """Tell whether only a coordinator that knows the group answers so: not a Heartbeat without error, nor a commit of nothing."""
    is_of_nothing = asked is None or (seen.api == _COMMIT and not asked.request.offsets)
    is_said_to_all = not error_of(seen) and (seen.api == _BEAT or is_of_nothing)
    return seen.api in _MEMBERSHIP and error_of(seen) in _LOADED and not is_said_to_all


def _rebalance_ms(body: Mapping[str, Any]) -> float:
    """Return how long a member may take to join again; version 0 has its session timeout for that."""
    told = body.get("rebalance_timeout_ms")
    return float(told if told is not None and told >= 0 else body.get("session_timeout_ms") or 0)


class Law(ABC):
    """One law, held against one group."""

    @abstractmethod
    def look(self, seen: Observation, standing: Standing) -> Iterable[Finding]:
        """Return what `seen` proves; the standing knows of requests and answers up to it, and of generations and states before it."""

    def rest(self, standing: Standing) -> Iterable[Finding]:
        """Return what is certain when nothing follows."""
        return ()
