"""The checkers of classic groups. Pure."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.classic.classic_ground import may_be_of_unobserved_member
from groupproof.harness.judging.checkers.classic.invariants import GroupInvariants
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["CLASSIC_CHECKERS"]

_JOIN: Final = Api.JOIN_GROUP.title


def _transactions(story: Trace) -> str:
    return "offsets were committed in transactions, whose end is not seen" if any(obs.api == Api.TXN_OFFSET_COMMIT.title for obs in story) else ""


def _beginning(story: Trace) -> str:
    joined = _joined(story)
    first = joined[0].generation if joined else 1
    return "" if first == 1 else f"it was first seen in generation {first}"


def _strangers(story: Trace) -> str:
    ids = {obs.member for obs in story if obs.kind == "response" and obs.api == _JOIN}
    listed = {member["member_id"] for obs in _joined(story) for member in obs.body.get("members") or ()}
    return "members are in it that did not come through the tap" if listed - ids else ""


def _joined(story: Trace) -> list[Observation]:
    return [obs for obs in story if obs.kind == "response" and obs.api == _JOIN and not obs.error]


CLASSIC_CHECKERS: Final = DialectCheckers(
    dialect=CLASSIC,
    members=UNIVERSAL_CHECKERS,
    invariants=GroupInvariants,
    member_requirements=("CLIENT-10", "CLIENT-11", "CLIENT-12", "CLIENT-66", "ASSIGN-09", "LEAVE-55"),
    invariant_requirements=("INV-01", "INV-04", "INV-08", "INV-12", "JOIN-13", "ASSIGN-09", "COMMIT-06", "HB-11"),
    blind_spots=(_transactions, _beginning, _strangers),
    may_be_of_unobserved_member=may_be_of_unobserved_member,
)
