from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from groupproof.coordinator.machine.consumer.member_timers import end_session, end_timers, rejoin_of, resync_of, revocation_of
from groupproof.coordinator.machine.timers import Timers, session_of


def test_all_timers_of_a_member_end_and_no_other_members() -> None:
    timers = Timers()
    for key_of in (session_of, revocation_of, rejoin_of, resync_of):
        timers.arm(key_of("g", "a"), 1)
        timers.arm(key_of("g", "b"), 1)
    engine: Any = SimpleNamespace(timers=timers)
    end_timers(engine, "g", "a")

    assert len(timers) == 4
    assert {key.member_id for key in timers._due} == {"b"}


def test_the_times_of_a_classic_member_outlive_its_session() -> None:
    timers = Timers()
    for key_of in (session_of, revocation_of, rejoin_of, resync_of):
        timers.arm(key_of("g", "a"), 1)
    engine: Any = SimpleNamespace(timers=timers)
    end_session(engine, "g", "a")

    assert set(timers._due) == {rejoin_of("g", "a"), resync_of("g", "a")}
