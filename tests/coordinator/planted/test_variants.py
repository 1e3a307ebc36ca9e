"""The variants by name."""

from __future__ import annotations

import pytest

from groupproof.coordinator.planted.variants import BUGS, LEGAL, UnknownVariant, variant_named, variants
from groupproof.protocol.rules.requirements import by_id


def test_every_variant_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len(variants()) == len(BUGS) + len(LEGAL)
    assert [variant.name for variant in variants().values() if not variant.says.endswith(".")] == []


def test_a_bug_breaks_requirements_that_exist_and_a_legal_variant_none() -> None:
    assert [bug.name for bug in BUGS if not bug.breaks] == []
    assert [variant.name for variant in LEGAL if variant.breaks] == []
    assert all(by_id(requirement) for bug in BUGS for requirement in bug.breaks)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownVariant, match=r"did you mean .*gone/Heartbeat/Stable/stranger"):
        variant_named("gone/Heartbeat/Stable/strangr")
