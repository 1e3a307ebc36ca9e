"""One design at work: a group of real members that can start, leave and be killed, and the requests that they sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import trio

from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.subjects.networks.broker_address import Address

__all__ = ["GROUP", "TOPIC", "Common", "ConnectOf", "Side", "until_stable"]

GROUP: Final = "g"
TOPIC: Final = "t"
_LOOK_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What members of both designs have in common; times in milliseconds.

    `pace_ms` is what an application lets pass between records, `wait_ms` how long a broker may hold a Fetch that finds nothing.
    """

    partitions: int
    session_ms: int
    commits_ms: int = 60_000
    pace_ms: int = 200
    wait_ms: int = 5_000
    retries: int = 4
    backoff_ms: int = 2_000


class Side(Protocol):
    """A group in one design. `asked` counts requests by kind, without those that only say that a member lives; `heard` the events of watches.

    `rebalances` counts those that were begun, each member's own where each begins one; `failures` those that were given up.
    """

    design: str
    ledger: ReadLedger
    rebalances: int
    failures: int

    @property
    def asked(self) -> Counter[str]: ...

    @property
    def heard(self) -> int: ...

    @property
    def members(self) -> Sequence[str]: ...

    async def begin(self, name: str) -> None: ...

    async def leave(self, name: str) -> None: ...

    async def kill(self, name: str) -> None:
        """End a member as a process ends that is killed; return when the group has begun to do something about it."""
        ...

    def is_settled(self) -> bool:
        """Tell whether every partition has one holder, and no member has anything left to do."""
        ...


async def until_stable(side: Side, within_s: float, quiet_s: float = 0.0) -> float | None:
    """Return when the group was settled, by trio's clock, once it has been so for `quiet_s`; None where it is not within `within_s`."""
    since: float | None = None
    with trio.move_on_after(within_s):
        while True:
            if not side.is_settled():
                since = None
            elif since is None:
                since = trio.current_time()
            if since is not None and trio.current_time() >= since + quiet_s:
                return since
            await trio.sleep(_LOOK_S)
    return None


ConnectOf = Callable[[str], tuple[Callable[[str, int], Awaitable[trio.abc.Stream]], Sequence[Address]]]
"""From a member's name to its way to the brokers, and where it begins."""
