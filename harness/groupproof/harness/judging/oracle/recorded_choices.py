"""The choices that the protocol leaves to a broker, as the recorded broker made them: read from its later answers. Pure.

A choice is checked where it is used: a member id must be new, a leader must be one of the candidates, and a protocol must be one of those with
most votes. Where no answer shows the choice, it is the reference's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from groupproof.harness.judging.oracle.replay_result import Deviation
from groupproof.protocol.vocabulary import Api, ErrorCode, Level
from groupproof.protocol.wire.messages import JoinGroupRequest, SyncGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.assignors.group_spec import TargetAssignment
    from groupproof.coordinator.machine.choices import JoinedGroup, TargetQuestion
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.coordinator import Arrival
    from groupproof.harness.judging.oracle.exchanges import Exchange

__all__ = ["NEW_ID", "PAUSE_SPREAD_MS", "RecordedChoices", "is_usual"]

NEW_ID: Final = "a member id never given before"
"""An answer without a legal new id is compared with this."""

PAUSE_SPREAD_MS: Final = 400
"""By how many milliseconds the broker's end of a pause may differ from the trace's."""

_WITHOUT_VOTE: Final = Deviation(
    requirement="JOIN-32", expected="Of the protocols that all members support, the one with most votes is chosen.",
    observed="Another is chosen, and the members do not agree on one.", seq=0, level=Level.INFO,
)  # fmt: skip

_GIVING: Final = (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)
_OWN_ID: Final = (Api.JOIN_GROUP, Api.CONSUMER_GROUP_HEARTBEAT)
"""The requests whose answers contain the member's own id."""
_ALL_IDS: Final = (Api.JOIN_GROUP, Api.DESCRIBE_GROUPS, Api.CONSUMER_GROUP_DESCRIBE)
"""The requests whose answers list members. A classic member is in the list of a consumer group too, once its group was converted (KIP-848)."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class RecordedChoices:
    """Makes one group's choices as its recorded answers show them. Each replay of the history needs its own.

    Generations of classic groups, and targets and epochs of consumer groups, are Kafka's here, and a newcomer needs a member id. `OwnChoices` follows
    a broker that differs, and records its `deviations`.
    `owners` are the clients of the ids that were handed out. `answered` are the exchanges whose answers are past. `way` chooses at a branch, such as
    which of several ids a JoinGroup owns: it receives the kind of choice, a number such as the JoinGroup's, and the number of ways.
    """

    counts_by_one: bool = True

    def __init__(self, exchanges: Sequence[Exchange], way: Callable[[str, int, int], int] = lambda *_: 0) -> None:
        self.answered: set[int] = set()
        self._way = way
        self.owners: dict[str, str] = {}
        self.deviations: list[Deviation] = []
        self._exchanges = {exchange.number: exchange for exchange in exchanges}
        joined = [
            exchange for exchange in exchanges if exchange.api is Api.JOIN_GROUP and exchange.answer is not None and exchange.code == ErrorCode.NONE
        ]
        joined.sort(key=lambda exchange: exchange.answered_ms or 0.0)
        self._generations = [(exchange.number, exchange.answer or {}) for exchange in joined]
        self._syncs = [
            (exchange.message.member_id, exchange)
            for exchange in exchanges
            if isinstance(exchange.message, SyncGroupRequest) and exchange.answer is not None and exchange.code == ErrorCode.NONE
        ]
        beats = (exchange for exchange in exchanges if exchange.api is Api.CONSUMER_GROUP_HEARTBEAT and exchange.answered_ms is not None)
        self._longest_ms = max(((exchange.answered_ms or 0.0) - exchange.ready_ms for exchange in beats), default=0.0)
        self._members_by_answer = _members_by_answer(exchanges)
        self._likely: dict[int, str] = {}
        for member_id, numbers in self._members_by_answer.items():
            self._likely.setdefault(next((number for number in numbers if number not in self._likely), numbers[0]), member_id)

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        """Return the id in the answer to this JoinGroup. Without one, return an id that only other answers contain, or an invented one."""
        exchange = self._exchanges[int(str(arrival.token))]
        member_id = str(exchange.answer.get("member_id", "")) if exchange.answer is not None and exchange.code in _GIVING else ""
        if not member_id:
            member_id = self._answered_to_others(exchange.number)
        if not member_id and exchange.answer is not None:
            member_id = str(exchange.answer.get("member_id", ""))  # the answer to a JoinGroup that was parked and then refused contains its id
        if not member_id or member_id in self.owners:
            member_id = f"{NEW_ID} ({exchange.number})"
        self.owners[member_id] = exchange.client
        return member_id

    def _answered_to_others(self, number: int) -> str:
        """Return the id of a JoinGroup that only other answers contain, "" for none: the likely one, unless the branch takes another way."""
        may_own = [key for key, numbers in self._members_by_answer.items() if number in numbers and key not in self.owners]
        likely = self._likely.get(number, "")
        ways = ["", *may_own] if likely not in may_own else [likely, *(name for name in may_own if name != likely)]
        if likely in may_own and len(self._members_by_answer[likely]) > 1:
            ways.append("")
        return ways[self._way("owner", number, len(ways)) if len(ways) > 1 else 0]

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        """Return the candidate that the next answers name as leader.

        If they name another, return one that is gone by then: the leader changed in between.
        """
        leaders = list(self._values_of("leader"))
        if leaders and leaders[0] not in candidates:
            listed = next((found for _, answer in self._coming() if (found := set(_listed(answer)))), None)
            gone = [candidate for candidate in candidates if listed is not None and candidate not in listed]
            if gone:
                return gone[0]
        return next((leader for leader in leaders if leader in candidates), None) or self._syncing(candidates) or candidates[0]

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        """Return the tied protocol that the next generation has, or another one that is possible: the members do not agree (JOIN-32)."""
        number, chosen = next(((number, str(answer.get("protocol_name", ""))) for number, answer in self._coming()), (0, ""))
        if chosen in possible and chosen not in tied:
            self.deviations.append(replace(_WITHOUT_VOTE, seq=self._exchanges[number].seq))
        return chosen if chosen in (*tied, *possible) else tied[0]

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + 1

    def joins_at_once(self, exchange: Exchange) -> bool:
        """Return whether the broker admits the newcomer of a JoinGroup without the round of KIP-394, whatever its version."""
        return False

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        """Return an assignor by a branch, as no answer names it."""
        return tied[self._way("assignor", occasion, len(tied))]

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        """Return whether the pause is over by the trace's clock; near the end it is a branch.

        The broker processed both requests a little later than they were sent, or much later if it was slow.
        """
        is_likely = now_ms >= due_ms
        if abs(now_ms - due_ms) > PAUSE_SPREAD_MS + self._longest_ms:
            return is_likely
        return (self._way("pause", now_ms, 2) == 0) is is_likely

    def resolves_at_once(self, arrival: Arrival) -> bool:
        """Return whether the broker resolves a regex at once.

        Kafka does not; another coordinator then assigns partitions one heartbeat earlier, and counts one epoch less (CGX-19).
        """
        return self._way("regex", int(str(arrival.token)), 2) == 1

    def target(self, question: TargetQuestion) -> TargetAssignment:
        return question.kafkas

    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        return group.generation + 1

    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        return is_usual

    def _syncing(self, candidates: Sequence[str]) -> str | None:
        """Return the candidate whose SyncGroup completed the next ones: the leader's is the last before their answers."""
        syncs = [(member_id, sync) for member_id, sync in self._syncs if sync.number not in self.answered and member_id in candidates]
        first_ms = min((sync.answered_ms or 0.0 for _, sync in syncs), default=0.0)
        before = [(sync.ready_ms, member_id) for member_id, sync in syncs if sync.ready_ms <= first_ms]
        return max(before)[1] if before else None

    def _values_of(self, field: str) -> Iterator[str]:
        return (str(answer.get(field, "")) for _, answer in self._coming())

    def _coming(self) -> Iterator[tuple[int, Any]]:
        return ((number, answer) for number, answer in self._generations if number not in self.answered)


def is_usual(member_id: str, prefix: str) -> bool:
    """Return whether a member id has Kafka's form: the client id or the instance id, and a UUID (JOIN-03, STATIC-01)."""
    return member_id.startswith(f"{prefix}-") and _UUID.fullmatch(member_id[len(prefix) + 1 :]) is not None


def _members_by_answer(exchanges: Sequence[Exchange]) -> dict[str, list[int]]:
    """Return the ids that only lists of members and names of leaders contain, with the JoinGroups that may own them, the likeliest first.

    A JoinGroup may own an id if it named no id, came from such a client or instance before the id was shown, and was not refused by then. The last
    such JoinGroup is likeliest, for a leader the first. One that was never answered is likelier than one that was refused later.
    """
    nameless = [
        exchange
        for exchange in exchanges
        if isinstance(exchange.message, JoinGroupRequest) and not exchange.message.member_id and exchange.code not in _GIVING
    ]
    owners: dict[str, list[int]] = {}
    for member_id, look in _unclaimed(exchanges).items():
        fits = [exchange for exchange in nameless if _may_own(exchange, member_id, look)]
        sign = -1 if (look.answer or {}).get("leader") == member_id else 1  # the leader joined first
        fits.sort(key=lambda fit: (not fit.is_behind, fit.answer is None, sign * fit.ready_ms), reverse=True)
        if fits:
            owners[member_id] = [fit.number for fit in fits]
    return owners


def _may_own(joined: Exchange, member_id: str, look: Exchange) -> bool:
    prefixes = (f"{item}-" for item in (joined.client, getattr(joined.message, "group_instance_id", None)) if item)
    is_asked = joined.ready_ms <= (look.answered_ms or 0.0) and joined.request.seq < look.seq
    is_open = joined.answered_ms is None or look.ready_ms <= joined.answered_ms
    return is_asked and is_open and member_id.startswith(tuple(prefixes))


def _unclaimed(exchanges: Iterable[Exchange]) -> dict[str, Exchange]:
    """Return the ids that no answer to their owner contained, each with the first exchange that showed it."""
    claimed: set[str] = set()
    claims: dict[str, Exchange] = {}
    for exchange in exchanges:
        answer = exchange.answer or {}
        if exchange.api in _OWN_ID and exchange.code in _GIVING:
            claimed.add(str(answer.get("member_id", "")))
        if exchange.api in _ALL_IDS:
            for member_id in (*_listed(answer), str(answer.get("leader", ""))):
                claims.setdefault(member_id, exchange)
    return {key: look for key, look in claims.items() if key and key not in claimed}


def _listed(answer: Any) -> Iterator[str]:
    for holder in (answer, *(answer.get("groups") or ())):
        for member in holder.get("members") or ():
            yield str(member.get("member_id", ""))
