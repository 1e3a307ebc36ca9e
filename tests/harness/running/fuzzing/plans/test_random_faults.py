from __future__ import annotations

import pytest
from tests.harness.running.fuzzing.drawn import Dice

from groupproof.harness.running.fuzzing.plans.random_faults import Kind, Setting, codes_of, random_fault
from groupproof.protocol.faults import Answer, Cut, Duplicate, Fault, Hold, Move, Silence, fault_from_json, fault_to_json
from groupproof.protocol.rules import profile
from groupproof.protocol.vocabulary import Api

NEWEST = profile("kafka-4.1")


def mishaps(api: Api, *kinds: Kind, count: int = 300, **setting: bool) -> list[Fault]:
    drawn_by = Setting(profile="kafka-4.1", kinds=kinds or tuple(Kind), session_ms=6_000, heartbeat_ms=300, **setting)
    dice = Dice(1)
    return [random_fault(dice, f"f{number}", api, "m0", drawn_by) for number in range(count)]


@pytest.mark.parametrize(
    ("api", "codes"),
    [
        (Api.HEARTBEAT, {15, 16, 22, 25, 27, 30, 82}),
        (Api.SYNC_GROUP, {-1, 14, 15, 16, 22, 23, 25, 27, 30, 82}),
        (Api.OFFSET_COMMIT, {-1, 14, 15, 16, 22, 25, 27, 30, 82}),
        (Api.JOIN_GROUP, {-1, 14, 15, 16, 23, 25, 30, 81, 82}),
        (Api.OFFSET_FETCH, {14, 15, 16, 30}),
        (Api.LEAVE_GROUP, {14, 15, 16, 25, 30, 82}),
        (Api.FIND_COORDINATOR, {15, 30}),
    ],
)
def test_the_errors_of_a_request_are_those_of_the_release(api: Api, codes: set[int]) -> None:
    assert set(codes_of(api, NEWEST)) == codes


def test_an_older_release_has_errors_of_its_own() -> None:
    assert set(codes_of(Api.SYNC_GROUP, profile("kafka-2.4"))) != set(codes_of(Api.SYNC_GROUP, NEWEST))


def test_what_ends_a_client_is_drawn_only_where_it_is_asked_for() -> None:
    def codes(**setting: bool) -> set[int]:
        return {fault.action.error_code for fault in mishaps(Api.HEARTBEAT, Kind.ANSWER, **setting) if isinstance(fault.action, Answer)}

    assert codes() == {15, 16, 22, 25, 27}
    assert codes(is_final=True) == {15, 16, 22, 25, 27, 30}
    assert codes(is_final=True, is_static=True) == {15, 16, 22, 25, 27, 30, 82}


def test_every_kind_comes_and_none_that_is_left_out() -> None:
    actions = {type(fault.action) for fault in mishaps(Api.JOIN_GROUP)}

    assert actions == {Answer, Hold, Cut, Silence, Duplicate, Move}
    assert {type(fault.action) for fault in mishaps(Api.JOIN_GROUP, Kind.CUT)} == {Cut}


def test_delays_lie_around_the_times_at_which_clients_act() -> None:
    delays = {fault.action.ms for fault in mishaps(Api.SYNC_GROUP, Kind.HOLD) if isinstance(fault.action, Hold)}

    assert delays == {150, 400, 900, 3_000, 5_700, 6_400}


def test_a_random_fault_acts_on_its_client_and_is_written_as_schedules_write_it() -> None:
    for fault in mishaps(Api.HEARTBEAT):
        assert fault.selector.client == "m0"
        assert fault.selector.api == "Heartbeat"
        assert fault_from_json(fault_to_json(fault)) == fault
