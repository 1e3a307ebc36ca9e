from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.plan import Await, Member, Pass, Plan, Stable, Start
from groupproof.harness.model.plan_builders import holds, subject
from groupproof.harness.model.script import Ask, Script
from groupproof.harness.model.script import Pass as ScriptPass
from groupproof.protocol.vocabulary import Api

JOIN = Plan(members=(Member(name="m0"),), steps=(Start(member="m0"), Await(until=Stable(members=("m0",)))))


def case(plan: Plan | Script = JOIN) -> Case:
    return replace(CASES[0], plan=plan)


@pytest.mark.parametrize(
    "longer",
    [
        Plan(members=JOIN.members, steps=(*JOIN.steps, Pass(ms=5_000))),
        Plan(members=JOIN.members, steps=(*JOIN.steps, holds("slow", Api.SYNC_GROUP, ms=5_000))),
        Plan(members=(subject(on_revoked={"sleep_ms": 5_000, "commit": False}),), steps=JOIN.steps),
    ],
)
def test_a_case_is_as_long_as_what_it_lets_pass(longer: Plan) -> None:
    assert length_ms(case(longer)) - length_ms(case()) == 5_000


def test_a_script_is_as_long_as_what_it_lets_pass_and_a_little_for_each_request() -> None:
    asked = Script(steps=(Ask(member="m0", api=Api.HEARTBEAT, fields={}),))

    assert length_ms(case(asked)) == 50
    assert length_ms(case(Script(steps=(*asked.steps, ScriptPass(ms=5_000))))) == 5_050
