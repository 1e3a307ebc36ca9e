from __future__ import annotations

from groupproof.harness.model.case import Case
from groupproof.harness.model.prerequisites import is_core, needs_of
from groupproof.harness.model.script import Ask, Script
from groupproof.harness.model.script_builders import beat, describe, stable
from groupproof.harness.model.verdicts import Level


def case(*steps: Ask, needs: frozenset[str] = frozenset()) -> Case:
    plan = Script(steps=steps)
    return Case(id="a/b/c", title="", requirements=(), level=Level.MUST, plan=plan, judges=(), needs=needs, side="coordinator")


def asks(*steps: object) -> tuple[Ask, ...]:
    return tuple(step for step in steps if isinstance(step, Ask))


def test_a_case_needs_what_it_names_and_what_its_script_insists_on() -> None:
    needs = needs_of(case(beat("a", version=3), needs=frozenset({"JoinGroup>=5"})))

    assert needs == {"JoinGroup>=5", "Heartbeat", "Heartbeat=3"}


def test_what_every_coordinator_can_take_is_core() -> None:
    assert is_core(case(*asks(*stable("a", "b"), beat("a"))))
    assert not is_core(case(beat("a", version=0)))
    assert not is_core(case(describe("a")))
    assert not is_core(case(beat("a"), needs=frozenset({"JoinGroup>=5"})))
