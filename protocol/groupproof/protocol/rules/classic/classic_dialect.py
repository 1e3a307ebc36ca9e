"""The classic dialect: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, as every release of Kafka speaks it."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.classic.admin_releases import ADMIN_DELTAS
from groupproof.protocol.rules.classic.append_errors import NEWEST_APPENDS
from groupproof.protocol.rules.classic.classic_states import STATE_SAYS
from groupproof.protocol.rules.classic.classic_terms import REQUESTS, ClassicEvent, Effect, Form, Guard
from groupproof.protocol.rules.classic.group_table import BEFORE_GROUP, TABLE, UNREACHABLE
from groupproof.protocol.rules.classic.java_releases import JAVA_DELTAS
from groupproof.protocol.rules.classic.releases import DELTAS, NEWEST_FIELDS
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import VALID_PREVIOUS_STATES, GroupState

__all__ = ["CLASSIC"]

CLASSIC: Final = Dialect(
    name="classic",
    group_says="a classic group",
    states=GroupState,
    events=tuple(ClassicEvent),
    requests=REQUESTS,
    timers=frozenset(
        {ClassicEvent.SESSION_END, ClassicEvent.INITIAL_DELAY_END, ClassicEvent.JOIN_DEADLINE, ClassicEvent.SYNC_DEADLINE, ClassicEvent.CLEANUP}
    ),
    guards=tuple(Guard),
    otherwise=Guard.ALWAYS,
    answers=tuple(Form),
    effects=tuple(Effect),
    cells=TABLE,
    before_group=BEFORE_GROUP,
    unreachable=UNREACHABLE,
    valid_previous_states=VALID_PREVIOUS_STATES,
    state_says=STATE_SAYS,
    fields=NEWEST_FIELDS,
    appends=NEWEST_APPENDS,
    deltas=(*DELTAS, *ADMIN_DELTAS, *JAVA_DELTAS),
    since=(0, 9),
)
