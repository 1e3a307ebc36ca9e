"""A trace's rebalances, group by group, each with its cause: the whole diagnosis. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from groupproof.harness.judging.diagnosis.cause_finder import Causes
from groupproof.harness.judging.diagnosis.consumer_group import consumer_rebalances
from groupproof.harness.judging.diagnosis.datalink_group import as_datalink
from groupproof.harness.judging.diagnosis.group_history import Course, follow_transition
from groupproof.harness.judging.diagnosis.member_history import Sign
from groupproof.harness.judging.diagnosis.rebalances import DATALINK, Rebalance
from groupproof.harness.judging.diagnosis.wire_history import WireCourse
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["rebalances_of"]

_OF_CLIENTS = frozenset({Api.FETCH.title, Api.METADATA.title})
_MEMBERSHIP = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT))


def rebalances_of(trace: Trace) -> list[Rebalance]:
    """Return the rebalances of every group in `trace`, in the order in which they began.

    Groups of the consumer protocol (KIP-848) have epochs for generations. Where the trace holds a classic group's transitions (the kit's own, or a broker's log) they say when; else the requests do.
    """
    told = {seen.group for seen in trace if _begins(seen)}
    followers = {seen.group: _Follower(seen.group, is_told=seen.group in told) for seen in trace if _names(seen, told) and seen.group is not None}
    by_client = _groups_by_client(trace)
    for seen in trace:
        for group in _concerned(seen, followers, by_client):
            followers[group].feed(seen)
    found = [each for follower in followers.values() for each in follower.finish()]
    found += consumer_rebalances(trace)
    return sorted(found, key=lambda each: (each.started_ms, each.start_seq))


def _begins(seen: Observation) -> bool:
    return seen.kind == "transition" and seen.state_after == GroupState.PREPARING_REBALANCE.value


def _names(seen: Observation, told: Collection[str | None]) -> bool:
    return seen.group in told or seen.api in _MEMBERSHIP


def _groups_by_client(trace: Trace) -> dict[str | None, set[str]]:
    groups: dict[str | None, set[str]] = {}
    for seen in trace:
        if seen.group is not None:
            groups.setdefault(seen.client, set()).add(seen.group)
    return groups


def _concerned(seen: Observation, followers: Collection[str], by_client: Mapping[str | None, set[str]]) -> Iterable[str]:
    """Return the groups that an observation may tell of: its own; of what names none, those of its client, or all of them."""
    if seen.group is not None:
        return (seen.group,) if seen.group in followers else ()
    if seen.api in _OF_CLIENTS:
        return by_client.get(seen.client, set()) & set(followers) if seen.client in by_client else ()
    return tuple(followers) if seen.kind == "event" and seen.who != "shim" else ()


class _Follower:
    """Follows one group through a trace."""

    def __init__(self, group: str, *, is_told: bool) -> None:
        self._course = Course(group)
        self._wire = None if is_told else WireCourse(self._course)
        self._reasons: dict[int, str] = {}
        self._has_requests = self._is_datalink = False

    def feed(self, seen: Observation) -> None:
        if "offsets_partition" not in seen.body or seen.group is not None or seen.body["offsets_partition"] == self._course.offsets_partition:
            self._feed(seen)

    def finish(self) -> list[Rebalance]:
        self._course.finish()
        Causes(self._course, self._reasons, has_requests=self._has_requests, is_wire=self._wire is not None).decide()
        return as_datalink(self._course.rebalances) if self._is_datalink else self._course.rebalances

    def _feed(self, seen: Observation) -> None:
        if seen.kind == "transition":
            self._reasons[seen.seq] = seen.detail or ""
            self._course.offsets_partition = seen.body.get("offsets_partition", self._course.offsets_partition)
            follow_transition(self._course, seen)
            return
        signs = [each for each in self._course.members.feed(seen) if self._concerns(each)]
        self._has_requests = self._has_requests or seen.api == Api.JOIN_GROUP.title
        self._is_datalink = self._is_datalink or seen.body.get("protocol_type") == DATALINK
        self._course.note(signs)
        if self._wire is not None:
            self._wire.feed(seen, signs)
        self._course.follow(seen)

    def _concerns(self, sign: Sign) -> bool:
        """Tell whether a change of topics is one that this group may have subscribed to: where that is known, only those are."""
        if sign.name != "topics":
            return True
        known = {topic for each in self._course.members.known.values() if each.subscription is not None for topic in each.subscription.topics}
        return sign.topic in known if known else sign.topic != "__consumer_offsets"
