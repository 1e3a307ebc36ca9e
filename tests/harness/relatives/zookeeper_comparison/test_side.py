from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import trio
from tests.clients.relatives.zookeeper.in_memory import in_virtual_time

from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import until_stable


class Settling:
    """Is settled within the spans that are given, in seconds."""

    design = "fake"
    rebalances = failures = heard = 0

    def __init__(self, *spans: tuple[float, float]) -> None:
        self.ledger = ReadLedger([])
        self._spans = spans

    @property
    def asked(self) -> Counter[str]:
        return Counter()

    @property
    def members(self) -> Sequence[str]:
        return []

    async def begin(self, name: str) -> None:
        """Nobody is here."""

    async def leave(self, name: str) -> None:
        """Nobody is here."""

    async def kill(self, name: str) -> None:
        """Nobody is here."""

    def is_settled(self) -> bool:
        return any(since <= trio.current_time() - START < until for since, until in self._spans)


START = 0.0


def test_a_group_is_stable_since_it_has_been_so_without_a_break() -> None:
    async def live() -> None:
        global START
        START = trio.current_time()
        since = await until_stable(Settling((1, 1.5), (3, 9)), 20, quiet_s=1)
        assert since is not None
        assert abs(since - START - 3) < 0.1
        assert abs(trio.current_time() - START - 4) < 0.1

    in_virtual_time(live)


def test_a_group_that_does_not_get_there_is_none() -> None:
    async def live() -> None:
        assert await until_stable(Settling(), 5) is None

    in_virtual_time(live)
