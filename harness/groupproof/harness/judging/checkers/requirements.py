"""The requirements of the checkers of every case, and what a trace must hold for each of them to be judged. Pure.

The checkers return findings only where a rule is broken. This table alone says what they judged in a run without findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.classic.commit_membership import CommitsNameMembership
from groupproof.harness.judging.checkers.classic.frames import (
    GenerationsGiven,
    InstanceIdsStay,
    MemberIdsGiven,
    NothingAfterLeaving,
)
from groupproof.harness.judging.checkers.classic.generation_assignment import FollowersAssignNothing, LeadersAssignSoundly
from groupproof.harness.judging.checkers.consumer.consumer_commits import CommitsAreOfOwned
from groupproof.harness.judging.checkers.consumer.consumer_frames import (
    EpochsGiven,
    FetchesEndWithTheAcknowledgement,
    HeartbeatsNameTheirMember,
    JoinsAreWhole,
    OneHeartbeatAtATime,
    OwnedWereGiven,
)
from groupproof.harness.judging.checkers.consumer.consumer_hand_over import CallbacksEndBeforeAcknowledgements
from groupproof.harness.judging.checkers.consumer.consumer_reading import CallbacksNameAssigned, FetchesAreOfAssigned, RecordsEndWithTheCallback
from groupproof.harness.judging.checkers.consumer.consumer_storms import HeartbeatsDoNotStorm
from groupproof.harness.judging.checkers.frame_facts import instance_of
from groupproof.harness.judging.checkers.shared.commits import CommitOutcomesReported, CommitsAreOwn, CommitsWereDelivered
from groupproof.harness.judging.checkers.shared.fetches import FetchesStayWithOwners
from groupproof.harness.judging.checkers.shared.ownership import CallbacksTellAssignments, OwnersNeverOverlap, RecordsComeToOwners
from groupproof.harness.judging.checkers.shared.request_storms import RequestsDoNotStorm
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["SPEAKS_OF", "Shows"]

Shows = Callable[[Observation], bool]
"""Returns whether an observation gives a checker something to judge."""


def _request(*apis: Api) -> Shows:
    titles = frozenset(api.title for api in apis)
    return lambda obs: obs.kind == "request" and obs.api in titles


def _event(name: str) -> Shows:
    return lambda obs: obs.kind == "event" and obs.body.get("name") == name


def _names_instance(obs: Observation) -> bool:
    return obs.kind == "request" and instance_of(obs) is not None


_COMMIT: Final = _request(Api.OFFSET_COMMIT)
_SYNC: Final = _request(Api.SYNC_GROUP)
_FETCH: Final = _request(Api.FETCH)
_BEAT: Final = _request(Api.CONSUMER_GROUP_HEARTBEAT)


def _beat(shows: Shows) -> Shows:
    """Return a test for a heartbeat of KIP-848 that also passes `shows`."""
    return lambda obs: _BEAT(obs) and shows(obs)


SPEAKS_OF: Final[Mapping[Callable[[], Checker], Mapping[str, Shows]]] = {
    MemberIdsGiven: {
        "CLIENT-10": _request(Api.JOIN_GROUP),
        "CLIENT-11": _request(Api.SYNC_GROUP, Api.HEARTBEAT),
        "CLIENT-66": _COMMIT,
        "CLIENT-72": _request(Api.LEAVE_GROUP),
        "CLIENT-73": _request(Api.LEAVE_GROUP),
    },
    GenerationsGiven: {"CLIENT-11": _request(Api.SYNC_GROUP, Api.HEARTBEAT), "CLIENT-66": _COMMIT},
    CommitsNameMembership: {"CLIENT-66": _COMMIT},
    InstanceIdsStay: {"STATIC-10": _names_instance},
    NothingAfterLeaving: {"LEAVE-55": _request(Api.LEAVE_GROUP)},
    RequestsDoNotStorm: {
        "CLIENT-06": _request(Api.FIND_COORDINATOR),
        "CLIENT-75": _request(Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT),
    },
    LeadersAssignSoundly: {"ASSIGN-09": _SYNC, "CLIENT-12": _SYNC},
    FollowersAssignNothing: {"CLIENT-12": _SYNC},
    OwnersNeverOverlap: {"ASSIGN-09": _event("partitions_assigned")},
    RecordsComeToOwners: {"CLIENT-63": _event("records_consumed")},
    CallbacksTellAssignments: {"CLIENT-30": _event("partitions_assigned")},
    FetchesStayWithOwners: {"ASSIGN-09": _FETCH, "CLIENT-63": _FETCH},
    CommitOutcomesReported: {"CLIENT-69": _event("offsets_committed")},
    CommitsAreOwn: {"COMMIT-27": _COMMIT},
    CommitsWereDelivered: {"CLIENT-62": _COMMIT},
    EpochsGiven: {
        "CGI-18": _beat(lambda obs: (obs.member_epoch or 0) > 0),
        "CGP-04": _COMMIT,
        "CGV-11": _beat(lambda obs: (obs.member_epoch or 0) < 0),
        "CGP-15": _beat(lambda obs: (obs.member_epoch or 0) < 0),
        "CGP-17": _request(Api.TXN_OFFSET_COMMIT),
    },
    OwnedWereGiven: {"CGI-19": _beat(lambda obs: bool(obs.partitions))},
    OneHeartbeatAtATime: {"CGI-17": _BEAT},
    JoinsAreWhole: {"CGC-07": _beat(lambda obs: obs.member_epoch == 0)},
    HeartbeatsNameTheirMember: {"CGC-01": _BEAT},
    FetchesEndWithTheAcknowledgement: {"CGP-14": _FETCH},
    CallbacksEndBeforeAcknowledgements: {"CGT-06": _beat(lambda obs: obs.body.get("topic_partitions") is not None and (obs.member_epoch or 0) > 0)},
    RecordsEndWithTheCallback: {"CGP-13": _event("records_consumed"), "CGT-03": _event("records_consumed")},
    FetchesAreOfAssigned: {"CGT-03": _FETCH},
    CallbacksNameAssigned: {"CGT-03": _event("partitions_assigned")},
    CommitsAreOfOwned: {"COMMIT-27": _COMMIT},
    HeartbeatsDoNotStorm: {"CGC-24": _BEAT, "CLIENT-75": _BEAT},
}
