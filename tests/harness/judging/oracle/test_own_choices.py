from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, lost
from tests.harness.judging.oracle.target_questions import beat, described, group_of, question_of, topic_id

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator import Arrival
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.exchanges import Exchange
from groupproof.harness.judging.oracle.own_choices import OwnChoices
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Level

T = topic_id("t")


def _first(choice: str, number: int, ways: int) -> int:
    return 0


def _second(choice: str, number: int, ways: int) -> int:
    return 1


def _choices(exchanges: Sequence[Exchange], way: Callable[[str, int, int], int] = _first) -> OwnChoices:
    return OwnChoices(exchanges, way)


def _arrival(exchange: Exchange) -> Arrival:
    return Arrival(token=exchange.number, api_version=1, client_id="c", client_host="/h")


def _group(epoch: int = 2, *, is_due: bool = False) -> ConsumerGroup:
    group = group_of(topics={"t": 4}, names={"a": "t"}, last={}, instances={}, epoch=epoch)
    group.assignment_epoch = epoch - is_due
    return group


def _observed(choices: OwnChoices) -> list[tuple[str, Level]]:
    return [(deviation.requirement, deviation.level) for deviation in choices.deviations]


def test_kafkas_target_is_followed_without_a_finding_if_the_answers_follow_it() -> None:
    question = question_of(a="t", b="t")
    choices = _choices([described(1, 2, {name: " ".join(f"t{index}" for index in share[T]) for name, share in question.kafkas.items()})])

    assert choices.target(question) is question.kafkas
    assert choices.deviations == []


@pytest.mark.requirement("CGA-12")
def test_another_level_target_is_followed_and_noted_as_legal() -> None:
    question = question_of(a="t", b="t")
    choices = _choices([described(1, 2, {"a": "t1 t3", "b": "t0 t2"})])

    assert choices.target(question) == {"a": {T: (1, 3)}, "b": {T: (0, 2)}}
    assert _observed(choices) == [("CGA-12", Level.INFO)]


@pytest.mark.parametrize(("a", "b", "broken"), [("t0 t1", "t2", "CGA-04"), ("t0 t1 t2", "t2 t3", "CGI-11"), ("t0 t1 t2", "t3", "CGA-10")])
def test_an_illegal_target_is_not_followed_and_the_rule_is_named(a: str, b: str, broken: str) -> None:
    question = question_of(a="t", b="t")
    choices = _choices([described(1, 2, {"a": a, "b": b})])

    assert choices.target(question) is question.kafkas
    assert _observed(choices) == [(broken, Level.MUST)]


@pytest.mark.requirement("CGI-04")
@pytest.mark.parametrize(("epoch", "deviates"), [(3, False), (4, True), (12, True)])
def test_a_joining_member_shows_the_epoch_that_its_join_counted(epoch: int, deviates: bool) -> None:
    joined = beat(1, "b", epoch, "", asked_at=0)
    choices = _choices([joined])

    assert choices.group_epoch(_group(), _arrival(joined)) == epoch
    assert bool(choices.deviations) is deviates


def test_a_change_that_no_answer_tells_counts_as_much_as_the_last_one() -> None:
    joined, leaves = beat(1, "b", 4, "", asked_at=0), beat(2, "b", -1, None, asked_at=-1)
    choices = _choices([joined, leaves])
    choices.group_epoch(_group(2), _arrival(joined))
    choices.answered = {1}

    assert choices.group_epoch(_group(4), _arrival(leaves)) == 6


def test_an_epoch_is_shared_only_while_its_target_is_due() -> None:
    joined = beat(1, "b", 3, "", asked_at=0)

    assert _choices([joined]).group_epoch(_group(3, is_due=True), _arrival(joined)) == 3
    assert _choices([joined]).group_epoch(_group(3), _arrival(joined)) == 4


@pytest.mark.requirement("CGR-26", "CGM-03")
def test_a_member_at_the_last_targets_epoch_had_none_computed() -> None:
    joined = beat(1, "b", 2, "", asked_at=0)
    due = _group(3, is_due=True)
    new = _group(3, is_due=True)
    new.assignment_epoch = 0

    assert not _choices([joined]).computes_target(due, _arrival(joined), is_usual=True)
    assert _choices([joined], _second).computes_target(due, _arrival(joined), is_usual=True)
    assert _choices([joined]).computes_target(new, _arrival(joined), is_usual=True), "the first target of a group waits for nothing"


@pytest.mark.requirement("CGR-26")
def test_a_target_that_is_put_off_twice_is_later_than_it_should_be() -> None:
    joined = beat(1, "b", 2, "", asked_at=0)
    for due_before, requirement, level in ((False, "CGR-27", Level.INFO), (True, "CGR-26", Level.SHOULD)):
        choices = _choices([joined])
        choices.group_epoch(_group(3, is_due=due_before), _arrival(joined))
        choices.deviations.clear()
        choices.computes_target(_group(4, is_due=True), _arrival(joined), is_usual=True)

        assert [(deviation.requirement, deviation.level) for deviation in choices.deviations] == [(requirement, level)]


def test_a_description_tells_that_a_target_was_there_as_a_member_went() -> None:
    left, beaten = beat(1, "b", -1, None, asked_at=-1), beat(2, "a", 3, None)
    group = _group(3, is_due=True)

    for answers, computes in (
        ([described(3, 3, {"a": "t0"})], True),
        ([described(3, 2, {}, group_epoch=3)], False),
        ([beaten, described(3, 3, {"a": "t0"})], False),
        ([], False),
    ):
        assert _choices([left, *answers]).computes_target(group, _arrival(left), is_usual=False) is computes


@pytest.mark.requirement("CGR-32")
def test_an_empty_group_at_the_epoch_of_its_target_reports_no_target() -> None:
    left = beat(1, "b", -1, None, asked_at=-1)
    group = _group(3, is_due=True)

    assert not _choices([left, described(2, 3, {})]).computes_target(group, _arrival(left), is_usual=False)
    assert _choices([left, described(2, 3, {}, group_epoch=4)]).computes_target(group, _arrival(left), is_usual=False)


# Classic groups


def _verdicts_of(trace: Trace) -> list[tuple[str, Verdict]]:
    return [(finding.requirement, finding.verdict) for finding in findings_of(trace, profile="kafka-4.1", settings=SETTINGS)]


def _recording(variant: str, *clients: str) -> Recording:
    """Return a conversation in which the clients join, the first leaves with all others, and joins again."""
    recording = Recording(variant=variant_named(variant))
    recording.stable(*clients)
    for client in clients:
        recording.leave(client)
        recording.wait(5)
    recording.ids.clear()
    recording.stable(clients[0])
    recording.beat(clients[0], label="last beat")
    recording.wait(5)
    return recording


@pytest.mark.requirement("INV-04", "DJOIN-08", "DJOIN-09")
@pytest.mark.parametrize("clients", [("a",), ("a", "b")])
@pytest.mark.parametrize("variant", ["generations-by-two", "generations-from-0", "generations-of-members"])
def test_generations_of_the_brokers_own_are_reported_and_what_follows_is_judged(variant: str, clients: tuple[str, ...]) -> None:
    trace = _recording(variant, *clients).end()

    assert set(_verdicts_of(trace)) == {("INV-04", Verdict.INFORMATIONAL)}
    assert ("TR-118", Verdict.FAILED) in _verdicts_of(changed(trace, "last beat", bodied(error_code=25)))


@pytest.mark.requirement("INV-04")
@pytest.mark.parametrize("variant", ["generation-stays", "generation-falls", "generation-negative"])
def test_a_generation_that_does_not_grow_is_a_failure(variant: str) -> None:
    assert Verdict.FAILED in {verdict for _, verdict in _verdicts_of(_recording(variant, "a", "b").end())}


def test_members_of_one_generation_hear_one_number() -> None:
    recording = _recording("generations-by-two", "a")
    recording.joined("b", label="join b")
    recording.wait(5)
    recording.join("a", label="join a")
    recording.wait(5)
    trace = recording.end()

    assert set(_verdicts_of(trace)) == {("INV-04", Verdict.INFORMATIONAL)}
    assert ("TR-046", Verdict.FAILED) in _verdicts_of(changed(trace, "join b", bodied(generation_id=99)))


def test_a_generation_that_nobody_heard_of_has_the_number_of_a_later_answer() -> None:
    recording = Recording(variant=variant_named("generations-by-two"))
    recording.stable("a")
    recording.join("a", label="lost")
    recording.close("a")
    recording.wait(5)
    recording.join("a", label="again", over="a/2")
    recording.wait(5)
    trace = changed(recording.end(), "lost", lost)

    assert set(_verdicts_of(trace)) == {("INV-04", Verdict.INFORMATIONAL)}
    assert "TR-086" in dict(_verdicts_of(changed(trace, "again", bodied(generation_id=1))))


@pytest.mark.requirement("PEND-01", "TR-003", "TR-022")
def test_newcomers_who_are_admitted_at_once_are_one_finding_that_is_not_strict_and_what_follows_is_judged() -> None:
    trace = _recording("id-never-required", "a", "b").end()

    assert _verdicts_of(trace) == [("PEND-01", Verdict.NON_STRICT)]
    assert ("TR-118", Verdict.FAILED) in _verdicts_of(changed(trace, "last beat", bodied(error_code=25)))


@pytest.mark.requirement("PEND-01")
def test_another_answer_than_an_id_or_a_place_is_a_failure() -> None:
    recording = Recording()
    recording.join("a", label="join a")
    recording.wait(5)
    trace = recording.end()

    assert _verdicts_of(trace) == []
    assert _verdicts_of(changed(trace, "join a", bodied(error_code=25))) == [("TR-003", Verdict.FAILED)]
    assert _verdicts_of(changed(trace, "join a", bodied(member_id="")))[-1] == ("TR-003", Verdict.FAILED)


@pytest.mark.requirement("PEND-08", "PEND-09")
def test_a_pending_id_is_no_member_also_where_others_are_admitted_at_once() -> None:
    """A broker that admits one newcomer and hands another an id must not take that id for a member."""
    recording = Recording()
    recording.join("b", label="pending")
    recording.wait(5)
    recording.generations["b"] = 0
    recording.beat("b", label="beat")
    recording.wait(5)
    recording.join("a", label="at once", version=3)
    recording.wait(20)
    trace = [replace(obs, version=5) if obs.detail == "at once" else obs for obs in recording.end()]

    assert _verdicts_of(trace) == [("PEND-01", Verdict.NON_STRICT)]
    assert _verdicts_of(changed(trace, "beat", bodied(error_code=0)))[-1] == ("TR-027", Verdict.FAILED)
