"""Variants: every legal one plays along, every planted bug at least starts, and each says what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from groupproof.clients.policy import REFERENCE
from groupproof.clients.variants import LEGAL, MISBEHAVIOURS, VARIANTS, UnknownVariant, Variant, variant_named
from groupproof.protocol.spec.requirements import requirements
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Pair


def test_there_are_enough_of_both_and_names_are_used_once() -> None:
    assert len(LEGAL) >= 15
    assert len(MISBEHAVIOURS) >= 45
    assert len(VARIANTS) == len(LEGAL) + len(MISBEHAVIOURS)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda each: each.name)
def test_a_variant_deviates_says_so_and_names_requirements_that_exist(variant: Variant) -> None:
    assert variant.policy != REFERENCE
    assert variant.says.endswith(".")
    assert set(variant.breaks) <= {each.id for each in requirements()}
    assert variant.is_legal == (variant in LEGAL)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownVariant, match="did you mean never-heartbeats"):
        variant_named("never-heartbeat")


@pytest.mark.parametrize("variant", LEGAL, ids=lambda each: each.name)
def test_a_group_of_a_legal_variant_settles_consumes_commits_rebalances_and_leaves(variant: Variant, tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", variant=variant.name, **variant.settings)
        await pair.settled("m0", "m1")
        await pair.until(lambda: all(pair.events(each, "records_consumed") for each in ("m0", "m1")))
        assert (await pair.ask("m0", "commit", mode="sync"))["ok"]

        await pair.start("m2", **variant.settings)
        await pair.settled("m0", "m1", "m2")
        await pair.ask("m1", "close")
        await pair.settled("m0", "m2")
        await pair.ask("m0", "close")
        await pair.ask("m2", "close")
        assert len(pair.requests(Api.LEAVE_GROUP, "m0")) == 1

    tell(story)


@pytest.mark.parametrize("variant", MISBEHAVIOURS, ids=lambda each: each.name)
def test_a_planted_bug_joins_beside_a_reference_member_and_hangs_nothing(variant: Variant, tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant=variant.name, **variant.settings)
        await pair.start("m1", **(variant.settings | ({"instance_id": "i1"} if "instance_id" in variant.settings else {})))
        await trio.sleep(20)
        assert pair.requests(Api.JOIN_GROUP, "m0")
        assert (await pair.ask("m0", "close"))["ok"]
        assert (await pair.ask("m1", "close"))["ok"]

    tell(story)
