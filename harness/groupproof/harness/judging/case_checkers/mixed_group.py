"""A classic member inside a consumer group (KIP-848's migration): no member leads there, so none may assign."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.fields import truncation_of
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import subscription_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.vocabulary import Api

__all__ = ["assigns_nothing"]


@checker
def assigns_nothing(ev: Evidence, client: str, *, after: str, requirement: str = "CGG-29") -> Iterator[Finding]:
    """Judge that a client whose JoinGroup response names no leader syncs without assignments: the coordinator has already assigned.

    A client that is not accepted because its subscription cannot be read has failed by that.
    """
    claim = Claim(requirement=requirement, expected="The client sends a SyncGroup without assignments.")
    led = [obs for obs in ev.responses(Api.JOIN_GROUP, client, after, ev.closing) if not obs.error and not obs.body.get("leader")]
    if not led and (unreadable := _unreadable(ev, client, after)) is not None:
        yield unreadable
        return
    if not led:
        raise NotReached(f"{client} was let into no group of both protocols after {after}")
    syncs = ev.requests(Api.SYNC_GROUP, client, led[0].seq, ev.closing)
    wrong = next((obs for obs in syncs if obs.body.get("assignments")), None)
    if not syncs:
        yield claim.failed("It sent no SyncGroup.", led[0])
    else:
        yield claim.ok("It did.", syncs[0]) if wrong is None else claim.failed("It assigned.", wrong)


def _unreadable(ev: Evidence, client: str, after: str) -> Finding | None:
    """Return a finding on the subscription, which the coordinator must read here, where it cannot be read; else None."""
    claim = Claim(requirement="CGG-30", expected="The coordinator can read the subscription of a classic member.")
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    subscription = subscription_of(joins[-1]) if joins else None
    return claim.failed(truncation_of(subscription), joins[-1]) if subscription is not None and subscription.is_truncated else None
