from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed
from tests.power.coordinators import judgements

from groupproof.coordinator.machine.coordinator import Arrival
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.exchanges import Exchange, histories
from groupproof.harness.judging.oracle.recorded_choices import NEW_ID, RecordedChoices, is_usual
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest


def recorded() -> tuple[Exchange, ...]:
    recording = Recording()
    recording.stable("a", "b")
    return histories(recording.end())[0].exchanges


def _beat(answered_ms: float) -> Exchange:
    """Return a heartbeat of KIP-848's protocol that was taken up at 1,000 ms."""
    message: Any = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m")
    return replace(recorded()[0], api=Api.CONSUMER_GROUP_HEARTBEAT, message=message, ready_ms=1_000.0, answer={}, answered_ms=answered_ms)


def arrival(exchange: Exchange) -> Arrival:
    return Arrival(token=exchange.number, api_version=5, client_id=exchange.client, client_host="/127.0.0.1")


@pytest.mark.requirement("JOIN-03")
def test_a_member_gets_the_id_that_its_answer_tells_and_no_one_gets_it_again() -> None:
    exchanges = recorded()
    first = exchanges[0]
    choices = RecordedChoices(exchanges)
    text = choices.member_id("a", arrival(first))

    assert first.answer is not None
    assert text == first.answer["member_id"]
    assert choices.owners == {text: "a"}
    assert choices.member_id("a", arrival(first)).startswith(NEW_ID)


def test_the_next_leader_and_protocol_are_those_of_the_answers_to_come() -> None:
    exchanges = recorded()
    choices = RecordedChoices(exchanges)
    leader = next(str(exchange.answer["leader"]) for exchange in exchanges if exchange.answer and exchange.answer.get("leader"))

    assert choices.leader("g", ("x", leader)) == leader
    assert choices.leader("g", ("x", "y")) == "x"
    assert choices.protocol("g", ("roundrobin", "range")) == "range"
    choices.answered = {exchange.number for exchange in exchanges}
    assert choices.leader("g", ("x", leader)) == "x"
    assert choices.protocol("g", ("roundrobin", "range")) == "roundrobin"


def test_the_id_of_a_member_that_hung_up_is_read_in_the_leaders_list() -> None:
    recording = Recording()
    recording.join("a", version=3)
    recording.wait(5)
    recording.join("b", version=3, label="unseen")
    recording.wait(5)
    recording.join("a", version=3)
    recording.wait(5)
    unseen = recording.ids["b"]
    trace = [obs for obs in recording.end() if not (obs.kind == "response" and obs.detail == "unseen")]
    exchanges = histories(trace)[0].exchanges
    (exchange,) = [exchange for exchange in exchanges if exchange.label == "unseen"]

    assert RecordedChoices(exchanges).member_id("b", arrival(exchange)) == unseen


def test_the_id_of_a_leader_that_never_saw_its_own_is_read_in_a_followers_answer() -> None:
    recording = Recording()
    recording.stable("a", "b")
    exchanges = histories(recording.end())[0].exchanges
    leader = next(str(exchange.answer["leader"]) for exchange in reversed(exchanges) if exchange.answer and exchange.answer.get("leader"))
    follower = [exchange for exchange in exchanges if exchange.client == "b" and exchange.answer is not None]
    unseen = next(replace(exchange, answer=None, answered_ms=None) for exchange in exchanges if exchange.client == "a")

    assert RecordedChoices((unseen, *follower)).member_id("a", arrival(unseen)) == leader


def test_the_id_of_a_member_that_was_refused_in_the_end_is_read_where_it_was_listed() -> None:
    exchanges = recorded()
    refused = next(exchange for exchange in exchanges if exchange.api is Api.JOIN_GROUP and exchange.client == "b")
    listed = [exchange for exchange in exchanges if exchange.client == "a"]
    text = next(
        str(exchange.answer["member_id"]) for exchange in exchanges if exchange.client == "b" and exchange.answer and exchange.answer.get("member_id")
    )
    refusal = replace(refused, answer={"error_code": 25, "member_id": "", "leader": ""}, answered_ms=1_000.0)
    earlier = replace(refusal, answered_ms=0.0)

    assert RecordedChoices((refusal, *listed)).member_id("b", arrival(refusal)) == text
    assert RecordedChoices((earlier, *listed)).member_id("b", arrival(earlier)).startswith(NEW_ID)


def contested(code: int) -> tuple[Exchange, Exchange, list[Exchange], str]:
    """Return a JoinGroup of b that was never answered, one refused with `code` a moment later, all of a's, and the id that they tell of b."""
    exchanges = recorded()
    asked = next(exchange for exchange in exchanges if exchange.api is Api.JOIN_GROUP and exchange.client == "b")
    text = next(
        str(exchange.answer["member_id"]) for exchange in exchanges if exchange.client == "b" and exchange.answer and exchange.answer.get("member_id")
    )
    unanswered = replace(asked, answer=None, answered_ms=None, number=100)
    refused = replace(asked, answer={"error_code": code, "member_id": "", "leader": ""}, answered_ms=1_000.0, ready_ms=asked.ready_ms + 1, number=101)
    return unanswered, refused, [exchange for exchange in exchanges if exchange.client == "a"], text


def test_an_id_is_that_of_a_joingroup_that_was_never_answered_rather_than_of_one_refused_later() -> None:
    unanswered, refused, listed, text = contested(81)
    choices = RecordedChoices((unanswered, refused, *listed))

    assert choices.member_id("b", arrival(unanswered)) == text
    assert choices.member_id("b", arrival(refused)).startswith(NEW_ID)


@pytest.mark.requirement("CGD-01")
def test_the_id_of_a_classic_member_is_read_where_a_consumer_group_lists_it() -> None:
    unanswered, _, listed, text = contested(81)
    answer = {"groups": [{"group_id": "g", "members": [{"member_id": text}]}]}
    described = replace(unanswered, api=Api.CONSUMER_GROUP_DESCRIBE, answer=answer, answered_ms=2_000.0, number=102, seq=unanswered.seq + 1)
    beat = replace(_beat(2_000.0), answer={"error_code": 0, "member_id": text}, number=103)
    other = [exchange for exchange in listed if exchange.api is not Api.JOIN_GROUP]

    assert RecordedChoices((unanswered, described, *other)).member_id("b", arrival(unanswered)) == text
    assert RecordedChoices((unanswered, described, beat, *other)).member_id("b", arrival(unanswered)).startswith(NEW_ID)


def test_a_leader_that_no_join_tells_is_who_had_the_syncs_answered() -> None:
    exchanges = recorded()
    choices = RecordedChoices(exchanges)
    last = [exchange.answer for exchange in exchanges if exchange.answer and exchange.answer.get("leader")][-1]
    leader, follower = (str(member["member_id"]) for member in sorted(last["members"], key=lambda member: member["member_id"] != last["leader"]))
    choices.answered = {exchange.number for exchange in exchanges if exchange.api is Api.JOIN_GROUP}

    assert choices.leader("g", (leader, follower)) == choices.leader("g", (follower, leader)) == leader
    assert choices.leader("g", ("x", follower)) == follower
    choices.answered = {exchange.number for exchange in exchanges}
    assert choices.leader("g", (follower, leader)) == follower


@pytest.mark.parametrize(
    ("member_id", "usual"),
    [("app-0b5a7f9e-5f1c-4c3a-8f2b-3f1d2c4b5a69", True), ("app-1", False), ("other-0b5a7f9e-5f1c-4c3a-8f2b-3f1d2c4b5a69", False)],
)
def test_kafkas_form_of_an_id_is_known(member_id: str, usual: bool) -> None:
    assert is_usual(member_id, "app") is usual


def test_the_exchanges_that_count_are_joins() -> None:
    assert {exchange.api for exchange in recorded()} == {Api.JOIN_GROUP, Api.SYNC_GROUP}


def test_a_leader_that_was_chosen_and_gone_before_the_next_generation_is_one_that_it_does_not_list() -> None:
    exchanges = recorded()
    joined = [exchange for exchange in exchanges if exchange.api is Api.JOIN_GROUP and exchange.code == 0][-2:]
    later = {"leader": "new", "members": [{"member_id": "new"}, {"member_id": "old"}], "error_code": 0}
    choices = RecordedChoices([replace(exchange, answer={**(exchange.answer or {}), **later}) for exchange in joined])

    assert choices.leader("g", ("old", "gone")) == "gone"
    assert choices.leader("g", ("old", "new")) == "new"
    assert choices.leader("g", ("old",)) == "old"


def test_which_of_two_joingroups_owns_an_id_can_be_chosen_differently() -> None:
    unanswered, refused, listed, text = contested(25)
    ways: list[tuple[str, int, int]] = []

    def other(choice: str, number: int, of: int) -> int:
        ways.append((choice, number, of))
        return 1

    choices = RecordedChoices((unanswered, refused, *listed), other)

    assert choices.member_id("b", arrival(unanswered)).startswith(NEW_ID)
    assert choices.member_id("b", arrival(refused)) == text
    assert ways == [("owner", 100, 2), ("owner", 101, 2)]


@pytest.mark.parametrize(("now_ms", "is_over"), [(600, False), (1_000, True), (1_400, True), (1_401, True), (599, False)])
def test_a_pause_ends_when_it_is_due(now_ms: int, is_over: bool) -> None:
    assert RecordedChoices(()).is_over(1_000, now_ms) is is_over


@pytest.mark.parametrize(("answered_ms", "is_open"), [(1_500.0, False), (3_000.0, True)])
def test_of_a_broker_that_is_slow_to_answer_a_pause_may_begin_and_end_later(answered_ms: float, is_open: bool) -> None:
    ways: list[str] = []

    def second(choice: str, number: int, count: int) -> int:
        ways.append(choice)
        return 1

    RecordedChoices((_beat(answered_ms),), second).is_over(3_000, 4_000)
    assert ways == (["pause"] if is_open else [])


@pytest.mark.parametrize(("way", "assignor"), [(0, "range"), (1, "uniform")])
def test_of_assignors_that_are_level_each_is_tried(way: int, assignor: str) -> None:
    assert RecordedChoices((), lambda *_: way).assignor(("range", "uniform"), 7) == assignor


@pytest.mark.parametrize(("now_ms", "is_open"), [(999, True), (1_001, True), (600, True), (1_400, True), (1_000, True), (599, False), (1_401, False)])
def test_near_its_end_a_pause_may_be_over_or_not(now_ms: int, is_open: bool) -> None:
    ways: list[tuple[str, int, int]] = []

    def second(choice: str, number: int, count: int) -> int:
        ways.append((choice, number, count))
        return 1

    assert RecordedChoices((), second).is_over(1_000, now_ms) is ((now_ms >= 1_000) is not is_open)
    assert ways == ([("pause", now_ms, 2)] if is_open else [])


@pytest.mark.requirement("JOIN-32")
@pytest.mark.parametrize(
    ("case", "variant", "verdict"),
    [
        ("protocol/classic/most-votes", "protocol-without-vote", Verdict.INFORMATIONAL),
        ("protocol/classic/votes-of-the-possible", "protocol-without-vote", Verdict.INFORMATIONAL),
        ("protocol/classic/only-common", "protocol-without-vote", Verdict.OK),
        ("protocol/classic/only-common", "leaders-protocol", Verdict.FAILED),
    ],
)
def test_a_protocol_without_most_votes_is_followed_where_the_members_do_not_agree(case: str, variant: str, verdict: Verdict) -> None:
    judgement = judgements(variant, [item for item in CASES if item.id == case])[case]

    assert {finding.verdict for finding in judgement.findings} - {Verdict.OK} == {verdict} - {Verdict.OK}


@pytest.mark.requirement("JOIN-32")
def test_a_protocol_to_which_all_members_prefer_the_same_other_one_is_none() -> None:
    recording = Recording()
    recording.stable("a", "b", protocols=("range", "roundrobin"))
    trace = recording.end()
    for label in ("JoinGroup a", "JoinGroup b"):
        trace = changed(trace, label, bodied(protocol_name="roundrobin"))

    assert Verdict.FAILED in {finding.verdict for finding in findings_of(trace, profile="kafka-4.1", settings=SETTINGS)}
