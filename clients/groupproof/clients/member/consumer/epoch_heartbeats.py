"""The heartbeats of a `consumer` member: what each carries, when it is sent, and what its answer means (KIP-848; CGC-01 to CGC-33).

A heartbeat carries what the coordinator has not been told: all at first and after errors, later what changed. Kafka's `ConsumerHeartbeatRequestManager`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from groupproof.clients.member.consumer.epoch_core import JOIN_EPOCH, EpochCore, TopicIdPartition
from groupproof.clients.member.member_core import NO_GENERATION
from groupproof.clients.member.pending_requests import RequestInFlight, earliest
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Phase, Reaction
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions

__all__ = ["EpochHeartbeats", "listed"]

_OWN_INTERVAL_MS: Final = 3_000
_TINY_MS: Final = 1
_REGEXES: Final[Mapping[str, Mapping[str, str]]] = {"null": {}, "empty": {"regex": ""}, "matched-here": {"regex": ".*"}}
"""What goes with names in the place of a regular expression, by the member's choice."""


_Words = tuple[bool, tuple[str, ...], tuple[int, frozenset[TopicIdPartition]]]


def listed(partitions: Iterable[TopicIdPartition]) -> tuple[TopicPartitions, ...]:
    """Return the partitions by topic."""
    by_topic = groupby(sorted(partitions), key=lambda partition: partition[0])
    return tuple(TopicPartitions(topic_id=topic_id, partitions=tuple(index for _, index in own)) for topic_id, own in by_topic)


class EpochHeartbeats:
    """One heartbeat in flight at a time, but for the leave (CGC-27)."""

    def __init__(self, core: EpochCore) -> None:
        self._core = core
        self._in_flight: dict[int, dict[str, Any]] = {}
        self._confirmed: dict[str, Any] = {}
        self._interval_ms: int | None = None
        self._next_ms: int | None = None
        self._confirmed_words: _Words | None = None
        self._bare: Any = None
        self._awaits_coordinator = False
        self._always = frozenset(name for name in ("names", "owned", "rack", "assignor") if getattr(core.choices, name) == "always")

    @property
    def is_acknowledged(self) -> bool:
        """Tell whether the coordinator has taken note of what the member holds now."""
        return bool(self._confirmed.get("owned") == self._reported())

    def join(self, now_ms: int) -> None:
        """Be due with a first heartbeat, which carries everything."""
        self._in_flight.clear()
        self._unsay()
        self._awaits_coordinator = False
        self._next_ms = now_ms + (self._core.backoff_ms() if self._core.choices.join_backoff else 0)

    def at_once(self, now_ms: int) -> None:
        self._next_ms = now_ms

    def forget(self) -> None:
        """Have nothing due: the member is none any more."""
        self._in_flight.clear()
        self._unsay()
        self._next_ms = None

    def _confirm(self, carried: Mapping[str, Any]) -> None:
        if carried:
            self._confirmed.update(carried)
            self._confirmed_words = None

    def _unsay(self) -> None:
        self._confirmed.clear()
        self._confirmed_words = None

    # When

    @property
    def due_ms(self) -> int | None:
        """When the next heartbeat is due, whether or not one is in flight."""
        return self._next_ms

    def step(self, now_ms: int) -> None:
        if self.is_due(now_ms):
            self._beat(now_ms)

    def is_due(self, now_ms: int) -> bool:
        """Tell whether a heartbeat is to be sent now."""
        return self._next_ms is not None and now_ms >= self._next_ms and self._is_beating()

    def next_ms(self) -> int | None:
        return self._next_ms if self._next_ms is not None and self._is_beating() else None

    def _is_beating(self) -> bool:
        core = self._core
        if core.is_halted or core.generation == NO_GENERATION or len(self._in_flight) >= core.choices.beats_in_flight:
            return False
        return (core.coordinator is not None or not core.policy.looks_up) and (core.failure is None or core.choices.beats_after_failure)

    def _beat(self, now_ms: int) -> None:
        core = self._core
        carried = self._carried()
        request_id = core.send(self._request(self._epoch(), carried), now_ms)
        self._in_flight[request_id] = carried
        core.has_joined = True
        if core.choices.fields_confirmed == "sent":
            self._confirm(carried)
        self._next_ms = now_ms + self._pause_ms()

    def _pause_ms(self) -> int:
        interval_ms = self._interval_ms if self._interval_ms is not None else self._core.settings.request_timeout_ms
        if self._core.choices.interval == "own":
            interval_ms = _OWN_INTERVAL_MS
        return max(self._core.choices.interval_min_ms, round(interval_ms * self._core.choices.interval_factor))

    # What

    def _epoch(self) -> int:
        core = self._core
        if core.epoch <= JOIN_EPOCH:
            return core.epoch
        if core.choices.epoch == "newest":
            return core.epoch
        return {"first": core.first_generation, "ahead": core.epoch + 1}[core.choices.epoch]

    def _carried(self) -> dict[str, Any]:
        """Return what this heartbeat has to say, by field; `owned` with the number of the assignment that it belongs to."""
        words = self._words()
        if words == self._confirmed_words:
            return {}  # as nearly always: what there is to say was confirmed before, and is the same
        confirmed = {} if self._core.choices.full == "always" else self._confirmed
        always = self._always
        carried = {name: value for name, value in self._all().items() if name in always or name not in confirmed or confirmed[name] != value}
        if not carried:
            self._confirmed_words = words
        return carried

    def _words(self) -> _Words:
        """Return what all that a heartbeat can carry is made of, but for what never changes."""
        core = self._core
        return core.epoch == JOIN_EPOCH, core.topics, self._reported()

    def _all(self) -> dict[str, Any]:
        core, settings, choices = self._core, self._core.settings, self._core.choices
        everything: dict[str, Any] = {"owned": self._reported()} if choices.owned != "never" else {}
        if choices.timeout != "none":
            everything["timeout"] = settings.rebalance_timeout_ms if choices.timeout == "max.poll.interval" else _TINY_MS
        if settings.topic_regex is None:
            everything |= self._names()
        else:
            everything |= {"names": (), "regex": settings.topic_regex}
        if settings.remote_assignor is not None and choices.assignor != "never":
            everything["assignor"] = settings.remote_assignor
        if settings.rack is not None and choices.rack != "never" and (core.epoch == JOIN_EPOCH or choices.rack == "always"):
            everything["rack"] = settings.rack
        return everything

    def _names(self) -> dict[str, Any]:
        """Return the subscription by names, as one says it who says it so."""
        core, kind = self._core, self._core.choices.names
        regex = _REGEXES[core.choices.regex]
        if kind == "never" or (kind == "first" and core.epoch != JOIN_EPOCH):
            return dict(regex)
        return {"names": tuple(reversed(core.topics)) if kind == "reversed" else core.topics, **regex}

    def _reported(self) -> tuple[int, frozenset[TopicIdPartition]]:
        """Return what the member says to own, with the number of the assignment: one that came back to the same set is said again (CGC-17)."""
        core = self._core
        return (core.target_number, core.target or frozenset()) if core.choices.owned == "target" else (core.held_number, core.held)

    def _request(self, epoch: int, carried: dict[str, Any]) -> Any:
        core, bare = self._core, self._bare
        if not carried and bare is not None and bare.member_epoch == epoch and bare.member_id == core.member_id:
            return bare
        request = ConsumerGroupHeartbeatRequest(
            group_id=core.settings.group, member_id=core.member_id, member_epoch=epoch, instance_id=self._instance_id(epoch),
            rack_id=carried.get("rack"), rebalance_timeout_ms=carried.get("timeout", -1), subscribed_topic_names=carried.get("names"),
            subscribed_topic_regex=carried.get("regex"), server_assignor=carried.get("assignor"), topic_partitions=self._owned(epoch, carried),
        )  # fmt: skip
        if not carried:
            self._bare = request
        return request

    def _instance_id(self, epoch: int) -> str | None:
        """Return the instance id to send; who sends it with join and leave alone is known by its member id in between (CGC-03)."""
        instance_id, kind = self._core.settings.instance_id, self._core.choices.instance_id
        if instance_id is None or kind == "never":
            return None
        if epoch > JOIN_EPOCH and kind == "wrong":
            return f"{instance_id}-other"
        is_silent = (epoch > JOIN_EPOCH and kind in ("join-and-leave", "join-alone")) or (epoch < JOIN_EPOCH and kind == "join-alone")
        return None if is_silent else instance_id

    def _owned(self, epoch: int, carried: dict[str, Any]) -> tuple[TopicPartitions, ...] | None:
        if epoch == JOIN_EPOCH:
            return None if self._core.choices.join_owned == "null" else ()
        return listed(carried["owned"][1]) if "owned" in carried else None

    # Answers

    def settled(self, pending: RequestInFlight, answer: Answer, response: object, reaction: Reaction, phase: Phase, now_ms: int) -> None:
        """Take interval and epoch of an answer, or be due again after a refusal; the assignment is the business of the reconciliation."""
        carried = self._in_flight.pop(pending.request_id, None)
        if phase is Phase.STALE or carried is None:
            return
        effects = reaction.effects
        if Effect.ACCEPT in effects and isinstance(response, ConsumerGroupHeartbeatResponse):
            self._confirm(carried)
            self._accept(response, now_ms)
            return
        if Effect.SAY_ALL in effects:
            self._unsay()
        if Effect.REDISCOVER in effects:
            self._awaits_coordinator = True
        if Effect.BACK_OFF in effects:
            self._next_ms = now_ms + self._core.backoff_ms()

    def _accept(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        core = self._core
        if core.is_named_by_broker and response.member_id:
            core.member_id = response.member_id
        core.take_epoch(response.member_epoch)
        if self._interval_ms is None or core.choices.interval != "first":
            changed = self._interval_ms != response.heartbeat_interval_ms
            self._interval_ms = response.heartbeat_interval_ms
            if changed:  # the interval counts from the answer on that first names it
                self._next_ms = now_ms + self._pause_ms()

    def coordinator_found(self, now_ms: int) -> None:
        """Heartbeat as soon as the coordinator is known again, which hears everything (CGT-13, CGC-19). Who has no interval yet can't wait for it."""
        if self._awaits_coordinator and (self._core.choices.after_lookup == "at-once" or self._interval_ms is None):
            self._next_ms = earliest(self._next_ms, now_ms)
        self._awaits_coordinator = False

    # The leave

    def leave(self, now_ms: int, epoch: int, *, timeout_ms: int | None = None) -> int:
        """Send the last heartbeat, whether or not one is in flight (CGV-09); return its id."""
        core = self._core
        empty = core.choices.leave_fields == "empty"
        request: Any = ConsumerGroupHeartbeatRequest(
            group_id=core.settings.group, member_id=core.member_id, member_epoch=epoch, instance_id=self._instance_id(epoch),
            subscribed_topic_names=() if empty else None, topic_partitions=() if empty else None,
        )  # fmt: skip
        return core.send(request, now_ms, timeout_ms=timeout_ms)
