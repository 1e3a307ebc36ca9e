"""A group by the offsets topic: members, their assignments, rebalances with their causes, and commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from groupproof.harness.judging.diagnosis.causes import SORTED, WORDS_OF_CONSUMERS, Cause, Kind
from groupproof.harness.judging.diagnosis.rebalances import CLASSIC, name_of
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["CLASSIC", "LEFT_FOR_NOW", "REBALANCING", "Commit", "Departure", "LoggedGroup", "LoggedMember", "LoggedRebalance", "StaticRestart"]

REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance")
"""The states of a classic group between two generations."""

LEFT_FOR_NOW: Final = -2
"""The epoch of a static member that is away (KIP-848)."""


@dataclass(slots=True, kw_only=True)
class LoggedMember:
    """A member by its record. `epoch` and `is_reconciled` are for the newer protocols. `since_ms` is when its first record came. `committed_ms` is
    the last commit of partitions that it has given up since.
    """

    member: str
    client: str
    host: str
    instance: str | None = None
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()
    session_ms: int | None = None
    rebalance_ms: int | None = None
    metadata: bytes = b""
    since_ms: int = 0
    committed_ms: int | None = None
    epoch: int = 0
    is_reconciled: bool = True

    @property
    def identity(self) -> tuple[str, str]:
        """Return what stays when a process comes back with a new member id: its instance id, or its client id and host."""
        return ("instance", self.instance) if self.instance is not None else (self.client, self.host)

    @property
    def name(self) -> str:
        return self.instance or self.client or name_of(self.member)

    def to_json(self) -> dict[str, Any]:
        return {
            "member": self.member, "client": self.client, "host": self.host.lstrip("/"), "instance": self.instance, "topics": list(self.topics),
            "pattern": self.pattern, "partitions": [list(partition) for partition in self.partitions], "epoch": self.epoch or None,
            "since_ms": self.since_ms,
        }  # fmt: skip


class Commit(NamedTuple):
    """The last commit of a partition: its offset, when the coordinator stored it, and the pause since the commit before it."""

    offset: int
    at_ms: int
    pause_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticRestart:
    """A static member came back with a new member id. It caused no rebalance, unless a new generation came with it."""

    at_ms: int
    instance: str
    member: str
    had_rebalance: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A membership that ended: the member, the time, and its duration as far as the log goes back. `was_alive`: commits prove that no session had
    ended."""

    at_ms: int
    member: LoggedMember
    was_alive: bool = False

    @property
    def lasted_ms(self) -> int:
        return self.at_ms - self.member.since_ms


@dataclass(slots=True, kw_only=True)
class LoggedRebalance:
    """One new generation, or one new epoch.

    `at_ms` is the time of its record: in a classic group of the leader's assignment; in the newer protocols of the new epoch, with which the
    rebalance begins. `joined_ms` is the end of a classic group's join phase, or the time of an epoch's assignment. `settled_ms` is when every
    member had it. The topic does not contain the start of a classic group's join phase. `missing` are generations without a record between this one
    and the last; `unassigned` are those of them that never had one. `halted` are the number of partitions without commits until it ended, and the
    longest time. `holder` is the member that had to revoke partitions. `is_certain`: the records allow no other cause. Otherwise the cause is the
    likely one, and `also` are others with the same records.
    """

    group: str
    protocol: str
    number: int
    at_ms: int
    before: int | None
    generation: int
    cause: Cause = Cause.UNREPORTED
    is_certain: bool = False
    also: tuple[Cause, ...] = ()
    member: LoggedMember | None = None
    joined: tuple[LoggedMember, ...] = ()
    lost: tuple[LoggedMember, ...] = ()
    changed: tuple[LoggedMember, ...] = ()
    members: int = 0
    missing: int = 0
    joined_ms: int | None = None
    settled_ms: int | None = None
    place: tuple[int, int] = (-1, -1)
    halted_ms: int | None = None
    halted: tuple[int, int] = (0, 0)
    unassigned: int = 0
    holder: str | None = None

    @property
    def kind(self) -> Kind | None:
        return SORTED[self.cause].kind

    @property
    def lasted_ms(self) -> int | None:
        """How long (ms) it took, as far as the records show: the sync phase of a classic group, or a whole epoch change. None where they do not."""
        if self.protocol == CLASSIC:
            return None if self.joined_ms is None else max(0, self.at_ms - self.joined_ms)
        return None if self.settled_ms is None else self.settled_ms - self.at_ms

    @property
    def words(self) -> str:
        own = WORDS_OF_CONSUMERS.get(self.cause) if self.protocol != CLASSIC else None
        return (own or SORTED[self.cause].words).format(member=self.member.name if self.member is not None else "a member")

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group, "protocol": self.protocol, "number": self.number, "at_ms": self.at_ms, "before": self.before,
            "generation": self.generation, "cause": self.cause.value, "certain": self.is_certain, "also": [cause.value for cause in self.also],
            "because": self.words, "kind": self.kind.value if self.kind is not None else None,
            "member": self.member.name if self.member is not None else None, "host": self.member.host.lstrip("/") if self.member is not None else None,
            "joined": _names(self.joined), "lost": _names(self.lost), "changed": _names(self.changed), "members": self.members, "missing": self.missing,
            "lasted_ms": self.lasted_ms, "halted_ms": self.halted_ms, "record": list(self.place),
        }  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LoggedGroup:
    """Everything that the topic contains about one group so far.

    `begins_ms` is the time of its first record. `is_whole`: no earlier record was removed. `counts` are the partitions of each topic, as far as any
    was ever assigned. `withheld` are those that lost their owner with the last generation. `reported_state` is the coordinator's, if it was asked.
    `rebalancing_since_ms` is since when the coordinator reports a rebalance.
    """

    group: str
    begins_ms: int
    is_whole: bool = False
    protocol: str = ""
    protocol_type: str = ""
    assignor: str | None = None
    leader: str | None = None
    generation: int | None = None
    assigned_epoch: int | None = None
    is_deleted: bool = False
    members: dict[str, LoggedMember] = field(default_factory=dict)
    rebalances: list[LoggedRebalance] = field(default_factory=list)
    restarts: list[StaticRestart] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)
    commits: dict[TopicPartition, Commit] = field(default_factory=dict)
    rebalancing_since_ms: int | None = None
    newest_ms: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    withheld: frozenset[TopicPartition] = frozenset()
    reported_state: str | None = None

    @property
    def state(self) -> str:
        """Return the state that the records imply. They do not show a classic group's rebalance under way: its state is that after its last
        generation."""
        if self.reported_state is not None:
            return self.reported_state
        if self.is_deleted:
            return "Dead"
        if self.generation is None:
            return "Offsets only"
        if not self.members:
            return "Empty"
        if self.protocol == CLASSIC:
            return "Stable"
        if (self.assigned_epoch or 0) < self.generation:
            return "Assigning"
        return (
            "Stable"
            if all(member.is_reconciled and member.epoch in (self.generation, LEFT_FOR_NOW) for member in self.members.values())
            else "Reconciling"
        )

    @property
    def is_over(self) -> bool:
        """Whether the topic holds nothing of the group any more, by its tombstones: neither members nor commits."""
        return not self.members and not self.commits and (self.is_deleted or self.generation is None)

    def report_state(self, state: str | None, now_ms: int) -> None:
        """Record the state that the coordinator reports. A rebalance lasts since its first report, or since the last generation after that."""
        self.reported_state = state
        if state not in REBALANCING:
            self.rebalancing_since_ms = None
            return
        newest_ms = self.rebalances[-1].at_ms if self.rebalances else 0
        self.rebalancing_since_ms = max(newest_ms, now_ms if self.rebalancing_since_ms is None else self.rebalancing_since_ms)

    @property
    def next_number(self) -> int:
        """The number of the next rebalance. The oldest may have been dropped."""
        return self.rebalances[-1].number + 1 if self.rebalances else 1

    @property
    def owned(self) -> dict[TopicPartition, LoggedMember]:
        return {partition: member for member in self.members.values() for partition in member.partitions}

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group, "protocol": self.protocol or None, "state": self.state, "generation": self.generation, "assignor": self.assignor,
            "leader": self.leader, "begins_ms": self.begins_ms, "is_whole": self.is_whole, "newest_ms": self.newest_ms,
            "members": [member.to_json() for member in self.members.values()],
            "rebalances": [rebalance.to_json() for rebalance in self.rebalances],
            "static_restarts": [
                {"at_ms": restart.at_ms, "instance": restart.instance, "had_rebalance": restart.had_rebalance} for restart in self.restarts
            ],
        }  # fmt: skip


def _names(members: Sequence[LoggedMember]) -> list[str]:
    return [member.name for member in members]
