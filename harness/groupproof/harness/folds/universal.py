"""The folds of every case and of every group seen live: what is illegal or unsafe whatever anybody is about, in the order of the judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupproof.harness.folds.assignment import FollowersAssignNothing, LeadersAssignSoundly
from groupproof.harness.folds.commits import CommitsAreOwn, CommitsAreTold, CommitsWereDelivered
from groupproof.harness.folds.fetching import FetchesStayWithOwners
from groupproof.harness.folds.fold import Fold
from groupproof.harness.folds.frames import (
    CommitsNameMembership,
    GenerationsGiven,
    InstanceIdsStay,
    MemberIdsGiven,
    NothingAfterLeaving,
    RequestsDoNotStorm,
)
from groupproof.harness.folds.ownership import CallbacksTellAssignments, OwnersNeverOverlap, RecordsComeToOwners

__all__ = ["UNIVERSAL_FOLDS"]

UNIVERSAL_FOLDS: Final[tuple[Callable[[], Fold], ...]] = (
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
    CommitsAreTold,
    CommitsAreOwn,
    CommitsWereDelivered,
)
