"""The dialect `consumer` of Kafka's brokers since 4.0: KIP-848, with server-side assignors, epochs, and one request for nearly everything."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.cells import AnswerName, EventKind
from groupproof.protocol.rules.classic.append_errors import NEWEST_APPENDS
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.rules.consumer.consumer_releases import CONSUMER_DELTAS, NEWEST_CONSUMER_FIELDS
from groupproof.protocol.rules.consumer.consumer_table import BEFORE_GROUP, CELLS, IN_CLASSIC_GROUPS, UNREACHABLE
from groupproof.protocol.rules.consumer.consumer_terms import STATE_SAYS, ConsumerAnswer, ConsumerEffect, ConsumerEvent, ConsumerGuard, ConsumerState
from groupproof.protocol.rules.consumer.group_configs import BROKER_SETTINGS
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

__all__ = ["CONSUMER"]

EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = ConsumerState
_ROWS: Final = [row for cell in (*BEFORE_GROUP.values(), *(cell for cells in CELLS.values() for cell in cells.values())) for row in cell]
_OLDER: Final = [row for delta in CONSUMER_DELTAS for change in delta.was for row in change.rows]
_ELSEWHERE: Final = [row for cells in IN_CLASSIC_GROUPS.values() for cell in cells.values() for row in cell]
_EVERY: Final = (*_ROWS, *_OLDER, *_ELSEWHERE)
_OWN_EVENTS: Final[tuple[EventKind, ...]] = (
    *ConsumerEvent, ClassicEvent.SESSION_END, ClassicEvent.TXN_MARKER, ClassicEvent.RETENTION, ClassicEvent.CLEANUP, ClassicEvent.LOADED, ClassicEvent.UNLOADED,
)  # fmt: skip

CONSUMER: Final = Dialect(
    name="consumer",
    group_says="a consumer group",
    states=ConsumerState,
    events=_OWN_EVENTS,
    requests=(ConsumerEvent.HEARTBEAT, ConsumerEvent.DESCRIBE),
    timers=frozenset(
        {
            ClassicEvent.SESSION_END,
            ConsumerEvent.REVOCATION_DEADLINE,
            ConsumerEvent.REJOIN_DEADLINE,
            ConsumerEvent.RESYNC_DEADLINE,
            ConsumerEvent.REGEX_RESOLUTION,
            ClassicEvent.CLEANUP,
        }
    ),
    guards=(*ConsumerGuard, *dict.fromkeys(row.guard for row in _EVERY if isinstance(row.guard, Guard))),
    otherwise=CLASSIC.otherwise,
    answers=(*ConsumerAnswer, *dict.fromkeys(row.answer for row in _EVERY if isinstance(row.answer, AnswerName) and isinstance(row.answer, Form))),
    effects=(*ConsumerEffect, *dict.fromkeys(effect for row in _EVERY for effect in (*row.effects, *row.after) if isinstance(effect, Effect))),
    cells=CELLS,
    before_group=BEFORE_GROUP,
    unreachable=UNREACHABLE,
    valid_previous_states={
        EMPTY: frozenset({ASSIGNING, RECONCILING, STABLE}),
        ASSIGNING: frozenset({EMPTY, RECONCILING, STABLE}),
        RECONCILING: frozenset({EMPTY, ASSIGNING, STABLE}),
        STABLE: frozenset({EMPTY, ASSIGNING, RECONCILING}),
        DEAD: frozenset(ConsumerState),
    },
    state_says=STATE_SAYS,
    fields=NEWEST_CONSUMER_FIELDS,
    appends={ConsumerEvent.HEARTBEAT: NEWEST_APPENDS[ClassicEvent.JOIN_GROUP]},
    deltas=CONSUMER_DELTAS,
    messages=(
        (ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
        (ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse),
    ),
    settings=BROKER_SETTINGS,
    state_prefix="consumer.",
    since=(4, 0),
    elsewhere={CLASSIC.name: IN_CLASSIC_GROUPS},
    apis_beside={Api.INCREMENTAL_ALTER_CONFIGS: (0, 1), Api.DESCRIBE_CONFIGS: (1, 4)},
)
