"""The classic dialect: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, as every release of Kafka speaks it."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.spec.admin_releases import ADMIN_DELTAS
from groupproof.protocol.spec.append_errors import NEWEST_APPENDS
from groupproof.protocol.spec.classic_group import BEFORE_GROUP, TABLE, UNREACHABLE
from groupproof.protocol.spec.dialect import Dialect
from groupproof.protocol.spec.java_releases import JAVA_DELTAS
from groupproof.protocol.spec.releases import DELTAS, NEWEST_FIELDS
from groupproof.protocol.spec.terms import REQUESTS, Effect, Form, Guard, On
from groupproof.protocol.vocabulary import VALID_PREVIOUS_STATES, GroupState

__all__ = ["CLASSIC"]

CLASSIC: Final = Dialect(
    name="classic",
    group_says="a classic group",
    states=GroupState,
    events=tuple(On),
    requests=REQUESTS,
    timers=frozenset({On.SESSION_END, On.INITIAL_DELAY_END, On.JOIN_DEADLINE, On.SYNC_DEADLINE, On.CLEANUP}),
    guards=tuple(Guard),
    otherwise=Guard.ALWAYS,
    answers=tuple(Form),
    effects=tuple(Effect),
    cells=TABLE,
    before_group=BEFORE_GROUP,
    unreachable=UNREACHABLE,
    valid_previous_states=VALID_PREVIOUS_STATES,
    fields=NEWEST_FIELDS,
    appends=NEWEST_APPENDS,
    deltas=(*DELTAS, *ADMIN_DELTAS, *JAVA_DELTAS),
    since=(0, 9),
)
