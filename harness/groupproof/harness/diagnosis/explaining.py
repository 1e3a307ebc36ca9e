"""A trace's rebalances, group by group, each with its cause: the whole diagnosis. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from groupproof.harness.diagnosis.causing import Causes
from groupproof.harness.diagnosis.course import Course, follow_transition
from groupproof.harness.diagnosis.membership import Sign
from groupproof.harness.diagnosis.rebalances import Rebalance
from groupproof.harness.diagnosis.wire_course import WireCourse
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["rebalances_of"]

_MEMBERSHIP = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT))


def rebalances_of(trace: Trace) -> list[Rebalance]:
    """Return the rebalances of every group in `trace`, in the order in which they began.

    Where the trace holds a group's transitions (the kit's own, or a broker's log) they say when; else the requests do.
    """
    told = {seen.group for seen in trace if _begins(seen)}
    groups = list(dict.fromkeys(seen.group for seen in trace if seen.group is not None and (seen.group in told or seen.api in _MEMBERSHIP)))
    found = [each for group in groups for each in _Follower(group, is_told=group in told).follow(trace)]
    return sorted(found, key=lambda each: (each.started_ms, each.start_seq))


def _begins(seen: Observation) -> bool:
    return seen.kind == "transition" and seen.state_after == GroupState.PREPARING_REBALANCE.value


class _Follower:
    """Follows one group through a trace."""

    def __init__(self, group: str, *, is_told: bool) -> None:
        self._course = Course(group)
        self._wire = None if is_told else WireCourse(self._course)
        self._reasons: dict[int, str] = {}
        self._has_requests = False

    def follow(self, trace: Iterable[Observation]) -> list[Rebalance]:
        for seen in trace:
            if seen.group == self._course.group or (seen.group is None and self._is_of_all(seen)):
                self._feed(seen)
        self._course.finish()
        Causes(self._course, self._reasons, has_requests=self._has_requests, is_wire=self._wire is not None).decide()
        return self._course.rebalances

    def _is_of_all(self, seen: Observation) -> bool:
        if seen.kind == "event" and "offsets_partition" in seen.body:
            return bool(seen.body["offsets_partition"] == self._course.offsets_partition)
        return seen.api in (Api.FETCH.title, Api.METADATA.title) or (seen.kind == "event" and seen.who != "shim")

    def _feed(self, seen: Observation) -> None:
        if seen.kind == "transition":
            self._reasons[seen.seq] = seen.detail or ""
            self._course.offsets_partition = seen.body.get("offsets_partition", self._course.offsets_partition)
            follow_transition(self._course, seen)
            return
        signs = [each for each in self._course.members.feed(seen) if self._concerns(each)]
        self._has_requests = self._has_requests or seen.api == Api.JOIN_GROUP.title
        self._course.note(signs)
        if self._wire is not None:
            self._wire.feed(seen, signs)
        self._course.follow(seen)

    def _concerns(self, sign: Sign) -> bool:
        """Tell whether a change of topics is one that this group may have subscribed to: where that is known, only those are."""
        known = {topic for each in self._course.members.known.values() if each.subscription is not None for topic in each.subscription.topics}
        return sign.name != "topics" or sign.topic in known or (not known and sign.topic != "__consumer_offsets")
