from __future__ import annotations

from pathlib import Path

import pytest
from tests.project import ROOT

from groupproof.harness.cases.drawn_case import AREA, drawn_case, head_of, staying, with_healing
from groupproof.harness.model.plan import Heal, Mark, Mend, Plan, Thaw
from groupproof.harness.model.plan_builders import answers, breaks, close, command, freeze, heal, kill, mend, reference_peer, start, subject, thaw
from groupproof.harness.running.schedule_file import load_schedule
from groupproof.protocol.vocabulary import Api

FINDINGS = ROOT / "docs" / "findings"

STEPS = (
    *start("m0", "m1", "z0"),
    answers("f1", Api.HEARTBEAT, 27, client="m0"),
    answers("f2", Api.HEARTBEAT, 22, client="m0"),
    heal("f2"),
    command("m0", "pause", wait=False),
    command("m1", "pause", wait=False),
    command("m1", "resume", wait=False),
    close("m1", wait=False),
)
HEAD = Plan(members=(subject("m0"), subject("m1"), reference_peer("z0")), steps=STEPS)


def test_every_fault_is_healed_once_and_every_application_polls_again() -> None:
    plan = with_healing(HEAD)
    tail = plan.steps[len(STEPS) :]

    assert head_of(plan) == HEAD
    assert head_of(HEAD) == HEAD
    assert [step.fault for step in tail if isinstance(step, Heal)] == ["f1"]
    assert [step for step in tail if getattr(step, "command", "") == "resume"] == [command("m0", "resume", wait=False)]
    assert [step.name for step in tail if isinstance(step, Mark)] == ["healing", "healed", "calm"]


def test_those_stay_who_were_started_and_not_closed() -> None:
    assert staying(STEPS) == ["m0", "z0"]


def test_a_member_that_is_killed_stays_only_if_it_is_started_again() -> None:
    assert staying((*start("m0", "m1"), kill("m0"))) == ["m1"]
    assert staying((*start("m0", "m1"), kill("m0"), *start("m0"))) == ["m0", "m1"]


def test_broken_brokers_are_healed_and_frozen_members_thawed_and_a_restarted_member_is_not_polled_again() -> None:
    steps = (
        *start("m0", "m1"), breaks("b", "pause"), mend("b"), breaks("c", "kill"), freeze("m0"), thaw("m0"), freeze("m1"),
        command("m0", "pause", wait=False), kill("m0"), *start("m0"),
    )  # fmt: skip
    tail = with_healing(Plan(members=HEAD.members, steps=steps)).steps[len(steps) :]

    assert [step.name for step in tail if isinstance(step, Mend)] == ["c"]
    assert [step.member for step in tail if isinstance(step, Thaw)] == ["m1"]
    assert not [step for step in tail if getattr(step, "command", "") == "resume"]


def test_a_plan_that_kills_or_freezes_has_a_process_for_each_member() -> None:
    assert not drawn_case("1", HEAD).isolated
    assert drawn_case("1", Plan(members=HEAD.members, steps=(*STEPS, freeze("m0"), thaw("m0")))).isolated


def test_a_case_judges_each_member_under_test_that_stays() -> None:
    case = drawn_case("1-7", with_healing(HEAD))

    assert case.id == f"{AREA}/classic/1-7" == drawn_case(case.id, HEAD).id
    assert len(case.judges) == 4
    assert case.requirements


@pytest.mark.parametrize("file", sorted(FINDINGS.glob("*.json")), ids=lambda file: file.stem)
def test_a_schedule_of_a_finding_is_a_drawn_case_that_can_be_repeated(file: Path) -> None:
    schedule = load_schedule(file)
    case = schedule.as_case()

    assert isinstance(schedule.plan, Plan)
    assert case.plan == with_healing(head_of(schedule.plan)) == schedule.plan
    assert len(case.judges) > 3
    assert f"groupproof replay docs/findings/{file.name}" in file.with_suffix(".md").read_text("utf-8")
