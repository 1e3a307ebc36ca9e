"""The register of variants: every one deviates, says so, and can be found by its name."""

from __future__ import annotations

import typing

import pytest

from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.planted.member_variants import (
    EPOCH_BUGS,
    LEGAL,
    LEGAL_EPOCHS,
    MISBEHAVIOURS,
    THREADS,
    VARIANTS,
    WORKERS,
    UnknownVariant,
    variant_named,
)
from groupproof.protocol.rules.requirements import requirements


def test_there_are_enough_of_both_and_names_are_used_once() -> None:
    assert len(LEGAL) >= 15
    assert len(MISBEHAVIOURS) >= 45
    assert len(VARIANTS) == len(LEGAL) + len(MISBEHAVIOURS) + len(WORKERS) + len(THREADS) + len(EPOCH_BUGS) + len(LEGAL_EPOCHS)


def test_a_variant_deviates_says_so_and_names_requirements_that_exist() -> None:
    ids = {requirement.id for requirement in requirements()}

    assert [variant.name for variant in VARIANTS.values() if variant.policy == REFERENCE] == []
    assert [variant.name for variant in VARIANTS.values() if not variant.says.endswith(".")] == []
    assert {variant.name: set(variant.breaks) - ids for variant in VARIANTS.values() if not set(variant.breaks) <= ids} == {}
    assert [variant.name for variant in VARIANTS.values() if variant.is_legal] == [variant.name for variant in (*LEGAL, *LEGAL_EPOCHS)]


def test_every_choice_is_one_that_the_policy_knows() -> None:
    choices = {name: typing.get_args(hint) for name, hint in typing.get_type_hints(Policy).items() if typing.get_origin(hint) is typing.Literal}
    made = [(variant.name, name, getattr(variant.policy, name)) for variant in VARIANTS.values() for name in choices]

    assert [(variant, name, choice) for variant, name, choice in made if choice not in choices[name]] == []


def test_no_two_variants_are_the_same_client() -> None:
    # A choice that both protocols have is a variant of each.
    of_epochs = {variant.name for variant in (*EPOCH_BUGS, *LEGAL_EPOCHS)}
    policies = [(variant.policy, sorted(variant.settings.items()), variant.name in of_epochs) for variant in VARIANTS.values()]

    assert all(one not in policies[place + 1 :] for place, one in enumerate(policies))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownVariant, match="did you mean never-heartbeats"):
        variant_named("never-heartbeat")
    with pytest.raises(UnknownVariant, match=r"no variant 'zzz'$"):
        variant_named("zzz")
