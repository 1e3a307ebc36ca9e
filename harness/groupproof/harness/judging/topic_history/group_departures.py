"""Members that went, and those that came back: what commits say of why somebody went, and who is the same process as one that was lost. Pure.

No record says why a member went. Who leaves in good order commits before; who is silent for its whole session before it is gone has not said goodbye.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.logged_groups import LEFT_FOR_NOW, LoggedGroup, LoggedMember

__all__ = ["is_return", "last_commit_ms", "loss_of", "was_alive", "was_there"]

_RETURN_MS: Final = 1_800_000
"""So long after a member was lost, one of the same client id and host is the same process that came back."""


def loss_of(group: LoggedGroup, member: LoggedMember, end_ms: int) -> Cause:
    """Say why a member most likely went, by how long nobody had committed its partitions at `end_ms`.

    Who leaves in good order commits before. Who is stuck in processing does not commit for its max.poll.interval, which is its rebalance timeout, and then leaves.
    Whose partitions were never committed may have left as well as not. A static member that said that it is away for now, and did not come back, had its session ended.
    """
    if member.epoch == LEFT_FOR_NOW:
        return Cause.HEARTBEAT_TIMEOUT
    silent_ms = _silent_ms(group, member, end_ms)
    if silent_ms is None or not member.session_ms or silent_ms < _silence_of(member):
        return Cause.LEFT
    is_stuck = member.rebalance_ms is not None and member.session_ms < member.rebalance_ms <= silent_ms
    return Cause.POLL_INTERVAL if is_stuck else Cause.HEARTBEAT_TIMEOUT


def was_alive(group: LoggedGroup, member: LoggedMember, end_ms: int) -> bool:
    """Tell whether no session can have ended: that takes its whole length since the last heartbeat."""
    silent_ms = _silent_ms(group, member, end_ms)
    return member.epoch != LEFT_FOR_NOW and silent_ms is not None and member.session_ms is not None and silent_ms < _silence_of(member)


def is_return(group: LoggedGroup, member: LoggedMember, at_ms: int) -> bool:
    """Tell whether the group had lost the process that this member is, otherwise than by a leave in good order."""
    return _has_gone(group, member, at_ms, even_alive=False)


def was_there(group: LoggedGroup, member: LoggedMember, at_ms: int) -> bool:
    """Tell whether a process that this member may be was in the group and went, whatever for."""
    return _has_gone(group, member, at_ms, even_alive=True)


def _has_gone(group: LoggedGroup, member: LoggedMember, at_ms: int, *, even_alive: bool) -> bool:
    others = {other.identity for other in group.members.values() if other.member != member.member}
    return member.identity not in others and any(
        departure.member.identity == member.identity and at_ms - departure.at_ms <= _RETURN_MS and (even_alive or not departure.was_alive)
        for departure in group.departures
    )


def _silence_of(member: LoggedMember) -> int:
    """Return how long at least nothing was committed where the session has ended.

    A classic member's commit keeps its session alive. One of the newer protocols does not: since the last heartbeat before it at most a third of a session is over.
    """
    session_ms = member.session_ms or 0
    return session_ms * 2 // 3 if member.epoch else session_ms


def _silent_ms(group: LoggedGroup, member: LoggedMember, end_ms: int) -> int | None:
    """Return how long before `end_ms` the last commit of a member's partitions was; None where none of them was ever committed."""
    last_ms = last_commit_ms(group, member)
    return end_ms - last_ms if last_ms is not None else None


def last_commit_ms(group: LoggedGroup, member: LoggedMember) -> int | None:
    """Return when a partition was last committed that a member had then, in this membership, or when that began; None where nobody ever committed what it has."""
    times = [group.commits[partition].at_ms for partition in member.partitions if partition in group.commits]
    latest = [*times, member.since_ms] if times else []
    return max((*latest, member.committed_ms)) if member.committed_ms is not None else max(latest, default=None)
