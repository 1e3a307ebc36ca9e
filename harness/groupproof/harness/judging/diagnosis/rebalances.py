"""One rebalance as reported: its cause, its phases, the members it waited for, and the lines or frames that prove it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.diagnosis.causes import SORTED, WORDS_OF_CONSUMERS, WORDS_OF_WORKERS, Branch, Cause, Certainty, Kind
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC as CLASSIC_DIALECT
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK as DATALINK_DIALECT
from groupproof.protocol.vocabulary import error_named

__all__ = ["CLASSIC", "CONSUMER", "DATALINK", "AwaitedMember", "EvidenceLine", "Rebalance", "name_of"]

CLASSIC: Final = CLASSIC_DIALECT.name
CONSUMER: Final = "consumer"
DATALINK: Final = DATALINK_DIALECT.name
_OWN_WORDS: Final = {CONSUMER: WORDS_OF_CONSUMERS, DATALINK: WORDS_OF_WORKERS}

_SUFFIX_CHARS: Final = 37
"""The length of the hyphen and UUID at the end of a member id (JOIN-03)."""


def name_of(member: str | None) -> str:
    """Return a member's id without the random suffix, which leaves its client id or instance id."""
    if not member:
        return "somebody"
    head, tail = member[:-_SUFFIX_CHARS], member[-_SUFFIX_CHARS:]
    is_suffixed = len(tail) == _SUFFIX_CHARS and tail[0] == "-" and tail.count("-") == 5
    return head or member if is_suffixed else member


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedMember:
    """A member that a phase waited for: `ms` from the phase's start; `why` says how that is known."""

    member: str
    ms: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLine:
    """A line of a log, or a frame, as evidence. `marks` is the requirement that demands the line; empty for a frame."""

    seq: int
    at_ms: float
    text: str
    marks: str = ""


@dataclass(slots=True, kw_only=True)
class Rebalance:
    """Times are in milliseconds of the trace. `joined_ms` ends the join phase, `synced_ms` the sync phase (DIAG-25); None where the trace shows no
    end.

    `also` are causes that would look the same in this trace. `answers` counts the errors 27 and 22 that members got (DIAG-29). In the consumer
    protocol (KIP-848) generations are the group's epochs. `joined_ms` is then when the new epoch's assignment was ready, and `synced_ms` when every
    member had reached the epoch.
    """

    group: str
    number: int
    start_seq: int
    started_ms: float
    protocol: str = CLASSIC
    node: int | None = None
    cause: Cause = Cause.UNREPORTED
    certainty: Certainty = Certainty.INFERRED
    also: tuple[Cause, ...] = ()
    member: str | None = None
    client_reason: str | None = None
    generation_before: int = -1
    generation: int | None = None
    joined_ms: float | None = None
    synced_ms: float | None = None
    leader: str | None = None
    members: tuple[str, ...] = ()
    member_count: int | None = None
    awaited_to_join: list[AwaitedMember] = field(default_factory=list)
    awaited_to_sync: list[AwaitedMember] = field(default_factory=list)
    evicted: tuple[str, ...] = ()
    rebalance_timeout_ms: int | None = None
    session_timeout_ms: int | None = None
    is_initial: bool = False
    is_emptied: bool = False
    ended: str = ""
    evidence: list[EvidenceLine] = field(default_factory=list)
    joined_at: dict[str, float] = field(default_factory=dict)
    answers: dict[int, int] = field(default_factory=dict)

    @property
    def branch(self) -> Branch:
        return SORTED[self.cause].branch

    @property
    def kind(self) -> Kind | None:
        return SORTED[self.cause].kind

    @property
    def join_ms(self) -> float | None:
        return None if self.joined_ms is None else self.joined_ms - self.started_ms

    @property
    def sync_ms(self) -> float | None:
        return None if self.joined_ms is None or self.synced_ms is None else self.synced_ms - self.joined_ms

    @property
    def lasted_ms(self) -> float | None:
        """Return how long (ms) it took: until the leader's assignment, or until the end of the join phase where no assignment comes."""
        end = self.synced_ms if self.synced_ms is not None else self.joined_ms
        return None if end is None else end - self.started_ms

    @property
    def words(self) -> str:
        """Return in one clause why it began."""
        own = _OWN_WORDS.get(self.protocol, {}).get(self.cause)
        return (own or SORTED[self.cause].words).format(member=name_of(self.member))

    def show(self, evidence: EvidenceLine) -> None:
        self.evidence.append(evidence)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data. Times are in ms, with the unit in each name."""
        return {
            "group": self.group, "protocol": self.protocol, "number": self.number, "cause": self.cause.value, "branch": self.branch.value,
            "kind": self.kind.value if self.kind else None, "certainty": self.certainty.value, "also": [cause.value for cause in self.also],
            "because": self.words, "member": self.member, "client_reason": self.client_reason, "node": self.node,
            "generation_before": self.generation_before, "generation": self.generation, "started_ms": _round(self.started_ms),
            "join_ms": _round(self.join_ms), "sync_ms": _round(self.sync_ms), "lasted_ms": _round(self.lasted_ms), "ended": self.ended,
            "leader": self.leader, "members": list(self.members), "member_count": self.member_count, "evicted": list(self.evicted),
            "awaited_to_join": [_awaited(awaited_member) for awaited_member in self.awaited_to_join], "awaited_to_sync": [_awaited(awaited_member) for awaited_member in self.awaited_to_sync],
            "rebalance_timeout_ms": self.rebalance_timeout_ms, "session_timeout_ms": self.session_timeout_ms,
            "answers": {error_named(code): count for code, count in sorted(self.answers.items())},
            "shown": [{"seq": view.seq, "at_ms": _round(view.at_ms), "text": view.text, "marks": view.marks or None} for view in self.evidence],
        }  # fmt: skip


def _awaited(awaited_member: AwaitedMember) -> dict[str, Any]:
    return {"member": awaited_member.member, "ms": _round(awaited_member.ms), "why": awaited_member.why}


def _round(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)
