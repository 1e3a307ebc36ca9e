"""The order of checks that the protocol fixes: several checks of one request may be due at once, and Kafka answers the first in its own order.

Another coordinator may check in another order and answer another refusal that is due as well. That is legal unless a requirement names the
order; then it is as severe as that requirement. A refused request changes nothing, so that the group goes on in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, Level

__all__ = ["BROKEN_OFF", "FIXED_ORDERS", "FixedOrder", "order_of"]

Stages = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedOrder:
    """A requirement that names the order of `requests`' checks, by the error codes of each stage: codes of an earlier stage are answered first.

    `level` is the level of this part of the order, where it is milder than the requirement.
    """

    requirement: str
    requests: tuple[Api, ...]
    stages: Stages
    level: Level | None = None

    def has_before(self, first: int, second: int) -> bool:
        """Return whether the order has the first code in an earlier stage than the second."""
        places = [number for code in (first, second) for number, stage in enumerate(self.stages) if code in stage]
        return len(places) == 2 and places[0] < places[1]

    @property
    def severity(self) -> Level:
        return self.level or by_id(self.requirement).level


JOIN, SYNC, BEAT, LEAVE = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP
COMMIT, TXN_COMMIT, DELETE = Api.OFFSET_COMMIT, Api.TXN_OFFSET_COMMIT, Api.OFFSET_DELETE
EPOCH_BEAT, DESCRIBE = Api.CONSUMER_GROUP_HEARTBEAT, Api.CONSUMER_GROUP_DESCRIBE

_OF_GROUP: Final = (22, 23, 25, 27, 68, 69, 81, 82)
_OF_MEMBERS: Final = (25, 81, 82, 110, 111)


def _milder_orders(requirements: tuple[tuple[str, Api], ...]) -> Iterator[FixedOrder]:
    """Yield the parts of an order that are no MUST: after each of the codes 22, 25 and 27 a client joins again, and learns the rest then.

    After 22 it keeps a member id that nobody has, which costs one JoinGroup. After 27 instead of 25 it keeps one too, and a coordinator that forgets to remove a member answers so. Kafka up to 2.2
    answered 27 first (`handleHeartbeat`, `handleCommitOffsets`), as KoP does. After 82 and 23 a client gives up, so that their places are a MUST.
    """
    for requirement, request in requirements:
        yield FixedOrder(requirement=requirement, requests=(request,), stages=((25,), (22,)), level=Level.SHOULD)
        yield FixedOrder(requirement=requirement, requests=(request,), stages=((23,), (27,)), level=Level.SHOULD)
        yield FixedOrder(requirement=requirement, requests=(request,), stages=((25,), (27,)), level=Level.SHOULD)
        yield FixedOrder(requirement=requirement, requests=(request,), stages=((22,), (27,)), level=Level.INFO)
        yield FixedOrder(requirement=requirement, requests=(request,), stages=((15, 82), (27,)))


FIXED_ORDERS: Final = (
    FixedOrder(requirement="HB-51", requests=(BEAT,), stages=((15,), (82,), (22, 25, 27))),
    FixedOrder(requirement="SYNC-51", requests=(SYNC,), stages=((15,), (82,), (22, 25), (23,))),
    FixedOrder(requirement="COMMIT-51", requests=(COMMIT,), stages=((15,), (82,), (22, 25, 27))),
    *_milder_orders((("HB-51", BEAT), ("SYNC-51", SYNC), ("COMMIT-51", COMMIT))),
    FixedOrder(requirement="STATIC-10", requests=(JOIN, LEAVE), stages=((82,), (25,))),
    # A group without a name does not exist, so that a member id is neither known nor unknown in it.
    FixedOrder(requirement="JOIN-28", requests=(JOIN, SYNC, BEAT, LEAVE), stages=((24,), _OF_GROUP)),
    FixedOrder(requirement="ERR-10", requests=(TXN_COMMIT, DELETE), stages=((24,), _OF_GROUP)),
    # By the version of the request, and by the protocol of the member: no request is due both.
    FixedOrder(requirement="CGO-18", requests=(COMMIT,), stages=((69,), (22,))),
    FixedOrder(requirement="CGG-44", requests=(COMMIT,), stages=((22,), (113,))),
    FixedOrder(requirement="CGH-39", requests=(EPOCH_BEAT, DESCRIBE), stages=((35,), (24, 42, 69, 112, 128, *_OF_MEMBERS))),
    FixedOrder(requirement="FIND-10", requests=(TXN_COMMIT,), stages=((15,), (14,))),
    FixedOrder(requirement="JOIN-55", requests=(JOIN,), stages=((24,), (15,), (14,), (16,), (26,), (23, 25, 81, 82))),
    FixedOrder(requirement="JOIN-29", requests=(JOIN,), stages=((23,), (25,))),
    FixedOrder(requirement="CGH-26", requests=(EPOCH_BEAT,), stages=((42,), (112,), (69,), _OF_MEMBERS, (128,))),
    FixedOrder(requirement="CGO-12", requests=(COMMIT,), stages=((25,), (35,))),
    FixedOrder(requirement="CGM-37", requests=(EPOCH_BEAT,), stages=((81,), (25,))),
)

BROKEN_OFF: Final = frozenset({"nameless", "protocol-missing", "unreadable", "pending-with-instance"})
"""Rows by which Kafka refuses with -1 because of an internal error.

Such a request must be refused, but no rule fixes the code (CGO-34, CGG-09, CGG-30, PEND-12).
"""


def order_of(request: Api, first: int, second: int) -> FixedOrder | None:
    """Return the most severe order by which `first` is answered where both codes are due; None where the protocol leaves that open."""
    fixed = [order for order in FIXED_ORDERS if request in order.requests and order.has_before(first, second)]
    return min(fixed, key=lambda order: list(Level).index(order.severity), default=None)
