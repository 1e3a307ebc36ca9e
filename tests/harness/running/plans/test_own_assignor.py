from __future__ import annotations

from groupproof.harness.model.plan import Member, Plan
from groupproof.harness.running.plans.own_assignor import own_assignor_of, with_assignor

PLAN = Plan(
    members=(Member(name="m0"), Member(name="a0", kind="reference"), Member(name="b0", kind="reference", settings={"assignors": ["range"]})), steps=()
)


def test_every_member_assigns_by_the_assignor_but_where_the_plan_names_one() -> None:
    changed = with_assignor(PLAN, "faust")

    assert [member.settings for member in changed.members] == [{"assignors": ["faust"]}, {"assignors": ["faust"]}, {"assignors": ["range"]}]
    assert [(member.name, member.kind) for member in changed.members] == [(member.name, member.kind) for member in PLAN.members]


def test_a_client_says_by_its_capabilities_that_it_has_an_assignor_of_its_own() -> None:
    assert own_assignor_of({"classic", "faust"}) == "faust"
    assert own_assignor_of({"classic", "static"}) is None
