"""The reference member behind the shim contract, against the reference coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Pair


def test_three_members_form_a_group_consume_commit_and_leave(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", "m2")
        await pair.settled("m0", "m1", "m2")

        owned = [set(map(str, (await pair.ask(each, "assignment"))["partitions"])) for each in ("m0", "m1", "m2")]
        assert sorted(map(len, owned)) == [1, 1, 2]
        assert len(set().union(*owned)) == 4
        await pair.until(lambda: all(pair.events(each, "records_consumed") for each in ("m0", "m1", "m2")))
        committed = await pair.ask("m1", "commit", mode="sync")
        assert [offset for *_, offset in committed["offsets"]] == [20] * len(committed["offsets"])
        assert (await pair.ask("m1", "committed"))["offsets"] == committed["offsets"]

        await pair.ask("m0", "close")
        await pair.settled("m1", "m2")
        await pair.ask("m1", "close")
        await pair.ask("m2", "close")
        assert len(pair.requests(Api.LEAVE_GROUP, "m2")) == 1

    tell(story)
