"""Members that left, and those that came back: why a member left by its commits, and which process is the same as a lost one. Pure.

No record says why a member left. A member with a clean close commits first. A member that was silent for its whole session did not close cleanly.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.logged_groups import LEFT_FOR_NOW, LoggedGroup, LoggedMember

__all__ = ["is_return", "last_commit_ms", "loss_of", "was_alive", "was_there"]

_RETURN_MS: Final = 1_800_000
"""Within this time (ms) after a loss, a member with the same client id and host is the same process that came back."""


def loss_of(group: LoggedGroup, member: LoggedMember, end_ms: int) -> Cause:
    """Return why a member most likely left, by the time without commits of its partitions until `end_ms`.

    A member with a clean close commits first. A member that is stuck in processing does not commit for its max.poll.interval, which is its
    rebalance timeout, and then leaves. If its partitions were never committed, LEFT is assumed. A static member that left for now and did not come
    back lost its session.
    """
    if member.epoch == LEFT_FOR_NOW:
        return Cause.HEARTBEAT_TIMEOUT
    silent_ms = _silent_ms(group, member, end_ms)
    if silent_ms is None or not member.session_ms or silent_ms < _silence_of(member):
        return Cause.LEFT
    is_stuck = member.rebalance_ms is not None and member.session_ms < member.rebalance_ms <= silent_ms
    return Cause.POLL_INTERVAL if is_stuck else Cause.HEARTBEAT_TIMEOUT


def was_alive(group: LoggedGroup, member: LoggedMember, end_ms: int) -> bool:
    """Return whether no session can have ended, because too little time has passed since the last heartbeat."""
    silent_ms = _silent_ms(group, member, end_ms)
    return member.epoch != LEFT_FOR_NOW and silent_ms is not None and member.session_ms is not None and silent_ms < _silence_of(member)


def is_return(group: LoggedGroup, member: LoggedMember, at_ms: int) -> bool:
    """Return whether this member is a process that the group had lost without a clean close."""
    return _has_gone(group, member, at_ms, even_alive=False)


def was_there(group: LoggedGroup, member: LoggedMember, at_ms: int) -> bool:
    """Return whether this member may be a process that was in the group and left, for any reason."""
    return _has_gone(group, member, at_ms, even_alive=True)


def _has_gone(group: LoggedGroup, member: LoggedMember, at_ms: int, *, even_alive: bool) -> bool:
    others = {other.identity for other in group.members.values() if other.member != member.member}
    return member.identity not in others and any(
        departure.member.identity == member.identity and at_ms - departure.at_ms <= _RETURN_MS and (even_alive or not departure.was_alive)
        for departure in group.departures
    )


def _silence_of(member: LoggedMember) -> int:
    """Return the minimum time (ms) without commits after which the session has ended.

    A classic member's commit keeps its session alive. In the newer protocols it does not; a third of a session at most has passed since the last
    heartbeat before it.
    """
    session_ms = member.session_ms or 0
    return session_ms * 2 // 3 if member.epoch else session_ms


def _silent_ms(group: LoggedGroup, member: LoggedMember, end_ms: int) -> int | None:
    """Return how long (ms) before `end_ms` the last commit of a member's partitions was. Return None where none was ever committed."""
    last_ms = last_commit_ms(group, member)
    return end_ms - last_ms if last_ms is not None else None


def last_commit_ms(group: LoggedGroup, member: LoggedMember) -> int | None:
    """Return when one of the member's partitions was last committed in this membership, or when that began. Return None where none was ever
    committed."""
    times = [group.commits[partition].at_ms for partition in member.partitions if partition in group.commits]
    latest = [*times, member.since_ms] if times else []
    return max((*latest, member.committed_ms)) if member.committed_ms is not None else max(latest, default=None)
