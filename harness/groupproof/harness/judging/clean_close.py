"""The verdict on the clean close, from the trace: did the members leave as members should (contract, "Verdicts")? Pure.

UNCLEAN: a missing LeaveGroup, a missing commit of what an auto-committing member had consumed, a process that crashed while it closed, or one that
had to be killed after its deadline. A dynamic member (or one whose close command says to leave) owes a LeaveGroup if, as far as it knows, it is in
the group and knows its coordinator. How the coordinator then answers is not the member's doing. A KIP-848 heartbeat that is answered with a fatal
error ends the membership for the member. It owes nothing until it gets an answer without an error again (decision 32).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.judging.checkers.tracking.departures import has_nobody_left
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.crashes import has_crashed_closing, how_it_ended
from groupproof.harness.model.case_dialect import dialect_asked
from groupproof.harness.model.verdicts import Goodbye
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR

__all__ = ["clean_close_of"]

_EARLIER = " #"
_BEAT = Api.CONSUMER_GROUP_HEARTBEAT.title
_MEMBERSHIP = frozenset({_BEAT, *(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT))})


@dataclass(slots=True)
class _Departure:
    """How one client leaves. `owes_leave` says whether, as far as it knows, it is a member and knows its coordinator. It never becomes true after
    the close.
    """

    settings: Mapping[str, Any]
    owes_leave: bool = False
    is_reachable: bool = False
    has_left: bool = False
    is_closed: bool = False
    forced: bool | None = None
    connection: int | None = None
    unclean: str | None = None
    consumed: dict[TopicPartition, int] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    committing: dict[ExchangeId, Mapping[TopicPartition, int]] = field(default_factory=dict)
    was_killed: bool = False


def clean_close_of(trace: Trace) -> tuple[Goodbye, str]:
    """Return the verdict and, for UNCLEAN, the reason."""
    departures: dict[str, _Departure] = {}
    group = GroupTracker()
    for obs in trace:
        group.follow(obs)
        if obs.client is None:
            _follow_link(departures, obs)
        elif obs.who == "kit":
            _follow_kit(departures, obs)
        elif obs.client in departures:
            _follow(departures[obs.client], obs, group)
    found = [finding for name, departure in departures.items() for finding in _judged(name.partition(_EARLIER)[0], departure)]
    unclean = [why for verdict, why in found if verdict is Goodbye.UNCLEAN]
    if unclean:
        return Goodbye.UNCLEAN, "; ".join(unclean)
    return (Goodbye.CLEAN if found else Goodbye.NONE), ""


def _judged(name: str, departure: _Departure) -> Iterator[tuple[Goodbye, str]]:
    if departure.unclean is not None:
        yield Goodbye.UNCLEAN, f"{name} {departure.unclean}"
    elif departure.was_killed:
        return
    elif lost := _lost(departure):
        yield Goodbye.UNCLEAN, f"{name} closed without committing what it had consumed of {lost}"
    elif departure.has_left:
        yield Goodbye.CLEAN, ""
    elif departure.is_closed and departure.owes_leave and _leaves(departure):
        yield Goodbye.UNCLEAN, f"{name} closed without a LeaveGroup"


def _leaves(departure: _Departure) -> bool:
    if departure.forced is not None:
        return departure.forced
    if dialect_asked(departure.settings) != CLASSIC.name:
        return True  # KIP-848: a static member announces with epoch -2 that it comes back
    is_thread = departure.settings.get("assignors") == [ASSIGNOR]  # Kafka Streams stays a member when it closes (KAFKA-8399)
    return departure.settings.get("instance_id") is None and not is_thread


def _lost(departure: _Departure) -> str:
    if not (departure.is_closed and departure.owes_leave and departure.settings.get("auto_commit")):
        return ""
    committed = dict(departure.committed)
    for unanswered in departure.committing.values():  # the coordinator may have stored it
        committed.update(unanswered)
    behind = (place for place, position in departure.consumed.items() if committed.get(place, -1) < position)
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(behind))


def _follow_link(departures: Mapping[str, _Departure], obs: Observation) -> None:
    if obs.who == "link" and obs.body.get("name") == "closed":
        for departure in departures.values():
            if departure.connection == obs.connection and not departure.is_closed:
                departure.is_reachable = departure.owes_leave = False


def _follow_kit(departures: dict[str, _Departure], obs: Observation) -> None:
    assert obs.client is not None
    name = obs.body.get("name")
    if name == "command" and obs.body.get("command") == "subscribe":
        departures[obs.client] = _Departure(settings=obs.body["fields"])
        return
    departure = departures.get(obs.client)
    if departure is None:
        return
    if name == "refused" and obs.body.get("command") == "subscribe":
        del departures[obs.client]  # it never became a member, and has nothing to close
    elif name == "hello":  # a member that is started again; how it ended before counts too
        departures[f"{obs.client}{_EARLIER}{len(departures)}"] = departures.pop(obs.client)
    elif name == "command" and obs.body.get("command") in ("close", "unsubscribe"):
        departure.is_closed = True
        departure.forced = obs.body["fields"].get("leave", departure.forced)
    elif name == "kill":
        departure.was_killed = True
    elif name == "overdue":
        departure.unclean = "had to be killed after the deadline"
    elif name == "exit":
        _follow_exit(departure, obs)


def _follow_exit(departure: _Departure, obs: Observation) -> None:
    if obs.body.get("gave_up"):
        departure.is_closed = True
    elif not obs.body.get("commanded"):
        departure.unclean = "ended without being asked to"
    elif has_crashed_closing(obs) and not departure.was_killed:
        departure.unclean = f"crashed while closing: {how_it_ended(obs)}"


def _follow(departure: _Departure, obs: Observation, group: GroupTracker) -> None:
    if obs.kind == "request" and _is_leave(obs):
        departure.has_left = True
    elif obs.kind == "request" and obs.api in _MEMBERSHIP:
        departure.connection = obs.connection
        if obs.offsets:
            departure.committing[obs.exchange_id] = {(topic, partition): offset for topic, partition, offset in obs.offsets}
    elif obs.kind == "response" and obs.api in _MEMBERSHIP:
        _follow_answer(departure, obs, is_member=group.is_member(obs.client or ""))
    elif obs.who == "shim":
        _follow_event(departure, obs)
    elif obs.who == "link" and obs.body.get("name") == "closed":
        _follow_link({"": departure}, obs)


def _follow_answer(departure: _Departure, obs: Observation, *, is_member: bool) -> None:
    committing = departure.committing.pop(obs.exchange_id, {})
    if not obs.error:
        departure.committed.update(committing)
    if not obs.error or has_nobody_left(obs):
        departure.is_reachable = not obs.error
    if not obs.error and not departure.is_closed and _lets_in(obs):
        departure.has_left = False
    # What comes after the close, such as a late answer to its JoinGroup, obliges a member to nothing more.
    departure.owes_leave = is_member and departure.is_reachable and (departure.owes_leave or not departure.is_closed)


def _is_leave(obs: Observation) -> bool:
    """Return whether a request leaves the group: LeaveGroup, or a heartbeat with an epoch below 0 (KIP-848)."""
    return obs.api == Api.LEAVE_GROUP.title or (obs.api == _BEAT and (obs.member_epoch or 0) < 0)


def _lets_in(obs: Observation) -> bool:
    return obs.api == Api.JOIN_GROUP.title or (obs.api == _BEAT and (obs.member_epoch or 0) > 0)


def _follow_event(departure: _Departure, obs: Observation) -> None:
    name = obs.body.get("name")
    if name == "records_consumed" and not departure.is_closed:
        for partition in obs.body.get("partitions", ()):
            departure.consumed[partition["topic"], partition["partition"]] = int(partition.get("maxOffset", -1)) + 1
    elif name == "partitions_assigned" or (name in ("partitions_revoked", "partitions_lost") and not departure.is_closed):
        # A partition that is revoked while closing must still be committed first. For a new assignment, consumption starts at the committed offset.
        for place in obs.partitions:
            departure.consumed.pop(place, None)
