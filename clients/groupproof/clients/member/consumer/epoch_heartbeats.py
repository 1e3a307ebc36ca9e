"""The heartbeats of a `consumer` member: their fields, their times, and the reactions to their answers (KIP-848; CGC-01 to CGC-33).

A heartbeat carries every field at first and after errors, later only changed fields. Kafka's `ConsumerHeartbeatRequestManager`.
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

__all__ = ["SAYS_NOTHING", "EpochHeartbeats", "listed"]

_OWN_INTERVAL_MS: Final = 3_000
_TINY_MS: Final = 1
_REGEXES: Final[Mapping[str, Mapping[str, str]]] = {"null": {}, "empty": {"regex": ""}, "matched-here": {"regex": ".*"}}
"""The fields to send beside names in place of a regular expression, by policy."""

SAYS_NOTHING: Final[dict[str, Any]] = {}
"""The fields of a heartbeat that carries nothing. Nobody may change it."""

_Words = tuple[Any, ...]
"""The values that decide the fields of a heartbeat, without the constant ones."""


def listed(partitions: Iterable[TopicIdPartition]) -> tuple[TopicPartitions, ...]:
    """Return the partitions by topic."""
    by_topic = groupby(sorted(partitions), key=lambda partition: partition[0])
    return tuple(TopicPartitions(topic_id=topic_id, partitions=tuple(index for _, index in own)) for topic_id, own in by_topic)


class EpochHeartbeats:
    """Sends one heartbeat at a time; only the leave may be a second one (CGC-27). The next is due at `due_ms`, even while one is in flight.

    The interval between two is `pause_ms`. `in_flight` has the fields of each heartbeat in flight.
    `last_answer` is the last answer, if neither it nor its heartbeat carried anything.
    """

    def __init__(self, core: EpochCore) -> None:
        self._core = core
        self.in_flight: dict[int, dict[str, Any]] = {}
        self._confirmed: dict[str, Any] = {}
        self._interval_ms: int | None = None
        self.pause_ms = self._pause()
        self.due_ms: int | None = None
        self._bare: Any = None  # the last heartbeat without fields
        self._bare_epoch = JOIN_EPOCH
        self._bare_words: _Words | None = None
        self.last_answer: ConsumerGroupHeartbeatResponse | None = None
        self._awaits_coordinator = False
        self._failures = 0  # the number of failed heartbeats in a row that caused a backoff
        self._constant = self._never_changing()
        self._always = frozenset(name for name in ("names", "owned", "rack", "assignor") if getattr(core.choices, name) == "always")

    @property
    def is_acknowledged(self) -> bool:
        """Return whether the coordinator has confirmed the partitions that the member reports now."""
        return bool(self._confirmed.get("owned") == self._reported())

    def join(self, now_ms: int) -> None:
        """Schedule the first heartbeat, which carries every field."""
        self.in_flight.clear()
        self._unsay()
        self._awaits_coordinator = False
        self._failures = 0
        self.due_ms = now_ms + (self._core.backoff_ms() if self._core.choices.join_backoff else 0)

    def at_once(self, now_ms: int) -> None:
        self.due_ms = now_ms

    def forget(self) -> None:
        """Cancel the heartbeats: the membership is over."""
        self.in_flight.clear()
        self._unsay()
        self.due_ms = None

    def _confirm(self, carried: Mapping[str, Any]) -> None:
        self._confirmed.update(carried)
        self._bare_words = None

    def _unsay(self) -> None:
        self._confirmed.clear()
        self._bare_words = self.last_answer = None

    # Times

    def step(self, now_ms: int) -> None:
        if self.due_ms is not None and now_ms >= self.due_ms and self.is_beating():
            self._beat(now_ms)

    def is_due(self, now_ms: int) -> bool:
        """Return whether a heartbeat must be sent now."""
        return self.due_ms is not None and now_ms >= self.due_ms and self.is_beating()

    def next_ms(self) -> int | None:
        return self.due_ms if self.due_ms is not None and self.is_beating() else None

    def is_beating(self) -> bool:
        """Return whether the member may send heartbeats now."""
        core = self._core
        if self.in_flight and len(self.in_flight) >= core.choices.beats_in_flight:
            return False
        if core.is_halted or core.generation == NO_GENERATION:
            return False
        return (core.coordinator is not None or not core.policy.looks_up) and (core.failure is None or core.choices.beats_after_failure)

    def _beat(self, now_ms: int) -> None:
        core = self._core
        if core.choices.member_id == "retried" and core.epoch == JOIN_EPOCH and core.has_joined:
            core.member_id = core.new_member_id()
        words = self._words()
        if words == self._bare_words:  # the usual case: nothing changed since the last confirmed heartbeat
            made: tuple[dict[str, Any], Any] = {}, self._bare_at(core.generation)
        else:
            made = self._made(words)
        carried, request = made
        request_id = core.send(request, now_ms)
        self.in_flight[request_id] = carried
        core.has_joined = True
        if core.choices.fields_confirmed == "sent":
            self._confirm(carried)
        self.due_ms = now_ms + self.pause_ms

    def resting(self) -> Any:
        """Return the heartbeat without fields if it would repeat the last one and that one succeeded, otherwise None."""
        core, last = self._core, self.last_answer
        if last is None or last.member_epoch != core.generation or self._failures or not self.is_beating():
            return None
        return self._bare_at(core.generation) if self._words() == self._bare_words else None

    def _words(self) -> _Words:
        core = self._core
        return core.member_id, core.topics, core.held_number, core.held, core.target_number, core.target

    def _pause(self) -> int:
        """Return the time in ms from one heartbeat to the next, for the current interval."""
        interval_ms = self._interval_ms if self._interval_ms is not None else self._core.settings.request_timeout_ms
        if self._core.choices.interval == "own":
            interval_ms = _OWN_INTERVAL_MS
        return max(self._core.choices.interval_min_ms, round(interval_ms * self._core.choices.interval_factor))

    # Fields

    def _made(self, words: _Words) -> tuple[dict[str, Any], Any]:
        """Return the fields to send now, and the heartbeat. A heartbeat without fields is kept for reuse."""
        carried = self._carried()
        request = self._request(self._epoch(), carried)
        if not carried and self._core.generation > JOIN_EPOCH:
            self._bare, self._bare_epoch, self._bare_words = request, self._core.generation, words
        return carried, request

    def _bare_at(self, epoch: int) -> Any:
        """Return the heartbeat without fields for this epoch. A new epoch needs a new request."""
        if epoch != self._bare_epoch:
            self._bare, self._bare_epoch = self._request(self._epoch(), {}), epoch
        return self._bare

    def _epoch(self) -> int:
        core = self._core
        if core.choices.epoch == "newest" or core.generation <= JOIN_EPOCH:
            return core.generation
        return {"first": core.first_generation, "ahead": core.generation + 1}[core.choices.epoch]

    def _carried(self) -> dict[str, Any]:
        """Return the fields of this heartbeat. `owned` includes the number of its assignment."""
        confirmed = {} if self._core.choices.full == "always" else self._confirmed
        always, carried = self._always, {}
        for name, value in self._all().items():
            if name in always or name not in confirmed or confirmed[name] != value:
                carried[name] = value
        return carried

    def _all(self) -> dict[str, Any]:
        core, choices = self._core, self._core.choices
        everything = self._constant.copy()
        if choices.owned != "never":
            everything["owned"] = self._reported()
        if core.settings.topic_regex is None:
            self._add_names(everything)
        rack = core.settings.rack
        if rack is not None and choices.rack != "never" and (core.generation == JOIN_EPOCH or choices.rack == "always"):
            everything["rack"] = rack
        return everything

    def _never_changing(self) -> dict[str, Any]:
        """Return the fields that never change during the member's life."""
        settings, choices = self._core.settings, self._core.choices
        carried_fields: dict[str, Any] = {}
        if choices.timeout != "none":
            carried_fields["timeout"] = settings.rebalance_timeout_ms if choices.timeout == "max.poll.interval" else _TINY_MS
        if settings.topic_regex is not None:
            carried_fields |= {"names": (), "regex": settings.topic_regex}
        if settings.remote_assignor is not None and choices.assignor != "never":
            carried_fields["assignor"] = settings.remote_assignor
        return carried_fields

    def _add_names(self, everything: dict[str, Any]) -> None:
        """Add the subscription by names, as the policy says."""
        core, kind = self._core, self._core.choices.names
        if kind != "never" and (kind != "first" or core.generation == JOIN_EPOCH):
            everything["names"] = tuple(reversed(core.topics)) if kind == "reversed" else core.topics
        everything.update(_REGEXES[core.choices.regex])

    def _reported(self) -> tuple[int, frozenset[TopicIdPartition]]:
        """Return the owned partitions to report, with the assignment's number. A set that returns to an earlier value is reported again (CGC-17)."""
        core = self._core
        return (core.target_number, core.target or frozenset()) if core.choices.owned == "target" else (core.held_number, core.held)

    def _request(self, epoch: int, carried: dict[str, Any]) -> Any:
        core = self._core
        return ConsumerGroupHeartbeatRequest(
            group_id=core.settings.group, member_id=core.member_id, member_epoch=epoch, instance_id=self._instance_id(epoch),
            rack_id=carried.get("rack"), rebalance_timeout_ms=carried.get("timeout", -1), subscribed_topic_names=carried.get("names"),
            subscribed_topic_regex=carried.get("regex"), server_assignor=carried.get("assignor"), topic_partitions=self._owned(epoch, carried),
        )  # fmt: skip

    def _instance_id(self, epoch: int) -> str | None:
        """Return the instance id to send. With some policies only join and leave carry it, and the member id suffices in between (CGC-03)."""
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
        """Apply the interval and epoch of an answer, or schedule a retry after a refusal. `LocalAssignment` handles the assignment."""
        carried = self.in_flight.pop(pending.request_id, None)
        if phase is Phase.STALE or carried is None:
            return
        effects = reaction.effects
        if Effect.ACCEPT in effects and isinstance(response, ConsumerGroupHeartbeatResponse):
            if carried:
                self._confirm(carried)
            self._accept(response, now_ms)
            self.last_answer = None if carried or response.assignment is not None else response
            return
        if Effect.SAY_ALL in effects:
            self._unsay()
        self._failed(effects, now_ms)

    def take_repeated(self, request_id: int, response: ConsumerGroupHeartbeatResponse) -> bool:
        """Record an answer that repeats the last one, to a heartbeat without fields. Return False without a change for any other answer.

        Requests in flight belong to this membership, so only the list of requests in flight changes.
        """
        last = self.last_answer
        if last is None or (response is not last and response != last) or self._core.generation != response.member_epoch:
            return False
        if self.in_flight.get(request_id, True):
            return False
        del self.in_flight[request_id]
        self._failures = 0
        self.last_answer = response
        return True

    def _failed(self, effects: tuple[Effect, ...], now_ms: int) -> None:
        """Back off, longer with each failure in a row, or heartbeat once the coordinator is found (`RequestState.onFailedAttempt` and `reset`)."""
        if Effect.BACK_OFF in effects:
            self._failures += 1
            self.due_ms = now_ms + self._core.backoff_ms(self._failures)
            return
        self._failures = 0
        if Effect.REDISCOVER in effects:
            self._awaits_coordinator = True

    def _accept(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        core = self._core
        self._failures = 0
        if response.member_id and response.member_id != core.member_id and core.is_named_by_broker:
            core.member_id = response.member_id
        if response.member_epoch != core.generation or core.first_generation == NO_GENERATION:
            core.take_epoch(response.member_epoch)
        if self._interval_ms is None or core.choices.interval != "first":
            changed = self._interval_ms != response.heartbeat_interval_ms
            self._interval_ms = response.heartbeat_interval_ms
            if changed:  # a new interval counts from the answer that first names it
                self.pause_ms = self._pause()
                self.due_ms = now_ms + self.pause_ms

    def coordinator_found(self, now_ms: int) -> None:
        """Heartbeat with every field once the coordinator is known again (CGT-13, CGC-19). A member without an interval always does so at once."""
        if self._awaits_coordinator and (self._core.choices.after_lookup == "at-once" or self._interval_ms is None):
            self.due_ms = earliest(self.due_ms, now_ms)
        self._awaits_coordinator = False

    # The leave

    def leave(self, now_ms: int, epoch: int, *, timeout_ms: int | None = None) -> int:
        """Send the leave, even if a heartbeat is in flight (CGV-09). Return its request id."""
        core = self._core
        empty = core.choices.leave_fields == "empty"
        request: Any = ConsumerGroupHeartbeatRequest(
            group_id=core.settings.group, member_id=core.member_id, member_epoch=epoch, instance_id=self._instance_id(epoch),
            subscribed_topic_names=() if empty else None, topic_partitions=() if empty else None,
        )  # fmt: skip
        return core.send(request, now_ms, timeout_ms=timeout_ms)
