"""A case of the toy dialect, and the checker that reads its trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tests.harness.toy_dialect.lease_dialect import LEASE, REQUIREMENT
from tests.harness.toy_dialect.lease_functions import SESSION_MS

from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, case, passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Ask, Group
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["LEASE_CASE", "one_holder_at_a_time"]


def one_holder_at_a_time(evidence: Evidence) -> Iterator[Finding]:
    """Find an epoch of the lease that two members were given."""
    holders: dict[int, str] = {}
    for answer in evidence.select("response", Api.SHARE_GROUP_HEARTBEAT):
        epoch = answer.member_epoch
        if epoch is None or epoch <= 0:
            continue
        holder = holders.setdefault(epoch, answer.member or "")
        if holder != answer.member:
            yield Finding(
                verdict=Verdict.FAILED, proof=Proof.SAFETY, requirement=REQUIREMENT, expected="One member holds the lease.",
                observed=f"{holder} and {answer.member} were both given epoch {epoch}.", seq=answer.seq,
            )  # fmt: skip


def _lease(member: str, epoch: int, code: int = ErrorCode.NONE, **options: Any) -> Ask:
    body: Mapping[str, Any] = {"group_id": Group(), "member_id": f"id-{member}", "member_epoch": epoch}
    return Ask(member=member, api=Api.SHARE_GROUP_HEARTBEAT, fields=body, code=code, label=f"lease {member} {epoch}", **options)


LEASE_CASE: Final[Case] = replace(
    case(
        "lease/one-holder",
        "lends the lease to one member at a time",
        (REQUIREMENT,),
        _lease("b", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        _lease("a", 0),
        _lease("b", 0, ErrorCode.FENCED_MEMBER_EPOCH),
        _lease("a", 1),
        passing(SESSION_MS + APART_MS),
        _lease("a", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        _lease("b", 0),
        _lease("b", -1),
        _lease("a", 0),
        dialect=LEASE,
    ),
    judges=(one_holder_at_a_time,),
)
