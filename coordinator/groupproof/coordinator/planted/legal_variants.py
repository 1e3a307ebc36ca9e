"""Legal deviations from Apache Kafka, as other brokers have them: no case may fail on them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.choices import JoinedGroup, RandomChoices
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.variant import ConnectionVariant, Variant
from groupproof.coordinator.planted.other_brokers import LEGAL_CLASSIC
from groupproof.coordinator.planted.other_targets import LEGAL_TARGETS
from groupproof.coordinator.planted.strict_checks import STRICT_GUARDS
from groupproof.protocol.rules.cells import Row
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_states import LIVE as CLASSIC_LIVE
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.classic.group_table import BEFORE_GROUP
from groupproof.protocol.rules.classic.shared_rows import UNNAMED
from groupproof.protocol.rules.consumer.classic_requests import LIVE
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent, ConsumerGuard, ConsumerState
from groupproof.protocol.rules.consumer.mends import MENDS
from groupproof.protocol.rules.deltas import Change
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.coordinator.machine.timers import TimerKey

__all__ = ["LEGAL"]

Body = dict[str, Any]


class _LastLeads(RandomChoices):
    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return candidates[-1]


class _SecondLeads(RandomChoices):
    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return candidates[len(candidates) // 2]


class _LastOfEqual(RandomChoices):
    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        return tied[-1]


class _GenerationsByTwo(RandomChoices):
    counts_by_one = False

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + 2


class _GenerationsFromZero(RandomChoices):
    """Counts a group's first generation as 0, as Tansu does."""

    counts_by_one = False

    def generation(self, group: JoinedGroup) -> int:
        return 0 if group.subscriptions is None else group.generation + 1


class _GenerationsOfMembers(RandomChoices):
    """Counts a generation only for members: a group that becomes Empty keeps its number."""

    counts_by_one = False

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + bool(group.members.by_id)


class _LastOfPossible(RandomChoices):
    """Chooses without a vote where the members do not agree."""

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        return next((name for name in reversed(possible) if name not in tied), tied[-1])


class _ResolvesAtOnce(RandomChoices):
    """Resolves regular expressions before it answers, as kfake does."""

    def resolves_at_once(self, arrival: Arrival) -> bool:
        return True


class _BareIds(RandomChoices):
    """Makes member ids without the client id, as kfake and Redpanda may do."""

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        return super().member_id("", arrival).lstrip("-")


class _LongIds(RandomChoices):
    def member_id(self, prefix: str, arrival: Arrival) -> str:
        return f"member:{super().member_id(prefix, arrival)}:{'é' * 40}"


_LATE_MS_MAX: Final = 240
"""The greatest lateness of a timer. With that of its answer it is within the 500 ms of the contract."""

_PERIOD_MS: Final = 10_000
_PHASE_MS: Final = 4_000

_MUTED_MS: Final = 2_500
"""Longer than an answer that waits for nothing may take."""

_METERED: Final[Mapping[Api, int]] = {Api.HEARTBEAT: 1, Api.CONSUMER_GROUP_HEARTBEAT: 0, Api.OFFSET_COMMIT: 3, Api.DESCRIBE_GROUPS: 1}
"""The throttled APIs, each with the first version whose answer contains a throttle time."""

_LISTS: Final = ("members", "topics", "partitions", "groups", "results", "coordinators", "api_keys", "brokers")


def _reversed(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _reversed(item, key) for key, item in value.items()}
    if isinstance(value, tuple | list):
        entries = tuple(_reversed(item) for item in value)
        return entries[::-1] if name in _LISTS else entries
    return value


def _every(change: Callable[[Body], Body]) -> ConnectionVariant:
    return ConnectionVariant(says=lambda _, answer: change(answer))


def _throttled(answer: Body) -> Body:
    return {**answer, "throttle_time_ms": 7}


def _under_quota(arrived: IncomingRequest, answer: Body) -> Body:
    """Throttle the client after its heartbeats and commits, as a quota on requests or bytes does (KIP-124, KIP-219)."""
    since = _METERED.get(arrived.wire.api)
    return answer if since is None or arrived.wire.version < since else {**answer, "throttle_time_ms": _MUTED_MS}


def _worded(answer: Body) -> Body:
    """Add an error message to every refusal that has a field for it."""
    result = dict(answer)
    result.update((name, tuple(_worded(dict(item)) for item in answer[name])) for name in ("groups", "coordinators") if name in answer)
    return {**result, "error_message": "no"} if "error_message" in result and result.get("error_code") else result


def _slow_on_some(arrived: IncomingRequest) -> float:
    return 0.2 if arrived.wire.api in (Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.DESCRIBE_GROUPS) else 0.0


def _late_by(drawn_for: str) -> int:
    """Return up to 240 ms, derived from the name, so that it is the same in every run."""
    return zlib.crc32(drawn_for.encode()) % (_LATE_MS_MAX + 1)


def _late_answer(arrived: IncomingRequest) -> float:
    return _late_by(f"{arrived.wire.api}/{arrived.wire.correlation}/{arrived.columns.get('connection')}") / 1000


def _late_timer(key: TimerKey, due_ms: int) -> int:
    return due_ms + _late_by(f"{key.kind}/{key.member_id}/{due_ms}")


def _out_of_step(key: TimerKey, due_ms: int) -> int:
    """Run the cleanup by a clock of its own, independent of the groups' creation: `GroupMetadataManager` schedules it as its broker starts."""
    return due_ms - (due_ms - _PHASE_MS) % _PERIOD_MS if key.kind is ClassicEvent.CLEANUP else due_ms


def _idle_fields(arrived: IncomingRequest, answer: Body) -> Body:
    """Fill fields of JoinGroup refusals that no client reads."""
    if arrived.wire.api is not Api.JOIN_GROUP:
        return answer
    if answer["error_code"] not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
        return {**answer, "generation_id": 0, "leader": "x", "protocol_name": "x"}
    return {**answer, "generation_id": 0, "leader": "x"} if answer["error_code"] == ErrorCode.MEMBER_ID_REQUIRED else answer


def _refuses_filters(arrived: IncomingRequest, answer: Body) -> Body:
    """Refuse a ListGroups whose filters name a state or a type that does not exist, as Redpanda does."""
    if arrived.wire.api is not Api.LIST_GROUPS:
        return answer
    states, types = ({name.strip().lower() for name in arrived.wire.body.get(filter) or ()} for filter in ("states_filter", "types_filter"))
    exist = states <= {state.lower() for state in (*GroupState, *ConsumerState)} and types <= {CLASSIC.name, CONSUMER.name}
    return answer if exist else {**answer, "error_code": ErrorCode.INVALID_REQUEST.value, "groups": ()}


_STRANGER_FIRST: Final = Row("stranger-first", ConsumerGuard.STRANGER, ErrorCode.UNKNOWN_MEMBER_ID, "CGH-45")

LEGAL: Final[tuple[Variant, ...]] = (
    Variant(name="last-leads", says="Of the members that remain the one that joined last follows a leader.", choices=_LastLeads),
    Variant(name="middle-leads", says="Of the members that remain one in the middle follows a leader.", choices=_SecondLeads),
    Variant(name="last-of-equal-protocols", says="Of protocols with equal votes the last voted for is chosen.", choices=_LastOfEqual),
    Variant(name="generations-by-two", says="Each rebalance of a classic group counts two generations.", choices=_GenerationsByTwo),
    Variant(name="generations-from-0", says="A classic group's first generation is 0.", choices=_GenerationsFromZero),
    Variant(name="generations-of-members", says="A classic group that becomes Empty counts no generation.", choices=_GenerationsOfMembers),
    Variant(name="protocol-without-vote", says="Where members do not agree on a protocol, one that is not the most preferred is chosen (JOIN-32).", choices=_LastOfPossible),
    Variant(name="regexes-at-once", says="A heartbeat with a new regular expression is answered with the topics that it matches.", choices=_ResolvesAtOnce),
    Variant(name="own-instance-returns", says="A static member that joins again under its own member id is accepted again, as KIP-848 asks (CGS-07).",
            guards={ConsumerGuard.OWN_INSTANCE_HELD: lambda _: False}),
    Variant(name="names-after-members", says="A SyncGroup's protocol is looked at behind who sends it, whether it is named or not.",
            before={ClassicEvent.SYNC_GROUP: tuple(row for row in BEFORE_GROUP[ClassicEvent.SYNC_GROUP] if row is not UNNAMED)},
            rows=(Change(kind=ClassicEvent.SYNC_GROUP, states=CLASSIC_LIVE, name="protocol-differs", rows=(UNNAMED,), keeps=True),)),
    Variant(name="members-before-size", says="A full group answers UNKNOWN_MEMBER_ID to heartbeats of a stranger (CGM-37).", dialect="consumer",
            rows=(Change(kind=ConsumerEvent.HEARTBEAT, states=LIVE, name="group-full", rows=(_STRANGER_FIRST,), keeps=True),)),
    Variant(name="breaks-off-nowhere", says="What Kafka has no answer for is refused in order: a fetch that names an epoch and no member (CGO-34), an upgrade of a group that is not readable.",
            guards={ConsumerGuard.FETCHES_WITHOUT_NAME: lambda _: False, ConsumerGuard.PROTOCOL_MISSING: lambda _: False}),
    Variant(name="topics-late", says="The coordinator knows a topic two seconds after its broker reports it (CGX-16 is advice).", topics_late_ms=2_000),
    Variant(name="mended", says="What Kafka gets wrong by a known bug is done as KIP-848 has it.", dialect="consumer", fields=dict.fromkeys(MENDS, 1),
            guards={ConsumerGuard.DOWNGRADES_WITHOUT_TARGET: lambda _: False, ConsumerGuard.RETURNS_WITHOUT_TARGET: lambda _: False}),
    Variant(name="stricter", says="What Kafka takes though no KIP asks for it is refused: instance ids that change or do not fit, a switch of the protocol without a join.", guards=STRICT_GUARDS),
    Variant(name="filters-refused", says="ListGroups refuses a filter by a name that does not exist (CGD-22).", line=ConnectionVariant(says=_refuses_filters)),
    Variant(name="bare-member-ids", says="Member ids do not begin with the client id.", choices=_BareIds),
    Variant(name="long-member-ids", says="Member ids are long, and have characters outside ASCII.", choices=_LongIds),
    Variant(name="lists-reversed", says="Lists of members, topics, partitions, groups and versions come in another order.", line=_every(_reversed)),
    Variant(name="throttles", says="Every answer has a throttle time.", line=_every(_throttled)),
    Variant(name="quota", says="Heartbeats, commits and descriptions throttle their connection, which is muted for 2.5 s.",
            line=ConnectionVariant(says=_under_quota, mutes=True)),
    Variant(name="talks", says="Refusals say something.", line=_every(_worded)),
    Variant(name="slower", says="Every answer takes 50 ms.", line=ConnectionVariant(delay_s=lambda _: 0.05)),
    Variant(name="slower-on-some", says="Heartbeats, commits and descriptions take 200 ms.", line=ConnectionVariant(delay_s=_slow_on_some)),
    Variant(name="timers-tick", says="Timers go off up to 20 ms late, at the next tick.", due_ms=lambda _, due_ms: -(-due_ms // 20) * 20),
    Variant(name="timers-late", says="Timers go off 150 ms late.", due_ms=lambda _, due_ms: due_ms + 150),
    Variant(name="slow-to-answer", says="Each answer and each timer is up to 240 ms late.", line=ConnectionVariant(delay_s=_late_answer), due_ms=_late_timer),
    Variant(name="cleanup-out-of-step", says="The periodic cleanup comes every 10 s by the broker's own clock.", due_ms=_out_of_step),
    Variant(name="more-partitions", says="There are 200 partitions of offsets.", settings={"offsets.topic.num.partitions": 200}),
    Variant(name="one-partition", says="There is one partition of offsets.", settings={"offsets.topic.num.partitions": 1}),
    Variant(name="larger-frames", says="Frames may be of 1 GiB.", settings={"socket.request.max.bytes": 1024**3}),
    Variant(name="smaller-frames", says="Frames may be of 4 MiB.", settings={"socket.request.max.bytes": 4 * 1024**2}),
    Variant(name="newcomers-wait-longer", says="A newcomer's first JoinGroup may be parked for ten minutes.", settings={"new.member.join.timeout.ms": 600_000}),
    Variant(name="refusals-hold-more", says="Refused JoinGroups hold fields that no client reads.", line=ConnectionVariant(says=_idle_fields)),
    Variant(name="fewer-versions", says="ApiVersions promises no more than JoinGroup v8, SyncGroup v4 and OffsetCommit v8.",
            versions={Api.JOIN_GROUP: (0, 8), Api.SYNC_GROUP: (0, 4), Api.OFFSET_COMMIT: (2, 8)}),
    *LEGAL_TARGETS,
    *LEGAL_CLASSIC,
)  # fmt: skip
