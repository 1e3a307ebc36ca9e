from __future__ import annotations

from typing import Any

import pytest
from tests.chaos.scenario_texts import is_met
from tests.epoch_traces import EpochStory
from tests.traces import Story, findings, verdict

from groupproof.chaos.scenarios.scenario import Expectation
from groupproof.chaos.scenarios.scenario_expectations import SIGHTS, faults_left_receipts, meets
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.plan import Arm, BreakBroker, Impair, Plan
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.faults import Cut, Fault, Selector
from groupproof.protocol.toxics import down
from groupproof.protocol.vocabulary import Api

MARKS = ("first", "second", "healed")


def holds(story: Story, sees: str, *clients: str, lasts_ms: int = 0, **fields: Any) -> bool:
    """Tell whether an expectation about m0, or these clients, holds in a story."""
    judge = meets(Expectation(says="It is so.", sees=sees, **fields), clients or ("m0",), MARKS, lasts_ms)
    return is_met(judge, Evidence(story.trace))


def two_phases() -> Story:
    """Tell of two phases: a heartbeat in each, the second one refused after a join that took two seconds, and records from offset 3 on."""
    story = Story().mark("first")
    story.at(1_000).beat()
    story.mark("second")
    parked = story.at(2_000).request(Api.JOIN_GROUP)
    story.at(4_000).answer(parked, generation=7)
    story.at(5_000).beat(error=25)
    story.partitions("revoked")
    story.partitions("lost", ("t", 0))
    story.consume(("t", 0, 3, 9))
    return story.at(9_000).mark("healed").end()


@pytest.mark.parametrize(
    ("sees", "fields", "expected"),
    [
        ("sent", {"api": "Heartbeat", "at_least": 2}, True),
        ("sent", {"api": "Heartbeat", "at_least": 3}, False),
        ("sent", {"api": "Heartbeat", "during": "first", "at_least": 2}, False),
        ("sent", {"api": "Heartbeat", "at_least": 0, "at_most": 1}, False),
        ("sent", {"api": "Heartbeat", "during": "second", "at_most": 1}, True),
        ("answered", {"api": "Heartbeat", "errors": (25,)}, True),
        ("answered", {"api": "Heartbeat", "errors": (25,), "during": "first"}, False),
        ("answered", {"errors": (25, 22)}, True),
        ("answered", {"errors": (22,)}, False),
        ("answered", {"api": "JoinGroup", "errors": (0,)}, True),
        ("told", {"event": "partitions_lost"}, True),
        ("told", {"event": "partitions_revoked"}, False),
        ("told", {"event": "records_consumed"}, True),
        ("parked", {"api": "JoinGroup", "lasts_ms": 2_000}, True),
        ("parked", {"api": "JoinGroup", "lasts_ms": 2_001}, False),
        ("silent", {"api": "Heartbeat", "during": "second", "lasts_ms": 4_000, "at_least": 2}, True),
        ("silent", {"api": "Heartbeat", "during": "second", "lasts_ms": 4_001}, False),
        ("unanswered", {"api": "JoinGroup", "during": "second", "lasts_ms": 5_000}, True),
        ("unanswered", {"api": "JoinGroup", "during": "second", "lasts_ms": 5_001}, False),
        ("read", {"offset": 3}, True),
        ("read", {"offset": 0}, False),
        ("generations", {"during": "second"}, True),
        ("generations", {"during": "first"}, False),
    ],
)
def test_what_is_seen_is_counted_in_its_phase(sees: str, fields: dict[str, Any], expected: bool) -> None:
    assert holds(two_phases(), sees, **fields) is expected


def test_every_sight_was_tried() -> None:
    assert set(SIGHTS) == {"sent", "answered", "told", "parked", "silent", "unanswered", "read", "generations", "epochs", "assigned-unled"}


def test_heartbeats_are_counted_by_their_epochs() -> None:
    story = EpochStory()
    story.mark("first")
    story.settled(epoch=4)
    story.hb(4, error=25)
    story.hb(0, gets=6, gives=())
    story.end()

    assert holds(story, "sent", api="ConsumerGroupHeartbeat", epoch=0, at_least=2, at_most=2)
    assert not holds(story, "sent", api="ConsumerGroupHeartbeat", epoch=-1)
    assert holds(story, "epochs", at_least=2, at_most=2)


@pytest.mark.parametrize(("leader", "assignments", "expected"), [("", ("some",), True), ("", (), False), ("m0-1", ("some",), False)])
def test_a_member_that_assigns_although_nobody_leads_is_found(leader: str, assignments: tuple[str, ...], expected: bool) -> None:
    story = Story().mark("first")
    asked = story.request(Api.JOIN_GROUP)
    story.answer(asked, generation=3, body={"leader": leader})
    story.request(Api.SYNC_GROUP, generation=3, body={"assignments": assignments})
    story.end()

    assert holds(story, "assigned-unled") is expected


def test_several_members_count_together_unless_each_has_to() -> None:
    story = Story().mark("first")
    story.beat("m0")
    story.end()

    assert holds(story, "sent", "m0", "m1", api="Heartbeat")
    assert not holds(story, "sent", "m0", "m1", api="Heartbeat", each=True)


def test_a_request_without_an_answer_is_parked_until_the_phase_ends() -> None:
    story = Story().mark("first")
    story.request(Api.SYNC_GROUP)
    story.at(3_000).mark("second")
    story.at(9_000).end()

    assert holds(story, "parked", api="SyncGroup", during="first", lasts_ms=3_000)
    assert not holds(story, "parked", api="SyncGroup", during="first", lasts_ms=3_001)


def test_a_scenario_without_effect_proves_nothing() -> None:
    judge = meets(Expectation(says="It dies.", sees="sent", api="LeaveGroup"), ("m0",), MARKS, 0)
    with pytest.raises(NotReached, match=r"It dies\. \(m0 0\)"):
        findings(judge, two_phases())


@pytest.mark.parametrize(
    ("requirement", "expected"), [("CLIENT-55", Verdict.FAILED), ("STATIC-16", Verdict.NON_STRICT), ("TUNE-04", Verdict.INFORMATIONAL)]
)
def test_a_rule_that_is_broken_is_as_severe_as_its_level(requirement: str, expected: Verdict) -> None:
    judge = meets(Expectation(says="It is so.", sees="sent", api="LeaveGroup", requirement=requirement), ("m0",), MARKS, 0)

    assert verdict(judge, two_phases()) is expected
    (found,) = findings(judge, two_phases())
    assert (found.requirement, found.expected, found.proof, found.detail) == (requirement, "It is so.", Proof.LIVENESS, "m0 0")


def test_a_rule_that_is_kept_is_said_to_be() -> None:
    judge = meets(Expectation(says="It is so.", sees="sent", api="Heartbeat", requirement="CLIENT-55"), ("m0",), MARKS, 0)
    assert [finding.verdict for finding in findings(judge, two_phases())] == [Verdict.OK]


FAULTS = Plan(
    members=(),
    steps=(
        Arm(fault=Fault(name="cut", selector=Selector(api="Heartbeat"), action=Cut())),
        Impair(name="down", toxics=(down(),)),
        BreakBroker(name="kill", how="kill"),
    ),
)


def test_a_fault_that_was_never_delivered_makes_the_run_prove_nothing() -> None:
    story = Story().fault("cut").fault("down").fault("kill", "armed", "triggered")

    with pytest.raises(NotReached, match="fault kill left no receipt"):
        findings(faults_left_receipts(FAULTS, frozenset()), story)
    assert findings(faults_left_receipts(FAULTS, frozenset({"kill"})), story) == []
    assert findings(faults_left_receipts(FAULTS, frozenset()), story.fault("kill", "delivered")) == []
