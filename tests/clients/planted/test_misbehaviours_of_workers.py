from __future__ import annotations

from typing import get_args, get_type_hints

from groupproof.clients.member.policy import Policy
from groupproof.clients.planted.member_variants import VARIANTS
from groupproof.clients.planted.misbehaviours_of_workers import WORKERS
from groupproof.protocol.rules.requirements import by_id


def test_every_choice_of_a_worker_but_the_references_is_a_named_bug() -> None:
    choices = set(get_args(get_type_hints(Policy)["connect"]))

    assert Policy(connect="reference") == Policy()
    assert {variant.policy.connect for variant in WORKERS} == choices - {"reference"}


def test_a_workers_bug_breaks_existing_requirements_and_is_available_by_name() -> None:
    for variant in WORKERS:
        assert [by_id(requirement).id for requirement in variant.breaks] == list(variant.breaks)
        assert variant.breaks
        assert VARIANTS[variant.name] is variant
