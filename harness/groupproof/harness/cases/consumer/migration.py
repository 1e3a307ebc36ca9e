"""Groups that change their protocol while they run, or between two runs (KIP-848, online migration; CGG-01 to CGG-78)."""

from __future__ import annotations

from groupproof.harness.cases.consumer.epoch_builders import INTERVAL_MS, case, consumed_each, joined, plan, reconciled, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_commits import reads_on_from
from groupproof.harness.judging.case_checkers.consumer.epoch_join import acknowledges, joins_in_full
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import keeps_epoch
from groupproof.harness.judging.case_checkers.mixed_group import assigns_nothing
from groupproof.harness.judging.case_checkers.reactions import rejoins, takes_up_its_work
from groupproof.harness.model import plan_builders
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Member, Step
from groupproof.harness.model.plan_builders import close, commit, consumed, event, mark, passing, requested, start
from groupproof.protocol.vocabulary import Api

__all__ = ["CASES"]

_FOUR = {"t": 4}
_TEN = (("t", 0, 10), ("t", 1, 10))
_NAMED = {("t", 0): 10, ("t", 1): 10}
_WAIT_MS = 15_000


def _classic(name: str = "m0") -> Member:
    """Return a member of the classic protocol, with range, which the brokers have too."""
    return plan_builders.subject(name, assignors=["range"])


def _mixed() -> list[Step]:
    """Return the steps in which a member of the consumer protocol joins a classic group."""
    return [
        *plan_builders.joined("m0"),
        mark("newcomer"),
        *start("m1"),
        requested("m0", Api.JOIN_GROUP, after="newcomer", within_ms=_WAIT_MS, go_on=True),
        consumed("m1", after="newcomer", within_ms=_WAIT_MS, go_on=True),
        event("m0", "partitions_assigned", after="newcomer", within_ms=_WAIT_MS, go_on=True),
        passing(4 * INTERVAL_MS),
    ]


CASES: tuple[Case, ...] = (
    case(
        "migration/upgrade",
        "A classic member stays in its group when a member of the consumer protocol comes, and both have their part.",
        ("CGG-29", "CGG-70"),
        plan(_classic(), subject("m1"), _mixed(), topics=_FOUR, session_ms=15_000),
        rejoins("m0", after="newcomer", requirement="CGG-29", within_ms=12_000),
        assigns_nothing("m0", after="newcomer", requirement="CGG-70"),
        takes_up_its_work("m0", after="newcomer", requirement="CGG-29"),
        joins_in_full("m1"),
        acknowledges("m1", after="newcomer"),
    ),
    case(
        "migration/downgrade",
        "A classic member has all partitions again when the last member of the consumer protocol leaves.",
        ("CGG-29",),
        plan(
            _classic(),
            subject("m1"),
            *_mixed(),
            mark("closing"),
            close("m1"),
            plan_builders.stable("m0", after="closing", within_ms=_WAIT_MS, go_on=True),
            passing(1_000),
            topics=_FOUR,
            session_ms=15_000,
        ),
        rejoins("m0", after="closing", requirement="CGG-29", within_ms=12_000),
        takes_up_its_work("m0", after="closing", requirement="CGG-29"),
    ),
    case(
        "migration/classic-newcomer",
        "A member of the consumer protocol gives up its part when a classic member comes.",
        ("CGT-07", "CGC-28"),
        plan(
            _classic("m1"),
            subject(),
            *joined("m0", topics=_FOUR),
            mark("newcomer"),
            *start("m1"),
            consumed("m1", after="newcomer", within_ms=_WAIT_MS, go_on=True),
            passing(6_000),
            topics=_FOUR,
            session_ms=15_000,
        ),
        keeps_epoch("m0", after="newcomer", requirement="CGC-28", within_ms=3_000),
        acknowledges("m0", after="newcomer", requirement="CGT-07"),
        assigns_nothing("m1", after="newcomer"),
    ),
    case(
        "migration/offsets-forward",
        "A member of the consumer protocol goes on where a classic group of the same name has committed.",
        ("CGP-11", "CGP-10"),
        plan(
            _classic(),
            subject("m1"),
            *plan_builders.joined("m0"),
            commit("m0", *_TEN),
            close("m0"),
            mark("back"),
            *start("m1"),
            reconciled("m1", after="back", go_on=True),
            *consumed_each("m1", 0, 1, after="back"),
            passing(1_000),
        ),
        reads_on_from("m1", after="back", positions=_NAMED),
    ),
    case(
        "migration/offsets-back",
        "A classic member goes on where a consumer group of the same name has committed.",
        ("CGP-11", "CGP-10"),
        plan(
            subject(),
            _classic("m1"),
            *joined("m0"),
            commit("m0", *_TEN),
            close("m0"),
            mark("back"),
            *start("m1"),
            *consumed_each("m1", 0, 1, after="back", within_ms=_WAIT_MS),
            passing(2_000),
        ),
        reads_on_from("m1", after="back", positions=_NAMED),
    ),
)
