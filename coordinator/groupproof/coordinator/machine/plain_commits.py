"""A shortcut for the plain OffsetCommit of a member in a Stable group: no metadata, offsets stored, session restarted, no error. Pure.

Nearly all commits are plain. The release's table decides whether it has only this row for such a request. Another dialect defines its own plain
commits (`DialectFunctions.plain_commits`); they restart no session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.event import OPEN
from groupproof.coordinator.machine.timers import session_of
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import CommittedPartition, CommittedTopic, OffsetCommitResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.bound_tables import BoundTables
    from groupproof.coordinator.machine.dialect_functions import PlainCommitRules
    from groupproof.coordinator.machine.engine import Engine
    from groupproof.coordinator.machine.event import CoordinatorStatus
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.protocol.rules.cells import EffectName, GuardName
    from groupproof.protocol.rules.dialect import Dialect
    from groupproof.protocol.wire.messages import OffsetCommitRequest

__all__ = ["ANSWERS_MAX", "PlainCommits"]

ANSWERS_MAX: Final = 4_096
"""The number of answers that are cached, one for each list of partitions. One more clears the cache."""

_STABLE: Final = GroupState.STABLE
_COMMITS: Final[frozenset[tuple[EffectName, ...]]] = frozenset({
    (Effect.REFRESH_SESSION, Effect.STORE_OFFSETS), (Effect.REFRESH_SESSION_SPARING_NEWCOMERS, Effect.STORE_OFFSETS),
})  # fmt: skip
"""The effects of such a commit. In a Stable group no newcomer waits for its JoinGroup."""

_NEVER_HOLD: Final[frozenset[GuardName]] = frozenset({
    Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE, Guard.NAMES_NOBODY, Guard.INSTANCE_UNKNOWN, Guard.FENCED, Guard.STRANGER,
    Guard.OTHER_GENERATION,
})  # fmt: skip
"""The guards that hold for no plain commit."""


class PlainCommits:
    """Processes plain commits as the table would, for callers that need no row. `gate` returns the coordinator's status for a group."""

    def __init__(self, engine: Engine, gate: Callable[[str], CoordinatorStatus]) -> None:
        self._engine, self._gate = engine, gate
        self._stores, self._of_others = _stored_by(engine.tables)
        self._answers: dict[tuple[object, ...], OffsetCommitResponse] = {}

    def repeat(self, message: OffsetCommitRequest, arrival: Arrival, now_ms: int) -> OffsetCommitResponse | None:
        """Store a plain commit and return its answer; return None, without a change, for any other request."""
        engine, group_id = self._engine, message.group_id
        group: Any = engine.groups.get(group_id)
        if group is None or engine.append_error:
            return None
        if group.dialect is CLASSIC:
            is_plain = self._stores and group.state is _STABLE and self._begins_session(group, message, now_ms)
        else:
            rules = self._of_others.get((group.dialect, group.state))
            is_plain = rules is not None and self._gate(group_id) is OPEN and _is_bare(message) and rules.is_plain(group, message, arrival)
        return self._store(message, now_ms) if is_plain else None

    def _begins_session(self, group: Any, message: OffsetCommitRequest, now_ms: int) -> bool:
        """Restart the member's session in a classic group and return True, if its commit is plain."""
        group_id, member_id, instance_id = message.group_id, message.member_id, message.group_instance_id
        members = group.members
        member = members.by_id.get(member_id)
        if member is None or message.generation_id != group.generation or self._gate(group_id) is not OPEN:
            return False
        if (instance_id is not None and members.instances.get(instance_id) != member_id) or not _is_bare(message):
            return False
        self._engine.timers.arm(session_of(group_id, member_id), now_ms + member.session_timeout_ms)
        return True

    def _store(self, message: OffsetCommitRequest, now_ms: int) -> OffsetCommitResponse:
        offsets, words = self._engine.offsets(message.group_id), list[object]()
        for topic in message.topics:
            name = topic.name
            words.append(name)
            for partition in topic.partitions:
                words.append(partition.partition_index)
                offsets.commit(name, partition, now_ms)
        key = tuple(words)
        return self._answers.get(key) or self._answered(key, message)

    def _answered(self, key: tuple[object, ...], message: OffsetCommitRequest) -> OffsetCommitResponse:
        if len(self._answers) >= ANSWERS_MAX:
            self._answers.clear()
        topics = tuple(
            CommittedTopic(
                name=topic.name, partitions=tuple(CommittedPartition(partition_index=partition.partition_index) for partition in topic.partitions)
            )
            for topic in message.topics
        )
        answer = self._answers[key] = OffsetCommitResponse(topics=topics)
        return answer


def _is_bare(message: OffsetCommitRequest) -> bool:
    """Return whether the request commits offsets only: metadata may be too long, and a retention time makes offsets expire."""
    return message.retention_time_ms < 0 and not any([partition.committed_metadata for topic in message.topics for partition in topic.partitions])


@lru_cache(maxsize=64)  # the oracle makes a thousand machines of one release
def _stored_by(tables: BoundTables) -> tuple[bool, Mapping[tuple[Dialect, StrEnum], PlainCommitRules]]:
    """Return whether classic groups store plain commits so, and the states in which groups of other dialects do, with their rules."""
    return _are_stored(tables), {place: rules for dialect in tables.functions for place, rules in _places_of(tables, dialect)}


def _are_stored(
    tables: BoundTables, dialect: Dialect = CLASSIC, state: StrEnum = _STABLE, does: Set[tuple[EffectName, ...]] = _COMMITS, ruled_out: Set[GuardName] = frozenset()
) -> bool:  # fmt: skip
    """Return whether the release's table stores such a commit with effects in `does` and nothing more.

    The guards in `ruled_out` hold for no such commit.
    """
    commits = tables.cells.get(dialect, {}).get((ClassicEvent.OFFSET_COMMIT, state), ())
    if not commits:
        return False
    last, others = commits[-1].row, (*tables.before.get(ClassicEvent.OFFSET_COMMIT, ()), *commits[:-1])
    is_plain = last.guard is Guard.ALWAYS and not last.after and last.then is None and last.effects in does and last.answer is Form.COMMITTED
    return is_plain and all(rule.row.guard in _NEVER_HOLD or rule.row.guard in ruled_out for rule in others)


def _places_of(tables: BoundTables, dialect: Dialect) -> Iterator[tuple[tuple[Dialect, StrEnum], PlainCommitRules]]:
    """Yield the states in which a group of the dialect stores plain commits, with the dialect's rules for them."""
    rules = tables.functions[dialect].plain_commits
    if rules is not None:
        for state in dialect.states:
            if _are_stored(tables, dialect, state, {(Effect.STORE_OFFSETS,)}, rules.ruled_out):
                yield (dialect, state), rules
