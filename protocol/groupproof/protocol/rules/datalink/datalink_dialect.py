"""The dialect of DataLink's Manager, a relative of Kafka's coordinators, as differences from Kafka 0.10.1, its model.

Read in `GroupCoordinator`, `GroupMetadata` and `SessionHandler` of ucarGroup/DataLink at dd8d26a, and in the design that the catalogue calls seed
001. Its table is the classic one of Kafka's oldest release with the delta here: no initial delay, no storage, no offsets, and an operator who can
force a rebalance. The profile `datalink` has no Dead group (MGR-32, DISC-19). `datalink-dead` adds the Dead state, which the code answers for but
never enters, and which the design plans (PLAN-04).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.api_versions import Range
from groupproof.protocol.rules.cells import AnswerName, Cell, EffectName, EventKind
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD, EMPTY, PREPARING, STABLE
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, ClassicEvent, Effect, Guard, Row, State
from groupproof.protocol.rules.classic.group_table import TABLE
from groupproof.protocol.rules.defaults import NEWEST_DEFAULTS
from groupproof.protocol.rules.deltas import Change, CoordinatorKind, Delta, Release, gone
from groupproof.protocol.rules.dialect import Dialect, Relative, table_of, undone
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["BASE", "DATALINK", "DEFAULTS", "VERSIONS", "ManagerEffect", "ManagerKind"]


class ManagerKind(EventKind):
    """Events of a group of workers that no group of Kafka's has."""

    FORCED = "Forced"  # an operator asks for a rebalance


class ManagerEffect(EffectName):
    """Effects that only the Manager has."""

    KEEP_ASSIGNMENT = "take the leader's assignment, which is stored nowhere, then Appended"


BASE: Final[Release] = (0, 10, 1)
"""The Kafka release that is DataLink's model (TIMER-27)."""

_READ: Final = "Read in the sources of ucarGroup/DataLink at dd8d26a, which was written after Kafka 0.10.1.0; not compared with a running Manager."
ALIVE: Final = (EMPTY, PREPARING, COMPLETING, STABLE)

# Oldest and newest version (TIMER-27) of the APIs that SessionHandler has a case for. It has none for ApiVersions, which is served here for tools.
VERSIONS: Final[Mapping[Api, Range]] = {
    Api.METADATA: (0, 2), Api.FIND_COORDINATOR: (0, 0), Api.JOIN_GROUP: (0, 1), Api.HEARTBEAT: (0, 0), Api.LEAVE_GROUP: (0, 0),
    Api.SYNC_GROUP: (0, 0), Api.API_VERSIONS: (0, 0),
}  # fmt: skip

# TIMER-31. One partition of a topic that does not exist: of two Managers one coordinates every group, for any group id.
DEFAULTS: Final[Mapping[str, int]] = {
    **NEWEST_DEFAULTS, "group.initial.rebalance.delay.ms": 0, "group.max.session.timeout.ms": 300_000, "offsets.topic.num.partitions": 1,
}  # fmt: skip

_FORCED: Final = "forced by the operator"
_REQUESTS: Final = (ClassicEvent.JOIN_GROUP, ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT, ClassicEvent.LEAVE_GROUP)
_KINDS: Final[tuple[EventKind, ...]] = (
    *_REQUESTS, ClassicEvent.LEAVE_ENTRY, ClassicEvent.SESSION_END, ClassicEvent.JOIN_DEADLINE, ClassicEvent.RETENTION, ClassicEvent.CLEANUP, ClassicEvent.LEFT, ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK, ClassicEvent.APPENDED,
    ClassicEvent.UNLOADED, ManagerKind.FORCED,
)  # fmt: skip
"""The Manager has no offset requests, no initial delay (IDJ-15), no limit for a SyncGroup's wait (DISC-14), and no storage (MGR-33, MGR-34)."""


def _forced(state: State, row: Row) -> Change:
    return Change(kind=ManagerKind.FORCED, states=(state,), rows=(row,))


_MANAGER = Delta(
    since=(0, 11),
    change="DataLink's Manager: joins of an Empty group end as soon as everybody has joined (no KIP-134), groups are in memory alone and for ever, "
    "offsets are none of its affairs, and an operator forces rebalances",
    was=(
        *(change for kind in (ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK) for change in gone(kind, (PREPARING,), "initial-delay")),
        *(Change(kind=ClassicEvent.APPENDED, states=(state,)) for state in (EMPTY, PREPARING, STABLE, DEAD)),
        *gone(ClassicEvent.APPENDED, (COMPLETING,), "passed"),
        *(
            Change(kind=ClassicEvent.RETENTION, states=(state,), rows=(Row("nothing-kept", Guard.ALWAYS, None, "MGR-34", note="there are no offsets"),))
            for state in ALIVE
        ),
        Change(kind=ClassicEvent.CLEANUP, states=(EMPTY,), rows=(
            Row("stays", Guard.ALWAYS, None, "MGR-20", note="GroupMetadataManager never removes a group; only a switch clears them all"),
        )),
        _forced(NO_GROUP, Row("no-group", Guard.ALWAYS, None, "TR-128", note="forceRebalance ends in a NullPointerException")),
        _forced(EMPTY, Row("forced-empty", Guard.ALWAYS, None, "TR-128", then=PREPARING, after=(Effect.AWAIT_JOINS,), because=_FORCED)),
        _forced(PREPARING, Row("prepares-already", Guard.ALWAYS, None, "TR-128", note="canRebalance is false")),
        _forced(COMPLETING, Row(
            "forced-completing", Guard.ALWAYS, None, "TR-128", effects=(Effect.ABORT_SYNCS,), then=PREPARING, after=(Effect.AWAIT_JOINS,), because=_FORCED,
        )),
        _forced(STABLE, Row("forced", Guard.ALWAYS, None, "TR-128", then=PREPARING, after=(Effect.AWAIT_JOINS,), because=_FORCED)),
        _forced(DEAD, Row("dead", Guard.ALWAYS, None, "TR-128", note="onCompleteJoin asks whether the group is Dead")),
    ),
    effects={
        Effect.START_INITIAL_DELAY: (Effect.AWAIT_JOINS,), Effect.STORE_ASSIGNMENT: (ManagerEffect.KEEP_ASSIGNMENT,), Effect.STORE_GROUP: (),
        Effect.DELETE_RECORDS: (), Effect.END_SYNC_DEADLINE: (), Effect.START_SYNC_DEADLINE: (), Effect.MARK_SYNCED: (),
        Effect.REFRESH_SESSION_SPARING_NEWCOMERS: (Effect.REFRESH_SESSION,),
    },
)  # fmt: skip

_SWITCHED = Row(
    "cleared", Guard.ALWAYS, None, "MGR-33", effects=(Effect.FORGET_GROUP,),
    note="clearGroupMetaInfo: the map is emptied, nobody is answered, and no state is entered",
)  # fmt: skip

# The rules of `datalink` alone. Its deltas come after the common ones.
_WITHOUT_DEAD = Delta(
    since=(0, 10, 2),
    change="nothing ever enters Dead: of a switch of the Managers the groups are only cleared",
    was=(
        *(Change(kind=ClassicEvent.UNLOADED, states=(state,), rows=(_SWITCHED,)) for state in ALIVE),
        *(
            Change(kind=kind, states=(DEAD,))
            for kind, states in TABLE.items()
            if kind in _KINDS and DEAD in states and kind is not ClassicEvent.APPENDED
        ),
        Change(kind=ManagerKind.FORCED, states=(DEAD,)),
    ),
)

_NO_DEAD: Final = "nothing enters Dead (MGR-32, DISC-19)"
_AT_ONCE: Final = "nothing is stored: the leader's assignment is in force at once (MGR-34)"
_KAFKA: Final = table_of(CLASSIC, BASE, CoordinatorKind.SCALA)

_CELLS: Final = undone(_MANAGER, {**{event: cells for event, cells in _KAFKA.cells.items() if event in _KINDS}, ManagerKind.FORCED: {}})
_ROWS: Final = [row for states in _CELLS.values() for cell in states.values() for row in cell] + [_SWITCHED]
_BEFORE: Final[Mapping[EventKind, Cell]] = {event: _KAFKA.before_group[event] for event in _REQUESTS}
_CHECKS: Final = [check for checks in _BEFORE.values() for check in checks]

DATALINK: Final = Dialect(
    name="datalink",
    group_says="a group of DataLink's workers",
    states=GroupState,
    events=_KINDS,
    requests=_REQUESTS,
    timers=CLASSIC.timers & set(_KINDS),
    guards=tuple(dict.fromkeys(row.guard for row in (*_CHECKS, *_ROWS))),
    otherwise=CLASSIC.otherwise,
    answers=tuple(dict.fromkeys(row.answer for row in (*_CHECKS, *_ROWS) if isinstance(row.answer, AnswerName))),
    effects=tuple(dict.fromkeys(effect for row in (*_CHECKS, *_ROWS) for effect in (*row.effects, *row.after))),
    cells=_CELLS,
    before_group=_BEFORE,
    unreachable={
        **{place: reason for place, reason in _KAFKA.unreachable.items() if place[0] in _KINDS},
        **{(ClassicEvent.APPENDED, state): _AT_ONCE for state in (EMPTY, PREPARING, STABLE, DEAD)},
    },
    valid_previous_states=CLASSIC.valid_previous_states,
    state_says={
        **CLASSIC.state_says,
        EMPTY: "The group has no member.",
        PREPARING: "A rebalance has begun: joins are parked until everybody has joined or the deadline ends.",
        STABLE: "The leader's assignment is in force; heartbeats keep the members alive.",
        DEAD: "The group is removed, or its Manager has stopped: planned, and entered in `datalink-dead` alone.",
    },
    fields=_KAFKA.fields,
    appends={event: answers for event, answers in _KAFKA.appends.items() if event in _KINDS},
    relatives=(
        Relative(
            name="datalink",
            release=BASE,
            says=f"{_READ} No group is ever Dead, as the design says.",
            api_versions=VERSIONS,
            defaults=DEFAULTS,
            deltas=(_WITHOUT_DEAD,),
            unreachable={(kind, DEAD): _NO_DEAD for kind in _KINDS},
        ),
        Relative(
            name="datalink-dead",
            release=BASE,
            says=f"{_READ} Dead is as planned: what leaves a Manager goes through it.",
            api_versions=VERSIONS,
            defaults=DEFAULTS,
        ),
    ),
)
