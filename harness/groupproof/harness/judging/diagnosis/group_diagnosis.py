"""A trace's rebalances, group by group, each with its cause: the whole diagnosis. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from groupproof.harness.judging.diagnosis.cause_finder import Causes
from groupproof.harness.judging.diagnosis.datalink_group import as_datalink
from groupproof.harness.judging.diagnosis.epoch_changes import consumer_rebalances
from groupproof.harness.judging.diagnosis.group_history import GroupHistory, follow_transition
from groupproof.harness.judging.diagnosis.member_history import Sign
from groupproof.harness.judging.diagnosis.rebalances import DATALINK, Rebalance
from groupproof.harness.judging.diagnosis.wire_history import WireCourse
from groupproof.harness.judging.own_correlations import with_own_correlations
from groupproof.harness.judging.topic_history.explained_topic import topic_rebalances
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["rebalances_of"]

_OF_CLIENTS = frozenset({Api.FETCH.title, Api.METADATA.title})
_MEMBERSHIP = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT))


def rebalances_of(trace: Trace) -> list[Rebalance]:
    """Return the rebalances of every group in `trace`, in the order in which they began.

    Groups of the consumer protocol (KIP-848) have epochs as generations. The times come from a classic group's transitions where the trace has them
    (the kit's own, or a broker's log), else from its requests. Records of the offsets topic add their own rebalances.
    """
    trace = with_own_correlations(trace)
    groups = {obs.group for obs in trace if _begins(obs)}
    followers = {obs.group: _Follower(obs.group, is_told=obs.group in groups) for obs in trace if _names(obs, groups) and obs.group is not None}
    by_client = _groups_by_client(trace)
    for observation in trace:
        for group in _concerned(observation, followers, by_client):
            followers[group].feed(observation)
    found = [rebalance for follower in followers.values() for rebalance in follower.finish()]
    found += consumer_rebalances(trace) + topic_rebalances(trace)
    return sorted(found, key=lambda rebalance: (rebalance.started_ms, rebalance.start_seq))


def _begins(obs: Observation) -> bool:
    return obs.kind == "transition" and obs.state_after == GroupState.PREPARING_REBALANCE.value


def _names(obs: Observation, groups: Collection[str | None]) -> bool:
    return obs.group in groups or obs.api in _MEMBERSHIP


def _groups_by_client(trace: Trace) -> dict[str | None, set[str]]:
    groups: dict[str | None, set[str]] = {}
    for obs in trace:
        if obs.group is not None:
            groups.setdefault(obs.client, set()).add(obs.group)
    return groups


def _concerned(obs: Observation, followers: Collection[str], by_client: Mapping[str | None, set[str]]) -> Iterable[str]:
    """Return the groups that an observation may concern: its own group; without a group those of its client, or all."""
    if obs.group is not None:
        return (obs.group,) if obs.group in followers else ()
    if obs.api in _OF_CLIENTS:
        return by_client.get(obs.client, set()) & set(followers) if obs.client in by_client else ()
    return tuple(followers) if obs.kind == "event" and obs.who != "shim" else ()


class _Follower:
    """Follows one group through a trace."""

    def __init__(self, group: str, *, is_told: bool) -> None:
        self._course = GroupHistory(group)
        self._wire = None if is_told else WireCourse(self._course)
        self._reasons: dict[int, str] = {}
        self._has_requests = self._is_datalink = False

    def feed(self, obs: Observation) -> None:
        if "offsets_partition" not in obs.body or obs.group is not None or obs.body["offsets_partition"] == self._course.offsets_partition:
            self._feed(obs)

    def finish(self) -> list[Rebalance]:
        self._course.finish()
        Causes(self._course, self._reasons, has_requests=self._has_requests, is_wire=self._wire is not None).decide()
        return as_datalink(self._course.rebalances) if self._is_datalink else self._course.rebalances

    def _feed(self, obs: Observation) -> None:
        if obs.kind == "transition":
            self._reasons[obs.seq] = obs.detail or ""
            self._course.offsets_partition = obs.body.get("offsets_partition", self._course.offsets_partition)
            follow_transition(self._course, obs)
            return
        signs = [sign for sign in self._course.members.feed(obs) if self._concerns(sign)]
        self._has_requests = self._has_requests or obs.api == Api.JOIN_GROUP.title
        self._is_datalink = self._is_datalink or obs.body.get("protocol_type") == DATALINK
        self._course.note(signs)
        if self._wire is not None:
            self._wire.feed(obs, signs)
        self._course.follow(obs)

    def _concerns(self, sign: Sign) -> bool:
        """Return whether a topic change may concern this group. Where its subscription is known, only those topics do."""
        if sign.name != "topics":
            return True
        topics = {topic for entry in self._course.members.records.values() if entry.subscription is not None for topic in entry.subscription.topics}
        return sign.topic in topics if topics else sign.topic != "__consumer_offsets"
