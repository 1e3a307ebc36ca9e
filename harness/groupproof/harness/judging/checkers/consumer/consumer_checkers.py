"""The checkers of consumer groups. Pure."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.consumer.consumer_commits import CommitsAreOfOwned
from groupproof.harness.judging.checkers.consumer.consumer_frames import (
    EpochsGiven,
    FetchesEndWithTheAcknowledgement,
    HeartbeatsNameTheirMember,
    JoinsAreWhole,
    OneHeartbeatAtATime,
    OwnedWereGiven,
)
from groupproof.harness.judging.checkers.consumer.consumer_ground import may_be_of_unobserved_member, unmet
from groupproof.harness.judging.checkers.consumer.consumer_hand_over import CallbacksEndBeforeAcknowledgements
from groupproof.harness.judging.checkers.consumer.consumer_invariants import ConsumerGroupInvariants
from groupproof.harness.judging.checkers.consumer.consumer_reading import CallbacksNameAssigned, FetchesAreOfAssigned, RecordsEndWithTheCallback
from groupproof.harness.judging.checkers.consumer.consumer_storms import HeartbeatsDoNotStorm
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.shared.commits import CommitOutcomesReported, CommitsWereDelivered
from groupproof.harness.judging.checkers.shared.request_storms import RequestsDoNotStorm
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

__all__ = ["CONSUMER_CHECKERS"]


CONSUMER_CHECKERS: Final = DialectCheckers(
    dialect=CONSUMER,
    members=(
        EpochsGiven,
        OwnedWereGiven,
        OneHeartbeatAtATime,
        JoinsAreWhole,
        HeartbeatsNameTheirMember,
        FetchesEndWithTheAcknowledgement,
        CallbacksEndBeforeAcknowledgements,
        RecordsEndWithTheCallback,
        FetchesAreOfAssigned,
        CallbacksNameAssigned,
        CommitsAreOfOwned,
        HeartbeatsDoNotStorm,
        # What is the same for every dialect:
        RequestsDoNotStorm,
        CommitOutcomesReported,
        CommitsWereDelivered,
    ),
    invariants=ConsumerGroupInvariants,
    member_requirements=(
        "CGI-18",
        "CGI-19",
        "CGI-17",
        "CGC-07",
        "CGC-01",
        "CGP-04",
        "CGV-11",
        "CGP-15",
        "CGP-14",
        "CGP-17",
        "CGT-06",
        "CGC-24",
        "CLIENT-06",
        "CLIENT-75",
    ),
    invariant_requirements=("CGI-03", "CGI-04", "CGI-05", "CGI-10", "CGI-11", "CGI-12", "CGI-13"),
    unmet=unmet,
    holds_of_coordinators=(ConsumerGroupInvariants,),
    may_be_of_unobserved_member=may_be_of_unobserved_member,
)
