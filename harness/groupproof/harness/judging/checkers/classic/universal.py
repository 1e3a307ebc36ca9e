"""The checkers of every case and of every live group: what is illegal or unsafe in any case, in the order of the judges."""

from __future__ import annotations

from collections.abc import Callable
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
from groupproof.harness.judging.checkers.shared.commits import CommitOutcomesReported, CommitsAreOwn, CommitsWereDelivered
from groupproof.harness.judging.checkers.shared.fetches import FetchesStayWithOwners
from groupproof.harness.judging.checkers.shared.ownership import CallbacksTellAssignments, OwnersNeverOverlap, RecordsComeToOwners
from groupproof.harness.judging.checkers.shared.request_storms import RequestsDoNotStorm

__all__ = ["UNIVERSAL_CHECKERS"]

UNIVERSAL_CHECKERS: Final[tuple[Callable[[], Checker], ...]] = (
    MemberIdsGiven,
    GenerationsGiven,
    CommitsNameMembership,
    InstanceIdsStay,
    NothingAfterLeaving,
    RequestsDoNotStorm,
    LeadersAssignSoundly,
    FollowersAssignNothing,
    OwnersNeverOverlap,
    RecordsComeToOwners,
    CallbacksTellAssignments,
    FetchesStayWithOwners,
    CommitOutcomesReported,
    CommitsAreOwn,
    CommitsWereDelivered,
)
