from __future__ import annotations

import pytest
from tests.chaos.scenario_texts import carried_out, scenario

from groupproof.chaos.scenarios.scenario import RunMode
from groupproof.chaos.scenarios.scenario_case import compile_scenario
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.verdicts import Level, Verdict

CRASH = """
[[phase]]
name = "crash"
actions = [{ do = "kill", who = "one" }]
for = "past-session"
"""
NOTICED = """
[[expect]]
says = "The others rebalance."
sees = "generations"
who = "others"
each = true
during = "crash"
"""


def compiled(phases: str = CRASH, *, head: str = "", after: str = NOTICED, is_calm: bool = False, members: int | None = None) -> Case:
    return compile_scenario(scenario(phases, head=head, after=after), mode=RunMode.VIRTUAL, members=members, is_calm=is_calm)


def test_a_scenario_is_a_case_by_its_name_with_its_requirements() -> None:
    case = compiled()

    assert (case.id, case.title, case.requirements, case.level) == ("chaos/classic/a-crash", "A crash", ("TRIG-03",), Level.MUST)
    assert case.isolated
    assert len(plan_of(case).members) == 3
    assert len(plan_of(compiled(members=5)).members) == 5


@pytest.mark.parametrize(
    ("phases", "head", "needs"),
    [
        (CRASH, "", set()),
        ('[[phase]]\nname = "crash"\nactions = [{ do = "pause", who = "one" }]\n', "", {"pause"}),
        ('[[phase]]\nname = "crash"\nactions = [{ do = "commit", who = "one" }]\n', "", {"commit"}),
        (CRASH, 'settings = { instance_id = "i-{member}" }\n', {"static"}),
        (CRASH, 'settings = { assignors = ["cooperative-sticky"] }\n', {"cooperative"}),
        (CRASH, "settings = { on_revoked = { sleep_ms = 5 } }\n", {"on-revoked"}),
    ],
)
def test_what_a_client_must_be_able_to_do_follows_from_the_plan(phases: str, head: str, needs: set[str]) -> None:
    assert compiled(phases, head=head).needs == {"classic", *needs}


def test_a_scenario_whose_faults_act_and_heal_is_ok() -> None:
    _, judgement = carried_out(compiled())

    assert judgement.verdict is Verdict.OK
    assert [finding.requirement for finding in judgement.findings] == ["ASSIGN-09"]


def test_one_without_effect_proves_nothing() -> None:
    _, judgement = carried_out(compiled(is_calm=True))

    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "what the scenario brings about was not seen: The others rebalance. (m0 0, m2 0)" in judgement.reason


def test_a_fault_that_never_comes_proves_nothing_unless_it_is_optional() -> None:
    def judged(optional: str) -> Verdict:
        fault = f'faults = [{{ name = "never", kind = "cut", api = "LeaveGroup"{optional} }}]'
        return carried_out(compiled(f'{CRASH}[[phase]]\nname = "more"\n{fault}\n'))[1].verdict

    assert judged("") is Verdict.INCONCLUSIVE
    assert judged(", optional = true") is Verdict.OK


def test_a_group_that_does_not_settle_fails() -> None:
    killed_for_good = "[[phase]]\nname = 'crash'\nactions = [{ do = 'kill', who = 'one' }]\nfor = 'past-session'\n"
    never = 'members = "others"\n[durations]\nbound = { virtual = "1s", wire = "1s" }\n[settings_of.one]\nsession_timeout_ms = 100000\n'
    _, judgement = carried_out(compiled(killed_for_good, after=never))

    assert judgement.verdict is Verdict.FAILED
    assert [finding.observed for finding in judgement.findings if finding.verdict is Verdict.FAILED] == ["The group did not settle."]
    assert judgement.wants_repetition
