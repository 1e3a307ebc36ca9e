from __future__ import annotations

from tests.harness.running.scripts.in_process import performed

from groupproof.harness.model.script import Ask, Pass, Script
from groupproof.harness.model.script_builders import describe, join, stable, sync
from groupproof.harness.running.fuzzing.histories.answer_contrast import contrast, labelled_answers, leveled, overlap
from groupproof.protocol.vocabulary import Api

STABLE = Script(steps=(*stable("a", "b"), describe("a")))


def test_two_runs_of_one_broker_say_the_same_though_ids_differ() -> None:
    assert contrast(performed(STABLE, seed=1), performed(STABLE, seed=2)) is None


def test_the_first_answer_that_differs_is_reported_by_both() -> None:
    found = contrast(performed(STABLE, profile="kafka-2.4"), performed(STABLE, profile="kafka-1.1"))

    assert found is not None
    assert found.label == "id a"
    assert found.first == "79 MEMBER_ID_REQUIRED"
    assert found.bodies[0]["code"] == 79
    assert found.second.startswith("0 ") or found.second == "not asked"


def test_ids_are_named_in_the_order_of_their_appearance() -> None:
    answers = dict(labelled_answers(performed(Script(steps=(join("a", wait=True, label="one"), join("b", wait=True, label="two"))))))

    assert [answers[label]["body"]["member_id"] for label in ("one", "two")] == ["id 1", "id 2"]


def test_what_was_not_answered_is_reported_as_such() -> None:
    answers = dict(labelled_answers(performed(Script(steps=(*stable("a", "b")[:-3], sync("b", wait=False, label="waits"))))))

    assert answers["waits"] == "no answer"


def test_requests_go_out_in_the_newest_version_that_both_speak() -> None:
    ranges = overlap({Api.JOIN_GROUP: (2, 9), Api.HEARTBEAT: (0, 1)}, {Api.JOIN_GROUP: (0, 5), Api.HEARTBEAT: (2, 4)})
    script = Script(steps=(join("a"), join("a", version=2), describe("a"), Pass(ms=1)))

    assert ranges == {Api.JOIN_GROUP: (2, 5)}
    assert [step.version for step in leveled(script, ranges).steps if isinstance(step, Ask)] == [5, 2, None]
