"""Whole rebalances: members join, leave and crash, subscriptions and topics change, and no partition has two owners."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import AMPLE_POLL_MS, case
from groupproof.harness.judging.case_checkers.fields import joins_when_topics_grow, subscribes_to, syncs_after_join
from groupproof.harness.judging.case_checkers.leader_assignment import assigns_everything, holds_partitions
from groupproof.harness.judging.case_checkers.partition_owner import revokes_before_joining
from groupproof.harness.judging.case_checkers.reactions import Identity, ignores_stale_refusal, recovers, rejoins, takes_up_its_work
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import (
    answered,
    answers,
    close,
    command,
    commit,
    consumed,
    delivered,
    grow,
    heal,
    holds,
    joined,
    kill,
    mark,
    passing,
    plan,
    reference_peer,
    requested,
    settled,
    stable,
    start,
    subject,
    tells_of_a_rebalance,
)
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["CASES"]

_MEMBERS: tuple[Case, ...] = (
    case(
        "rebalance/second-member",
        "Two members share the partitions, and none is ever in the hands of both.",
        ("ASSIGN-09", "CLIENT-62", "HB-58"),
        plan(
            subject("m0"),
            subject("m1"),
            *joined("m0"),
            consumed("m0", go_on=True),
            mark("newcomer"),
            *start("m1"),
            settled({"t": 4}, "m0", "m1", after="newcomer"),
            passing(2_500),
            topics={"t": 4},
        ),
        revokes_before_joining("m0", after="newcomer"),
        assigns_everything("m0", {"t": 4}, after="newcomer"),
        holds_partitions("m0", 2, after="newcomer", requirement="ASSIGN-09"),
        holds_partitions("m1", 2, after="newcomer", requirement="ASSIGN-09"),
        rejoins("m0", after="newcomer", requirement="HB-58", within_ms=18_000),
    ),
    case(
        "rebalance/member-closes",
        "When a member closes, its partitions go to the one that stays.",
        ("ASSIGN-11", "CLIENT-46"),
        plan(
            reference_peer(),
            subject("m0"),
            [*joined("a0", "m0"), mark("gone"), close("a0"), settled({"t": 4}, "m0", after="gone"), passing(300)],
            topics={"t": 4},
        ),
        rejoins("m0", after="gone", requirement="CLIENT-46"),
        holds_partitions("m0", 4, after="gone", requirement="ASSIGN-11"),
    ),
    case(
        "rebalance/member-crashes",
        "When a member is killed, its partitions go to the one that stays.",
        ("ASSIGN-11", "CLIENT-46"),
        plan(
            subject("m0", session_timeout_ms=1_500),
            subject("m1"),
            [*joined("m0", "m1"), mark("gone"), kill("m0"), settled({"t": 4}, "m1", after="gone"), passing(300)],
            topics={"t": 4},
        ),
        rejoins("m1", after="gone", requirement="CLIENT-46", beyond_session_of="m0"),
        holds_partitions("m1", 4, after="gone", requirement="ASSIGN-11"),
        isolated=True,
    ),
    case(
        "rebalance/more-members-than-partitions",
        "A member for which no partition is left stays in the group, and takes over when one is freed.",
        ("CLIENT-81", "ASSIGN-11"),
        plan(
            reference_peer(),
            subject("m0"),
            [*joined("a0", "m0", idle=["m0"]), passing(500), mark("gone"), close("a0"), settled({"t": 1}, "m0", after="gone"), passing(300)],
            topics={"t": 1},
        ),
        rejoins("m0", after="gone", requirement="CLIENT-81"),
        holds_partitions("m0", 1, after="gone", requirement="ASSIGN-11"),
    ),
    case(
        "rebalance/twice-in-a-row",
        "A member takes part in rebalance after rebalance as the member it is.",
        ("CLIENT-46", "HB-58"),
        plan(
            subject("m0"),
            reference_peer("a0"),
            reference_peer("z0"),
            *joined("m0"),
            mark("first"),
            *start("a0", "z0"),
            stable("m0", "a0", "z0", after="first"),
            mark("second"),
            close("a0"),
            settled({"t": 3}, "m0", "z0", after="second"),
            passing(2_500),
            topics={"t": 3},
        ),
        rejoins("m0", after="first", requirement="HB-58", within_ms=15_000),
        rejoins("m0", after="second", requirement="CLIENT-46"),
        syncs_after_join("m0", 6_000, after="first"),
    ),
)

_LATE: tuple[Case, ...] = tuple(
    case(
        f"rebalance/stale-commit-{name}",
        f"A commit of the old generation that is answered with {name.replace('-', ' ')} while the member joins spoils neither its id nor its generation.",
        ("CLIENT-11", "CLIENT-10", "CLIENT-64"),
        plan(
            subject(session_timeout_ms=9_000),
            *joined("m0"),
            passing(300),
            holds("slow", Api.JOIN_GROUP, ms=1_500, error=0),
            # Not a commit in the new generation, which a shim may send late: the state is that of the held JoinGroup.
            answers("refused", Api.OFFSET_COMMIT, code, state=GroupState.COMPLETING_REBALANCE.value),
            holds("slower", Api.SYNC_GROUP, ms=800, error=0),
            *tells_of_a_rebalance(),
            delivered("slow"),
            mark("commit"),
            commit("m0", ("t", 0, 5), mode="async", wait=False),
            stable("m0", after="slow", within_ms=14_500),
            heal("refused"),
            passing(500),
            *tells_of_a_rebalance(name="again", within_ms=14_000),  # a member that left a dead one behind is in the group again after its session
            stable("m0", after="again"),
            # It shows that a cooperative member has its assignment, even one without new partitions, of which the application gets no event.
            answered("m0", Api.HEARTBEAT, after="again", go_on=True),
        ),
        # One that drops its id waits until the session of its former one ends, 9.8 s with no pause of its own.
        recovers("m0", after="slow", requirement="CLIENT-11", within_ms=13_000),
        takes_up_its_work("m0", after="slow", requirement="CLIENT-11"),
        ignores_stale_refusal("m0", fault="refused", join="slow", before="again"),
        rejoins("m0", after="again", requirement="CLIENT-10"),
    )
    for name, code in (("unknown-member-id", ErrorCode.UNKNOWN_MEMBER_ID), ("illegal-generation", ErrorCode.ILLEGAL_GENERATION))
)

_CHANGES: tuple[Case, ...] = (
    case(
        "rebalance/resubscription",
        "A member whose application changes its subscription joins again with it.",
        ("CLIENT-74", "ASSIGN-10"),
        plan(
            subject(topics=["t", "u"], poll_timeout_ms=AMPLE_POLL_MS),
            [*joined("m0"), mark("change"), command("m0", "resubscribe", topics=["u"]), settled({"u": 3}, "m0", after="change"), passing(300)],
            topics={"t": 2, "u": 3},
        ),
        rejoins("m0", after="change", requirement="CLIENT-74", identity=Identity.EITHER),
        subscribes_to("m0", ("u",), after="change", requirement="CLIENT-74"),
        holds_partitions("m0", 3, after="change", requirement="ASSIGN-10"),
        takes_up_its_work("m0", after="change", requirement="CLIENT-30"),
    ),
    case(
        "rebalance/resubscription-slowly",
        "A member that joins again for another subscription takes its assignment up also when it comes some polls later.",
        ("CLIENT-74", "CLIENT-30"),
        plan(
            subject(topics=["t", "u"], session_timeout_ms=3_000),
            *joined("m0"),
            holds("slow", Api.SYNC_GROUP, ms=800, error=0, count=None),
            mark("change"),
            command("m0", "resubscribe", topics=["u"]),
            delivered("slow", go_on=True),
            stable("m0", after="slow", within_ms=4_500, go_on=True),
            passing(6_500),  # a leader without metadata of u joins once more, as slowly as before
            topics={"t": 2, "u": 3},
        ),
        subscribes_to("m0", ("u",), after="change", requirement="CLIENT-74"),
        takes_up_its_work("m0", after="slow", requirement="CLIENT-30"),
    ),
    case(
        "rebalance/topic-grows",
        "A leader that learns of new partitions joins again, so that somebody reads them.",
        ("CLIENT-74", "ASSIGN-09"),
        plan(
            subject(metadata_max_age_ms=1_000, poll_timeout_ms=AMPLE_POLL_MS),
            *joined("m0"),
            mark("grown"),
            grow("t", 4),
            requested("m0", Api.JOIN_GROUP, after="grown", go_on=True),
            stable("m0", after="grown", go_on=True),
            passing(300),
        ),
        joins_when_topics_grow("m0", "t", 4, after="grown"),
        assigns_everything("m0", {"t": 4}, after="grown"),
        takes_up_its_work("m0", after="grown", requirement="CLIENT-30"),
    ),
    case(
        "rebalance/topic-grows-slowly",
        "A leader that joins again for new partitions takes its assignment up also when it comes some polls later.",
        ("CLIENT-74", "CLIENT-30"),
        plan(
            subject(metadata_max_age_ms=1_000, session_timeout_ms=3_000),
            *joined("m0"),
            holds("slow", Api.SYNC_GROUP, ms=800, error=0),
            mark("grown"),
            grow("t", 4),
            delivered("slow", go_on=True),
            stable("m0", after="slow", within_ms=4_500, go_on=True),
            passing(500),
        ),
        joins_when_topics_grow("m0", "t", 4, after="grown"),
        assigns_everything("m0", {"t": 4}, after="grown"),
        takes_up_its_work("m0", after="slow", requirement="CLIENT-30"),
    ),
    case(
        "rebalance/follower-of-a-leader",
        "A follower rejoins when the leader's rebalance begins, and takes what it is given.",
        ("CLIENT-46", "CLIENT-12"),
        plan(
            reference_peer("a0"),
            subject("m0"),
            reference_peer("z0"),
            [*joined("a0", "m0"), mark("newcomer"), *start("z0"), settled({"t": 3}, "a0", "m0", "z0", after="newcomer"), passing(2_500)],
            topics={"t": 3},
        ),
        rejoins("m0", after="newcomer", requirement="CLIENT-46"),
        holds_partitions("m0", 1, after="newcomer", requirement="CLIENT-12"),
        revokes_before_joining("m0", after="newcomer"),
    ),
)

CASES: tuple[Case, ...] = (*_MEMBERS, *_LATE, *_CHANGES)
