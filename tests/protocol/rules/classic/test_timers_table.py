"""The timers of the classic group: each belongs to a state, and ends nobody who is waiting."""

from __future__ import annotations

from groupproof.protocol.rules import ClassicEvent, Effect
from groupproof.protocol.rules.classic.timers_table import CONSEQUENCES, TIMERS, UNREACHABLE_TIMERS
from groupproof.protocol.vocabulary import GroupState

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE


def test_timers_and_consequences_are_no_input_of_a_peer() -> None:
    assert not TIMERS.keys() & CONSEQUENCES.keys()
    assert {kind for kind, _ in UNREACHABLE_TIMERS} <= TIMERS.keys() | CONSEQUENCES.keys()


def test_parked_members_are_checked_before_anyone_is_removed() -> None:
    for state in (PREPARING, COMPLETING):
        names = [row.name for row in TIMERS[ClassicEvent.SESSION_END][state]]
        assert names.index("parked") < names.index("session-ends")


def test_an_ended_session_removes_its_member_and_an_ended_pending_id_only_itself() -> None:
    for cell in TIMERS[ClassicEvent.SESSION_END].values():
        for row in cell:
            if row.name == "session-ends":
                assert row.effects[:2] == (Effect.TELL_REMOVED, Effect.REMOVE)
            elif row.name == "pending-ends":
                assert row.effects == (Effect.DROP_PENDING,)
                assert row.then is None


def test_every_end_of_the_join_phase_counts_a_generation() -> None:
    ending = [row for cells in (*TIMERS.values(), *CONSEQUENCES.values()) for row in cells.get(PREPARING, ())]
    ending = [row for row in ending if row.then in (COMPLETING, GroupState.EMPTY)]

    assert len(ending) == 8
    for row in ending:
        wanted = Effect.NEXT_GENERATION if row.then is COMPLETING else Effect.NEXT_GENERATION_EMPTY
        assert row.effects == (Effect.END_UNJOINED_TIMERS, Effect.EVICT_UNJOINED, wanted)
        assert row.after == ((Effect.ANSWER_JOINS, Effect.START_SYNC_DEADLINE) if row.then is COMPLETING else (Effect.STORE_GROUP,))


def test_only_a_request_s_check_respects_the_initial_delay() -> None:
    assert next(row.name for row in CONSEQUENCES[ClassicEvent.JOIN_CHECK][PREPARING]) == "initial-delay"
    assert CONSEQUENCES[ClassicEvent.JOIN_CHECK][PREPARING][1:] == CONSEQUENCES[ClassicEvent.ABSENCE_CHECK][PREPARING]
