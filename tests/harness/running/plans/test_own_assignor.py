from __future__ import annotations

from groupproof.harness.model.plan import Member, Plan
from groupproof.harness.running.plans.own_assignor import with_own_assignor

PLAN = Plan(
    members=(Member(name="m0"), Member(name="a0", kind="reference"), Member(name="b0", kind="reference", settings={"assignors": ["range"]})), steps=()
)


def test_every_member_assigns_by_the_subjects_own_assignor_but_where_the_plan_names_one() -> None:
    changed = with_own_assignor(PLAN, {"classic", "faust"})

    assert [member.settings for member in changed.members] == [{"assignors": ["faust"]}, {"assignors": ["faust"]}, {"assignors": ["range"]}]
    assert [(member.name, member.kind) for member in changed.members] == [(member.name, member.kind) for member in PLAN.members]


def test_a_plan_stays_as_it_is_for_any_other_client() -> None:
    assert with_own_assignor(PLAN, {"classic", "static"}) is PLAN
