"""Guards: one function for each name of the table, pure, and right at their bounds."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.event import CoordinatorStatus, Event
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.members import Member
from groupproof.protocol.rules import ClassicEvent, Guard
from groupproof.protocol.rules.classic.classic_terms import VERSION_GUARDS
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinProtocol, OffsetDeleteRequest, SyncGroupRequest

RANGE = (JoinProtocol(name="range", metadata=b"r"),)


def _group(*member_ids: str, state: GroupState = GroupState.STABLE) -> Group:
    group = Group(group_id="g", state=state, generation=3, protocol_type="consumer", protocol_name="range")
    for member_id in member_ids:
        instance = member_id.removesuffix("-1") if member_id.endswith("-1") else None
        group.members.add(
            Member(
                member_id=member_id,
                group_instance_id=instance,
                client_id="c",
                client_host="h",
                session_timeout_ms=1,
                rebalance_timeout_ms=2,
                protocol_type="consumer",
                protocols=RANGE,
            )
        )
    return group


def _input(group: Group | None = None, member_id: str = "", instance_id: str | None = None, generation: int = -1, version: int = 9) -> Event:
    return Event(
        kind=ClassicEvent.JOIN_GROUP, now_ms=0, settings=Settings(), group_id="g", group=group, member_id=member_id, instance_id=instance_id,
        generation=generation, arrival=Arrival(token=1, api_version=version, client_id="c", client_host="h"),
    )  # fmt: skip


def _holds(guard: Guard, event: Event) -> bool:
    return GUARDS[guard](event)


def test_names_and_functions_match_one_to_one() -> None:
    assert GUARDS.keys() == set(Guard)
    assert len(set(GUARDS.values())) == len(GUARDS)


def test_the_gate_is_judged_by_its_three_facts() -> None:
    gates = {
        Guard.NOT_ACTIVE: CoordinatorStatus(active=False),
        Guard.LOADING: CoordinatorStatus(loading=True),
        Guard.NOT_LED_HERE: CoordinatorStatus(led=False),
    }
    for guard, gate in gates.items():
        event = _input()
        assert not _holds(guard, event)
        event.gate = gate
        assert _holds(guard, event)


@pytest.mark.parametrize(("session_ms", "holds"), [(5_999, True), (6_000, False), (1_800_000, False), (1_800_001, True)])
def test_session_timeouts_are_bounded_inclusively(session_ms: int, holds: bool) -> None:
    event = _input()
    event.request = JoinGroupRequest(group_id="g", session_timeout_ms=session_ms)

    assert _holds(Guard.SESSION_TIMEOUT_OUT_OF_BOUNDS, event) is holds


def test_the_caller() -> None:
    group = _group("m", "a-1")
    group.members.pending["p"] = None

    assert _holds(Guard.STRANGER, _input(group, "p"))
    assert not _holds(Guard.STRANGER, _input(group, "m"))
    assert _holds(Guard.PENDING, _input(group, "p"))
    assert _holds(Guard.PENDING_WITH_INSTANCE, _input(group, "p", "b"))
    assert not _holds(Guard.PENDING_WITH_INSTANCE, _input(group, "p"))
    assert _holds(Guard.LEADER, _input(group, "m"))
    assert not _holds(Guard.LEADER, _input(group, "a-1"))


@pytest.mark.parametrize(("member_id", "instance_id", "fenced", "unknown"), [
    ("a-1", "a", False, False), ("m", "a", True, False), ("", "a", True, False), ("m", "b", False, True), ("m", None, False, False),
])  # fmt: skip
def test_instances(member_id: str, instance_id: str | None, fenced: bool, unknown: bool) -> None:
    event = _input(_group("m", "a-1"), member_id, instance_id)

    assert _holds(Guard.FENCED, event) is fenced
    assert _holds(Guard.INSTANCE_UNKNOWN, event) is unknown


@pytest.mark.requirement("HB-09")
@pytest.mark.parametrize(("generation", "other"), [(2, True), (3, False), (4, True), (-1, True)])
def test_generations_are_compared_for_inequality(generation: int, other: bool) -> None:
    assert _holds(Guard.OTHER_GENERATION, _input(_group("m"), "m", generation=generation)) is other


@pytest.mark.parametrize(("member_id", "instance_id", "generation", "holds"), [
    ("", None, -1, True), ("m", None, -1, False), ("", "a", -1, False), ("", None, 0, False),
])  # fmt: skip
def test_nobody_is_named_by_no_id_no_instance_and_no_generation(member_id: str, instance_id: str | None, generation: int, holds: bool) -> None:
    assert _holds(Guard.NAMES_NOBODY, _input(_group("m"), member_id, instance_id, generation)) is holds


@pytest.mark.parametrize(("protocol_type", "protocol_name", "holds"), [
    (None, None, False), ("consumer", "range", False), ("consumer", None, False), ("connect", None, True), (None, "sticky", True),
])  # fmt: skip
def test_a_protocol_that_is_not_named_does_not_differ(protocol_type: str | None, protocol_name: str | None, holds: bool) -> None:
    event = _input(_group("m"), "m")
    event.request = SyncGroupRequest(group_id="g", generation_id=3, member_id="m", protocol_type=protocol_type, protocol_name=protocol_name)

    assert _holds(Guard.PROTOCOL_DIFFERS, event) is holds


@pytest.mark.parametrize(("version", "protocol_type", "protocol_name", "holds"), [
    (4, None, None, False), (5, None, None, True), (5, "consumer", None, True), (5, None, "range", True), (5, "consumer", "range", False),
])  # fmt: skip
def test_protocol_type_and_name_must_be_named_from_version_5_on(
    version: int, protocol_type: str | None, protocol_name: str | None, holds: bool
) -> None:
    event = _input(_group("m"), "m", version=version)
    event.request = SyncGroupRequest(group_id="g", generation_id=3, member_id="m", protocol_type=protocol_type, protocol_name=protocol_name)

    assert _holds(Guard.PROTOCOL_UNNAMED, event) is holds


@pytest.mark.parametrize(("version", "instance_id", "member_id", "holds"), [
    (3, None, "", False), (4, None, "", True), (4, "a", "", False), (4, None, "m", False),
])  # fmt: skip
def test_an_id_is_needed_from_version_4_on_by_dynamic_newcomers(version: int, instance_id: str | None, member_id: str, holds: bool) -> None:
    assert _holds(Guard.MEMBER_ID_NEEDED, _input(_group("m"), member_id, instance_id, version=version)) is holds


@pytest.mark.requirement("PEND-01")
def test_no_id_is_needed_where_the_broker_admits_newcomers_at_once() -> None:
    event = _input(_group("m"), "", None, version=9)
    assert event.arrival is not None
    event.arrival = event.arrival._replace(joins_at_once=True)

    assert not _holds(Guard.MEMBER_ID_NEEDED, event)


@pytest.mark.requirement("JOIN-26")
@pytest.mark.parametrize(("protocols", "same"), [
    (RANGE, True),
    ((*RANGE, JoinProtocol(name="sticky", metadata=b"")), False),
    ((JoinProtocol(name="range", metadata=b"R"),), False),
    ((), False),
])  # fmt: skip
def test_metadata_is_the_same_byte_for_byte(protocols: tuple[JoinProtocol, ...], same: bool) -> None:
    event = _input(_group("m"), "m")
    event.request = JoinGroupRequest(group_id="g", session_timeout_ms=1, member_id="m", protocols=protocols)

    assert _holds(Guard.METADATA_SAME, event) is same


@pytest.mark.parametrize(("size_max", "member_id", "state", "full"), [
    (1, "", GroupState.STABLE, True),
    (1, "m", GroupState.STABLE, False),
    (2, "", GroupState.STABLE, False),
    (1, "", GroupState.PREPARING_REBALANCE, False),  # nobody has joined yet
    (0, "m", GroupState.PREPARING_REBALANCE, True),
])  # fmt: skip
def test_a_group_is_full_by_members_or_while_preparing_by_those_who_joined(size_max: int, member_id: str, state: GroupState, full: bool) -> None:
    event = _input(_group("m", state=state), member_id)
    event.settings = replace(Settings(), group_max_size=size_max)

    assert _holds(Guard.GROUP_IS_FULL, event) is full


def test_a_guard_changes_nothing() -> None:
    group = _group("m", "a-1")
    before = group.view()
    for guard, holds in GUARDS.items():
        event = _input(group, "m", generation=3)
        event.request = JoinGroupRequest(group_id="g", session_timeout_ms=1, member_id="m", protocol_type="consumer", protocols=RANGE)
        if guard in (Guard.PROTOCOL_DIFFERS, Guard.PROTOCOL_UNNAMED):
            event.request = SyncGroupRequest(group_id="g", generation_id=3, member_id="m")
        if guard is Guard.LAST_OFFSETS_NAMED:
            event.request = OffsetDeleteRequest(group_id="g")
        holds(event)

    assert group.view() == before


@pytest.mark.parametrize(("generation", "here", "there"), [(-1, False, False), (0, True, False), (3, False, True), (4, True, True)])
def test_a_generation_is_another_only_where_one_is_named_and_a_group_that_is_not_there_has_0(generation: int, here: bool, there: bool) -> None:
    assert _holds(Guard.OTHER_GENERATION_NAMED, _input(_group("m"), "m", generation=generation)) is here
    assert _holds(Guard.OTHER_GENERATION_NAMED, _input(None, "m", generation=generation)) is there


@pytest.mark.parametrize(
    ("size_max", "member_id", "full"), [(1, "", True), (2, "", False), (1, "was-pending", False), (0, "m", True), (1, "m", False)]
)
def test_a_group_is_full_by_its_size_to_newcomers_and_beyond_it_to_members(size_max: int, member_id: str, full: bool) -> None:
    event = _input(_group("m"), member_id)
    event.settings = replace(Settings(), group_max_size=size_max)

    assert _holds(Guard.GROUP_IS_FULL_BY_SIZE, event) is full


@pytest.mark.parametrize(("size_max", "oversized"), [(0, True), (1, False)])
def test_a_group_of_its_greatest_size_is_not_beyond_it(size_max: int, oversized: bool) -> None:
    event = _input(_group("m"))
    event.settings = replace(Settings(), group_max_size=size_max)

    assert _holds(Guard.OVERSIZED, event) is oversized


def test_the_guards_of_the_version_are_those_that_read_it() -> None:
    of_fields = {Guard.PROTOCOL_DIFFERS}  # of SyncGroup v5
    assert {name for name, guard in GUARDS.items() if "event.version" in inspect.getsource(guard)} == VERSION_GUARDS - of_fields
