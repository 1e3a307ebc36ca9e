"""Planted bugs that are wrong reactions: each starts beside a reference member, hangs nothing, and can be closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from groupproof.clients.planted.member_variant import Variant
from groupproof.clients.planted.misbehaviours_of_reactions import REACTIONS
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Pair


@pytest.mark.parametrize("variant", REACTIONS, ids=lambda item: item.name)
def test_a_planted_bug_joins_beside_a_reference_member_and_hangs_nothing(variant: Variant, tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant=variant.name, **variant.settings)
        await pair.start("m1", **(variant.settings | ({"instance_id": "i1"} if "instance_id" in variant.settings else {})))
        await trio.sleep(2)
        assert pair.requests(Api.JOIN_GROUP, "m0")
        assert (await pair.ask("m0", "close"))["ok"]
        assert (await pair.ask("m1", "close"))["ok"]

    tell(story)
