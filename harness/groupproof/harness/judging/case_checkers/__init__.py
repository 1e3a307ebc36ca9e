"""Judges: small pure functions over `Evidence`, and factories of them for the cases to name.

`UNIVERSAL` are run on every case: what is illegal or unsafe whatever the case is about. They return findings only where a rule is
broken; a case's own judges say OK, so that nothing judged is never a pass.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.case_checkers.commit_reactions import commits_are_own, commits_are_told_truly, commits_were_delivered
from groupproof.harness.judging.case_checkers.leader_assignment import followers_assign_nothing, leaders_assign_soundly
from groupproof.harness.judging.case_checkers.legal_frames import (
    commits_name_their_membership,
    generations_are_those_given,
    instance_ids_stay,
    member_ids_are_those_given,
    nothing_after_leaving,
    requests_do_not_storm,
)
from groupproof.harness.judging.case_checkers.partition_owner import (
    callbacks_tell_assignments,
    fetches_stay_with_owners,
    owners_never_overlap,
    records_come_to_owners_only,
)
from groupproof.harness.model.case import Judge

__all__ = ["UNIVERSAL"]

UNIVERSAL: Final[tuple[Judge, ...]] = (
    member_ids_are_those_given,
    generations_are_those_given,
    commits_name_their_membership,
    instance_ids_stay,
    nothing_after_leaving,
    requests_do_not_storm,
    leaders_assign_soundly,
    followers_assign_nothing,
    owners_never_overlap,
    records_come_to_owners_only,
    callbacks_tell_assignments,
    fetches_stay_with_owners,
    commits_are_told_truly,
    commits_are_own,
    commits_were_delivered,
)
