"""A coordinator that moves, disappears or returns: the members keep their epochs and partitions (CGT-22 to CGT-24, CGC-06)."""

from __future__ import annotations

from groupproof.harness.cases.consumer.epoch_builders import BEAT, answered_commit, beaten, case, joined, plan, reconciled, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_commits import retries_commit
from groupproof.harness.judging.case_checkers.consumer.epoch_join import acknowledges
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import keeps_epoch, keeps_partitions
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import breaks, commit, mark, mend, move, moves, passing, start
from groupproof.protocol.vocabulary import Api

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case(
        "move/settled",
        "A settled member whose coordinator moves finds it, and keeps its epoch and its partitions.",
        ("CGT-22",),
        plan(
            subject(),
            [*joined("m0"), mark("moving"), move(), beaten("m0", after="moving", count=3, within_ms=12_000), passing(300)],
            session_ms=15_000,
        ),
        keeps_epoch("m0", after="moving", requirement="CGT-22"),
        keeps_partitions("m0", after="moving", requirement="CGT-22"),
    ),
    case(
        "move/there-and-back",
        "A member whose coordinator moves away and back again keeps its epoch and its partitions.",
        ("CGT-22",),
        plan(
            subject(),
            *joined("m0"),
            mark("moving"),
            move(),
            beaten("m0", after="moving", within_ms=12_000),
            move(),
            mark("back"),
            beaten("m0", after="back", count=2, within_ms=12_000),
            passing(300),
            session_ms=15_000,
        ),
        keeps_epoch("m0", after="moving", requirement="CGT-22"),
        keeps_partitions("m0", after="moving", requirement="CGT-22"),
    ),
    case(
        "move/at-acknowledgement",
        "A member whose coordinator moves as it acknowledges its assignment acknowledges it to the new one.",
        ("CGC-18", "CGT-22"),
        plan(
            subject(),
            [moves("moving", BEAT, nth=2), mark("begun"), *start("m0"), reconciled("m0", after="moving", go_on=True), passing(300)],
            session_ms=15_000,
        ),
        acknowledges("m0", within_ms=9_000, at_once_ms=6_000),
    ),
    case(
        "move/at-join",
        "A member whose coordinator moves as it joins joins at the new one.",
        ("CGT-22",),
        plan(
            subject(),
            [moves("moving", BEAT), mark("begun"), *start("m0"), reconciled("m0", after="moving", go_on=True), passing(300)],
            session_ms=15_000,
        ),
        acknowledges("m0", within_ms=9_000, at_once_ms=6_000),
    ),
    case(
        "move/at-commit",
        "A member whose coordinator moves as it commits commits at the new one, with its epoch.",
        ("CGP-08", "CGT-22"),
        plan(
            subject(),
            *joined("m0"),
            moves("moving", Api.OFFSET_COMMIT),
            commit("m0", wait=False, within_ms=20_000),
            *answered_commit("m0", after="moving"),
            session_ms=15_000,
        ),
        keeps_epoch("m0", after="moving", requirement="CGT-22"),
        retries_commit("m0", after="moving", requirement="CGP-08"),
    ),
    case(
        "move/broker-away",
        "A member whose coordinator is away for less than its session keeps its epoch and its partitions.",
        ("CGT-24", "CGC-06"),
        plan(
            subject(),
            *joined("m0"),
            mark("away"),
            breaks("broken", "kill"),
            passing(2_500),
            mend("broken"),
            mark("back"),
            beaten("m0", after="back", count=2, within_ms=15_000),
            passing(300),
            session_ms=30_000,
        ),
        keeps_epoch("m0", after="away", requirement="CGT-24", within_ms=9_000),
        keeps_partitions("m0", after="away", requirement="CGT-24"),
    ),
)
