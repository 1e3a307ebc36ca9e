from __future__ import annotations

import pytest

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.case import plan_of
from groupproof.harness.model.plan import (
    Append,
    Await,
    BreakBroker,
    Command,
    GroupSettled,
    Grow,
    Impair,
    Matches,
    Member,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Stable,
    Step,
)
from groupproof.harness.reports.texts.plan_text import condition_in_words, fault_in_words, members_in_words, plan_in_words
from groupproof.protocol.faults import Action, Answer, Corrupt, Cut, Drop, Duplicate, Fault, Hold, Move, Reorder, Selector, Silence
from groupproof.protocol.toxics import down, latency, reset_peer


@pytest.mark.parametrize(
    ("action", "selector", "words"),
    [
        (Answer(error_code=27), Selector(api="Heartbeat"), "answers the next Heartbeat with 27 REBALANCE_IN_PROGRESS"),
        (Answer(error_code=999), Selector(api="JoinGroup", client="m0", count=3), "answers the next 3 JoinGroup of m0 with 999 UNKNOWN(999)"),
        (Answer(error_code=25), Selector(api="Heartbeat", direction="response", count=None), "replaces every answer to Heartbeat by 25 UNKNOWN_MEMBER_ID"),
        (Hold(ms=1_500), Selector(api="SyncGroup", nth=2), "holds number 2 of the next SyncGroup for 1.5 s"),
        (Hold(), Selector(api="JoinGroup", generation=3, role="leader"), "holds the next JoinGroup (generation 3, role leader)"),
        (Cut(), Selector(api="ConsumerGroupHeartbeat", member_epoch=-1), "cuts the connection at the next ConsumerGroupHeartbeat (member_epoch -1), unseen"),
        (Silence(), Selector(api="Heartbeat", count=None, nth=4), "lets the connection fall silent from every (from number 4 on) Heartbeat on"),
        (Cut(), Selector(api="OffsetCommit"), "cuts the connection at the next OffsetCommit, unseen"),
        (Cut(reset=True), Selector(api="SyncGroup", direction="response"),
         "resets the connection after the coordinator acted, before the next answer to SyncGroup leaves"),
        (Duplicate(), Selector(api="JoinGroup"), "lets the coordinator process the next JoinGroup twice"),
        (Drop(), Selector(api="SyncGroup", direction="response"), "swallows the next answer to SyncGroup"),
        (Corrupt(seed=3, bytes=2), Selector(api="SyncGroup"), "changes 2 bytes in the next SyncGroup (seed 3)"),
        (Reorder(ms=500), Selector(api="SyncGroup"), "keeps the next SyncGroup until such a one has passed on another connection, at most 500 ms"),
        (Move(to=1, parked="drop", state="lost"), Selector(api="Heartbeat"),
         "moves the coordinator to node 1 (connections of parked requests are closed, and the group's state is lost) before the next Heartbeat"),
        (Answer(error_code=0), Selector(api="JoinGroup", direction="response", error=79),
         "replaces the next answer to JoinGroup that says MEMBER_ID_REQUIRED by 0 NONE"),
        (Drop(), Selector(api="ConsumerGroupHeartbeat", direction="response", assigned=4, client="m0"),
         "swallows the next answer to ConsumerGroupHeartbeat that assigns 4 partitions of m0"),
    ],
)  # fmt: skip
def test_a_fault_says_what_it_does_to_which_frame(action: Action, selector: Selector, words: str) -> None:
    assert fault_in_words(Fault(name="f", selector=selector, action=action)) == words


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Stable(members=("m0", "a0"), after="moved"), "the group is stable with m0, a0 after 'moved'"),
        (GroupSettled(members=("m0", "m1"), topics={"t": 2}), "m0, m1 share all partitions, know it and heartbeat"),
        (Matches(kind_of="fault", fault="error"), "fault error is delivered"),
        (Matches(kind_of="fault", fault="error", where={"stage": "released"}), "fault error is released"),
        (Matches(kind_of="event", client="m0", event="records_consumed", count=2), "the application of m0 reports records_consumed 2 times"),
        (Matches(kind_of="request", api="JoinGroup", client="m0", after="error"), "m0 sends JoinGroup after 'error'"),
        (Matches(kind_of="response", api="Heartbeat", client="m0", error=27), "m0 is answered by 27 REBALANCE_IN_PROGRESS, to its Heartbeat"),
        (Matches(kind_of="transition", state_after="Empty"), "the group becomes Empty"),
        (Matches(kind_of="processed", api="LeaveGroup"), "the coordinator processes a member's LeaveGroup"),
    ],
)
def test_a_condition_says_what_is_waited_for(condition: Matches | Stable, words: str) -> None:
    assert condition_in_words(condition) == words


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Await(until=Stable(members=("m0",)), within_ms=9_000, go_on=True), "Wait until the group is stable with m0, at most 9 s and go on without."),
        (Command(member="m0", command="commit", fields={"mode": "sync"}, wait=False), "Tell m0 to commit, mode=sync, and don't wait for its answer."),
        (
            Impair(name="i", toxics=(latency(50, jitter_ms=5, stream="upstream"), reset_peer(9, toxicity=0.25)), members=("m0", "m1"), nodes=(1,)),
            "Impair the way between m0, m1 and broker 1 (i): 50 ms late, give or take 5 ms, to the broker; "
            "connections are reset after 9 ms, to the client, on 25% of the connections.",
        ),
        (Impair(name="i", toxics=(down(),)), "Impair the way between all members and all brokers (i): connections are cut and refused."),
        (BreakBroker(name="b", how="slow-disk", node=1), "Slow down the disk of broker 1 (b)."),
        (BreakBroker(name="b", how="kill"), "Kill the coordinator (b)."),
        (Mend(name="b"), "Mend b."),
        (MoveCoordinator(), "The kit moves the coordinator (parked requests are answered NOT_COORDINATOR)."),
        (Grow(topic="t", partitions=4), "Give topic t 4 partitions."),
        (Append(topic="t", partitions=4, records=5), "Append 5 records to each partition of t."),
        (Pass(ms=300), "Let 300 ms pass."),
    ],
)
def test_a_step_is_a_sentence(step: Step, words: str) -> None:
    assert plan_in_words(Plan(members=(), steps=(step,))) == [words]


def test_a_member_is_reported_with_what_is_unusual() -> None:
    members = (Member(name="m0", settings={"instance_id": "i0"}), Member(name="a0", kind="reference"))

    assert members_in_words(Plan(members=members, steps=())) == ["m0: the client under test, instance_id=i0", "a0: the kit's own member"]


def test_every_step_of_every_case_is_a_sentence() -> None:
    for case in CASES:
        words = plan_in_words(plan_of(case))
        assert len(words) == len(plan_of(case).steps)
        assert all(word[0].isupper() and word.endswith(".") and " object at " not in word for word in words)
