"""How the toy dialect is read and checked where the kit does not drive its members: its reader of frames, a checker of members, an invariant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.harness.toy_dialect.lease_dialect import LEASE, REQUIREMENT, LeaseKind

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger, Membership
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["LEASE_CHECKERS", "LEASE_READER", "THE_LEASE"]

THE_LEASE: Final[TopicPartition] = ("lease", 0)
"""What the holder owns, in the tracker's words."""

_LEASE: Final = LeaseKind.LEASE.value


def _asked(ledger: MemberLedger, obs: Observation, client: str) -> None:
    if obs.member_epoch is not None and obs.member_epoch < 0:
        ledger.end(client)


def _answered(ledger: MemberLedger, obs: Observation, client: str) -> None:
    if obs.error:
        ledger.end(client)
    elif obs.member_epoch is not None and obs.member_epoch > 0:
        ledger.enter(client, Membership(obs.member or "", member_epoch=obs.member_epoch, owned=frozenset({THE_LEASE})))


class EpochsWereLent(Checker):
    """A member names no epoch that it was not given."""

    def __init__(self) -> None:
        self._lent: set[tuple[str | None, int | None]] = set()

    def step(self, obs: Observation) -> Iterator[Finding]:
        if obs.api != _LEASE or obs.member_epoch is None or obs.member_epoch <= 0:
            return
        if obs.kind == "response":
            self._lent.add((obs.client, obs.member_epoch))
        elif obs.kind == "request" and (obs.client, obs.member_epoch) not in self._lent:
            claim = Claim(requirement=REQUIREMENT, expected="A member names the epoch that it was given.")
            yield claim.failed("A member named an epoch that it was never given.", obs)

    def end(self) -> Iterator[Finding]:
        return iter(())


class OneHolderOfAnEpoch(Checker):
    """An epoch of the lease is given to one member."""

    def __init__(self) -> None:
        self._holders: dict[int, str | None] = {}

    def step(self, obs: Observation) -> Iterator[Finding]:
        if obs.kind != "response" or obs.api != _LEASE or obs.member_epoch is None or obs.member_epoch <= 0:
            return
        if self._holders.setdefault(obs.member_epoch, obs.member) != obs.member:
            claim = Claim(requirement=REQUIREMENT, expected="One member holds the lease.")
            yield claim.failed("An epoch of the lease was given to two members.", obs)

    def end(self) -> Iterator[Finding]:
        return iter(())


LEASE_READER: Final = FrameReader(
    dialect=LEASE, apis=frozenset({_LEASE}), membership=frozenset({_LEASE}), naming=frozenset({_LEASE}), asked=_asked, answered=_answered,
    is_join=lambda obs: obs.member_epoch == 0, is_leave=lambda obs: obs.member_epoch == -1, brings_id=lambda obs: obs.member_epoch == 0,
)  # fmt: skip

LEASE_CHECKERS: Final = DialectCheckers(
    dialect=LEASE, members=(EpochsWereLent,), invariants=OneHolderOfAnEpoch, member_requirements=(REQUIREMENT,), invariant_requirements=(REQUIREMENT,)
)
