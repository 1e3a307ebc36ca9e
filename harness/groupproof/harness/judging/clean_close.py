"""The verdict on the goodbye, computed from the trace: did the members go as members should (contract, "Verdicts")? Pure.

UNCLEAN: no LeaveGroup where one is due, no commit of what an auto-committing member had consumed, a process that crashed while it closed, or one
that had to be killed after its deadline. A LeaveGroup is due of a dynamic member (or where the close was told to leave) that, as far as it was told, is in the group
and knows its coordinator; what the coordinator then answers is not the member's doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.judging.checkers.group_tracker import GroupTracker
from groupproof.harness.judging.crashes import has_crashed_closing, how_it_ended
from groupproof.harness.model.verdicts import Goodbye
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition

__all__ = ["goodbye_of"]

# After these answers a member has nobody to say goodbye to.
_UNREACHABLE = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_AUTHORIZATION_FAILED})
_EARLIER = " #"
_MEMBERSHIP = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT))


@dataclass(slots=True)
class _Departure:
    """One client's way out. `owes_leave` tells whether it is a member, as far as it knows, and knows its coordinator; after its close that begins no more."""

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


def goodbye_of(trace: Trace) -> tuple[Goodbye, str]:
    """Return the verdict and, of UNCLEAN, why."""
    departures: dict[str, _Departure] = {}
    group = GroupTracker()
    for seen in trace:
        group.follow(seen)
        if seen.client is None:
            _follow_link(departures, seen)
        elif seen.who == "kit":
            _follow_kit(departures, seen)
        elif seen.client in departures:
            _follow(departures[seen.client], seen, group)
    found = [each for name, departure in departures.items() for each in _judged(name.partition(_EARLIER)[0], departure)]
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
    return departure.settings.get("instance_id") is None


def _lost(departure: _Departure) -> str:
    if not (departure.is_closed and departure.owes_leave and departure.settings.get("auto_commit")):
        return ""
    committed = dict(departure.committed)
    for unanswered in departure.committing.values():  # the coordinator may have stored it
        committed.update(unanswered)
    behind = (place for place, position in departure.consumed.items() if committed.get(place, -1) < position)
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(behind))


def _follow_link(departures: Mapping[str, _Departure], seen: Observation) -> None:
    if seen.who == "link" and seen.body.get("name") == "closed":
        for departure in departures.values():
            if departure.connection == seen.connection and not departure.is_closed:
                departure.is_reachable = departure.owes_leave = False


def _follow_kit(departures: dict[str, _Departure], seen: Observation) -> None:
    assert seen.client is not None
    name = seen.body.get("name")
    if name == "command" and seen.body.get("command") == "subscribe":
        departures[seen.client] = _Departure(settings=seen.body["fields"])
        return
    departure = departures.get(seen.client)
    if departure is None:
        return
    if name == "refused" and seen.body.get("command") == "subscribe":
        del departures[seen.client]  # it never was one, and has nothing to close
    elif name == "hello":  # a member that is started again; how it went before counts too
        departures[f"{seen.client}{_EARLIER}{len(departures)}"] = departures.pop(seen.client)
    elif name == "command" and seen.body.get("command") in ("close", "unsubscribe"):
        departure.is_closed = True
        departure.forced = seen.body["fields"].get("leave", departure.forced)
    elif name == "kill":
        departure.was_killed = True
    elif name == "overdue":
        departure.unclean = "had to be killed after the deadline"
    elif name == "exit":
        _follow_exit(departure, seen)


def _follow_exit(departure: _Departure, seen: Observation) -> None:
    if seen.body.get("gave_up"):
        departure.is_closed = True
    elif not seen.body.get("commanded"):
        departure.unclean = "ended without being asked to"
    elif has_crashed_closing(seen) and not departure.was_killed:
        departure.unclean = f"crashed while closing: {how_it_ended(seen)}"


def _follow(departure: _Departure, seen: Observation, group: GroupTracker) -> None:
    if seen.kind == "request" and seen.api == Api.LEAVE_GROUP.title:
        departure.has_left = True
    elif seen.kind == "request" and seen.api in _MEMBERSHIP:
        departure.connection = seen.connection
        if seen.offsets:
            departure.committing[seen.exchange_id] = {(topic, partition): offset for topic, partition, offset in seen.offsets}
    elif seen.kind == "response" and seen.api in _MEMBERSHIP:
        _follow_answer(departure, seen, is_member=group.is_member(seen.client or ""))
    elif seen.who == "shim":
        _follow_event(departure, seen)
    elif seen.who == "link" and seen.body.get("name") == "closed":
        _follow_link({"": departure}, seen)


def _follow_answer(departure: _Departure, seen: Observation, *, is_member: bool) -> None:
    committing = departure.committing.pop(seen.exchange_id, {})
    if not seen.error:
        departure.committed.update(committing)
    if seen.error in _UNREACHABLE or not seen.error:
        departure.is_reachable = not seen.error
    if not seen.error and not departure.is_closed and seen.api == Api.JOIN_GROUP.title:
        departure.has_left = False
    # What comes after the close, such as a late answer to its JoinGroup, obliges a member to nothing more.
    departure.owes_leave = is_member and departure.is_reachable and (departure.owes_leave or not departure.is_closed)


def _follow_event(departure: _Departure, seen: Observation) -> None:
    name = seen.body.get("name")
    if name == "records_consumed" and not departure.is_closed:
        for each in seen.body.get("partitions", ()):
            departure.consumed[each["topic"], each["partition"]] = int(each.get("maxOffset", -1)) + 1
    elif name == "partitions_assigned" or (name in ("partitions_revoked", "partitions_lost") and not departure.is_closed):
        # What is handed over while closing is still to be committed first. What is assigned anew is read from where the group had committed.
        for place in seen.partitions:
            departure.consumed.pop(place, None)
