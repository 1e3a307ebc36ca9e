from __future__ import annotations

from typing import get_args, get_type_hints

from groupproof.clients.member.policy import Policy
from groupproof.clients.planted.member_variants import VARIANTS
from groupproof.clients.planted.misbehaviours_of_threads import THREADS
from groupproof.protocol.rules.requirements import by_id


def test_every_choice_of_a_thread_but_the_references_is_a_named_bug() -> None:
    choices = set(get_args(get_type_hints(Policy)["streams"]))

    assert Policy(streams="reference") == Policy()
    assert {variant.policy.streams for variant in THREADS} == choices


def test_a_threads_bug_breaks_existing_requirements_and_is_available_by_name() -> None:
    for variant in THREADS:
        assert [by_id(requirement).id for requirement in variant.breaks] == list(variant.breaks)
        assert variant.breaks
        assert VARIANTS[variant.name] is variant
