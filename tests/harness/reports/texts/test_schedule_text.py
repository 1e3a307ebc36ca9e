from __future__ import annotations

from groupproof.harness.model.plan import Member, Pass, Plan
from groupproof.harness.model.script import Pass as ScriptPass
from groupproof.harness.model.script import Script
from groupproof.harness.reports.texts.schedule_text import course_in_words, ground_in_words, setting_in_words

PLAN = Plan(members=(Member(name="m0"),), steps=(Pass(ms=5),), coordinator={"group.max.size": 3})
SCRIPT = Script(steps=(ScriptPass(ms=5),), settings={"group.max.size": 3})


def test_the_steps_of_either_side_are_sentences() -> None:
    assert course_in_words(PLAN) == course_in_words(SCRIPT) == ["Let 5 ms pass."]


def test_missing_parts_are_reported() -> None:
    assert setting_in_words(PLAN) == ["2 brokers; topics t (2 partitions), 20 records in each partition", "group.max.size = 3"]
    assert setting_in_words(SCRIPT) == ["1 broker; topics t (2 partitions)", "group.max.size = 3"]


def test_the_participants_are_a_plans_members_and_for_a_script_only_the_broker() -> None:
    assert ground_in_words(PLAN) == ["m0: the client under test"]
    assert ground_in_words(SCRIPT) == setting_in_words(SCRIPT)
