"""Every legal variant plays along with reference members, and nothing it does is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.planted.legal_variants_of_clients import LEGAL
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Pair

# What a coordinator may answer in a group that only grows and shrinks: success, a new id, a rebalance.
EXPECTED = {0, 27, 79}


@pytest.mark.parametrize("variant", LEGAL, ids=lambda item: item.name)
def test_a_group_of_a_legal_variant_settles_consumes_commits_rebalances_and_leaves(variant: Variant, tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", variant=variant.name, **variant.settings)
        await pair.settled("m0", "m1")
        await pair.until(lambda: all(pair.events(name, "records_consumed") for name in ("m0", "m1")))
        assert (await pair.ask("m0", "commit", mode="sync"))["ok"]

        await pair.start("m2", **variant.settings)
        await pair.settled("m0", "m1", "m2")
        await pair.ask("m1", "close")
        await pair.settled("m0", "m2")
        await pair.ask("m0", "close")
        await pair.ask("m2", "close")
        assert len(pair.requests(Api.LEAVE_GROUP, "m0")) == 1
        # A cooperative member may leave while it waits to join for the second time: a coordinator answers that JoinGroup with 25.
        answers = [obs for obs in pair.evidence.select("response") if (obs.client, obs.api, obs.error) != ("m1", "JoinGroup", 25)]
        assert {obs.error or 0 for obs in answers} <= EXPECTED

    tell(story)


def test_old_versions_are_what_goes_over_the_wire(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="old-versions")
        await pair.settled("m0")
        await pair.ask("m0", "close")
        spoken = {obs.api: obs.version for obs in pair.evidence.select("request")}
        assert (spoken["JoinGroup"], spoken["SyncGroup"], spoken["LeaveGroup"], spoken["FindCoordinator"]) == (4, 2, 2, 1)

    tell(story)


def test_one_connection_carries_everything_to_a_broker(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="shares-one-connection", properties={"groupproof.variant": "shares-one-connection", "fetch.max.wait.ms": 100})
        await pair.settled("m0")
        await pair.until(lambda: pair.events("m0", "records_consumed"))
        by_node: dict[int | None, set[int | None]] = {}
        for obs in pair.evidence.select("request"):
            by_node.setdefault(obs.node, set()).add(obs.connection)
        assert all(len(connections) == 1 for connections in by_node.values())

    tell(story)


def test_joins_go_over_a_connection_of_their_own(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="joins-on-own-connection")
        await pair.settled("m0")
        await pair.until(lambda: pair.events("m0", "records_consumed"))
        joins = {item.connection for item in (*pair.requests(Api.JOIN_GROUP, "m0"), *pair.requests(Api.SYNC_GROUP, "m0"))}
        others = {request.connection for request in pair.requests(Api.OFFSET_FETCH, "m0")}
        assert len(joins) == 1
        assert not joins & others

    tell(story)
