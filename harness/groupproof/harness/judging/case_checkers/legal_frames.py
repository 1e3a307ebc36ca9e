"""Which frames are legal whatever the case: member ids, generations and instance ids that this client was really given.

Universal: run on every case. They return findings only for what breaks a rule; each is a fold (`folds.frames`) run over the evidence.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.frames import (
    CommitsNameMembership,
    GenerationsGiven,
    InstanceIdsStay,
    MemberIdsGiven,
    NothingAfterLeaving,
    RequestsDoNotStorm,
)
from groupproof.harness.model.case import Judge

__all__ = [
    "commits_name_their_membership", "generations_are_those_given", "instance_ids_stay", "member_ids_are_those_given", "nothing_after_leaving",
    "requests_do_not_storm",
]  # fmt: skip

member_ids_are_those_given: Final[Judge] = folded(MemberIdsGiven)
generations_are_those_given: Final[Judge] = folded(GenerationsGiven)
commits_name_their_membership: Final[Judge] = folded(CommitsNameMembership)
nothing_after_leaving: Final[Judge] = folded(NothingAfterLeaving)
instance_ids_stay: Final[Judge] = folded(InstanceIdsStay)
requests_do_not_storm: Final[Judge] = folded(RequestsDoNotStorm)
