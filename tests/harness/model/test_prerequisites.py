from __future__ import annotations

from typing import Any

import pytest

from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Step
from groupproof.harness.model.plan_builders import close, command, commit, pause, plan, reference_peer, resume, subject
from groupproof.harness.model.prerequisites import is_core, needs_of, needs_of_plan
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


@pytest.mark.parametrize(
    ("settings", "steps", "needs"),
    [
        ({}, (close("m0"), commit("a0")), set()),
        ({}, (commit("m0"),), {"commit"}),
        ({}, (commit("m0", mode="async"),), {"commit", "commit-async"}),
        ({}, (pause("m0"),), {"pause"}),
        ({}, (resume("m0"),), {"pause"}),
        ({}, (command("m0", "resubscribe"),), {"resubscribe"}),
        ({}, (close("m0", timeout_ms=0),), {"close-timeout"}),
        ({"pattern": "t.*"}, (), {"regex"}),
        ({"instance_id": "i"}, (), {"static"}),
        ({"assignors": ["range", "cooperative-sticky"]}, (), {"cooperative"}),
        ({"assignors": ["range"], "auto_commit": False}, (), set()),
        ({"auto_commit": True}, (), {"auto-commit"}),
        ({"on_revoked": {"sleep_ms": 5, "commit": False}}, (), {"on-revoked"}),
        ({"on_revoked": {"commit": True}}, (), {"on-revoked", "commit"}),
    ],
)
def test_what_a_shim_must_declare_is_read_from_what_a_plan_asks_of_its_subjects(
    settings: dict[str, Any], steps: tuple[Step, ...], needs: set[str]
) -> None:
    asked = plan(subject(**settings), reference_peer(pattern="t.*", instance_id="i", auto_commit=True), *steps)

    assert set(needs_of_plan(asked)) == {"classic", *needs}


def test_a_subject_needs_the_dialect_of_its_case() -> None:
    assert set(needs_of_plan(plan(subject(group_protocol="consumer"), subject("m1")))) == {"classic", "consumer"}
    assert set(needs_of_plan(plan(subject(group_protocol="consumer")))) == {"consumer"}
