from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.faults import (
    Answer,
    Corrupt,
    Cut,
    Drop,
    Duplicate,
    Fault,
    Frame,
    FrameFilter,
    Hold,
    Move,
    Reorder,
    Selector,
    Silence,
    corrupted,
    fault_from_json,
    fault_to_json,
)

HEARTBEAT = Frame(api="Heartbeat", direction="request", client="m0", group="g", member="m0-1", generation=3, role="leader", state="Stable", node=1)

selectors = st.builds(
    Selector,
    api=st.sampled_from(["JoinGroup", "Heartbeat"]),
    direction=st.sampled_from(["request", "response"]),
    nth=st.integers(1, 3),
    count=st.none() | st.integers(1, 3),
    client=st.none() | st.text(max_size=3),
    generation=st.none() | st.integers(-1, 3),
    role=st.none() | st.sampled_from(["leader", "follower"]),
    state=st.none() | st.just("Stable"),
    error=st.none() | st.integers(-1, 30),
)
actions = st.one_of(
    st.builds(Answer, error_code=st.integers(-1, 9999), body=st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)),
    st.builds(Hold, ms=st.none() | st.integers(0, 10_000)),
    st.just(Silence()),
    st.builds(Cut, reset=st.booleans()),
    st.just(Duplicate()),
    st.just(Drop()),
    st.builds(Corrupt, seed=st.integers(), bytes=st.integers(min_value=1, max_value=9)),
    st.builds(Reorder, ms=st.none() | st.integers(min_value=0)),
    st.builds(Move, to=st.none() | st.integers(0, 3), parked=st.sampled_from(["answer", "drop"]), state=st.sampled_from(["kept", "lost"])),
)
faults = st.builds(Fault, name=st.text(min_size=1, max_size=5), selector=selectors, action=actions)


def strikes(frame_filter: FrameFilter, frames: list[Frame]) -> list[str | None]:
    struck = [frame_filter.match(frame) for frame in frames]
    return [None if fault is None else fault.name for fault in struck]


def armed(**selectors: Selector) -> FrameFilter:
    frame_filter = FrameFilter()
    for name, selector in selectors.items():
        frame_filter.arm(Fault(name=name, selector=selector, action=Silence()))
    return frame_filter


@given(faults)
def test_a_fault_survives_its_json(fault: Fault) -> None:
    assert fault_from_json(json.loads(json.dumps(fault_to_json(fault)))) == fault


def test_a_faults_json_leaves_defaults_of_the_selector_out() -> None:
    fault = Fault(name="f", selector=Selector(api="JoinGroup", direction="response", count=None), action=Hold(ms=500))

    assert fault_to_json(fault) == {
        "name": "f", "on": {"api": "JoinGroup", "direction": "response", "count": None}, "do": {"kind": "hold", "ms": 500},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"name": "f", "on": {"api": "Heartbeat"}, "do": {"kind": "explode"}}, "not a fault: 'explode'"),
        ({"name": "f", "on": {"api": "Heartbeat", "colour": 1}, "do": {"kind": "silence"}}, "not a fault: .*colour"),
        ({"name": "f", "do": {"kind": "silence"}}, "not a fault: 'on'"),
        ({"name": "f", "on": {"api": "Heartbeat"}, "do": {"kind": "answer"}}, "not a fault: .*error_code"),
    ],
)
def test_json_that_is_no_fault_is_refused_with_the_part_that_is_wrong(value: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fault_from_json(value)


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("api", "JoinGroup"), ("direction", "response"), ("client", "m1"), ("group", "h"), ("member", "m0-2"), ("instance", "i"),
        ("generation", 4), ("member_epoch", -1), ("role", "follower"), ("state", "Empty"), ("node", 0), ("error", 27),
    ],
)  # fmt: skip
def test_every_column_of_a_selector_can_tell_frames_apart(column: str, other: Any) -> None:
    same = getattr(HEARTBEAT, column)
    assert Selector(**{"api": "Heartbeat", column: same}).matches(HEARTBEAT)
    assert not Selector(**{"api": "Heartbeat", column: other}).matches(HEARTBEAT)


def test_a_generation_of_zero_is_not_treated_as_any_generation() -> None:
    assert not Selector(api="Heartbeat", generation=0).matches(HEARTBEAT)


@pytest.mark.parametrize(
    ("nth", "count", "struck"),
    [(1, 1, [1]), (2, 1, [2]), (2, 2, [2, 3]), (3, None, [3, 4, 5]), (1, None, [1, 2, 3, 4, 5]), (6, 1, [])],
)
def test_a_fault_acts_on_the_nth_matching_frame_and_count_minus_one_more(nth: int, count: int | None, struck: list[int]) -> None:
    frame_filter = armed(f=Selector(api="Heartbeat", nth=nth, count=count))
    found = strikes(frame_filter, [HEARTBEAT] * 5)

    assert [number for number, name in enumerate(found, 1) if name] == struck


def test_frames_that_do_not_match_are_not_counted() -> None:
    frame_filter = armed(f=Selector(api="Heartbeat", nth=2))
    join = Frame(api="JoinGroup", direction="request")

    assert strikes(frame_filter, [HEARTBEAT, join, join, HEARTBEAT]) == [None, None, None, "f"]


def test_the_first_armed_fault_acts_and_the_others_still_count_the_frame() -> None:
    frame_filter = armed(first=Selector(api="Heartbeat", nth=1), second=Selector(api="Heartbeat", nth=2))

    assert strikes(frame_filter, [HEARTBEAT] * 3) == ["first", "second", None]


def test_a_frame_that_two_would_take_is_not_kept_for_the_second() -> None:
    frame_filter = armed(first=Selector(api="Heartbeat"), second=Selector(api="Heartbeat"))

    assert strikes(frame_filter, [HEARTBEAT] * 2) == ["first", None]


def test_counting_starts_when_a_fault_is_armed() -> None:
    frame_filter = FrameFilter()
    assert frame_filter.match(HEARTBEAT) is None
    frame_filter.arm(Fault(name="f", selector=Selector(api="Heartbeat"), action=Silence()))

    assert strikes(frame_filter, [HEARTBEAT]) == ["f"]


def test_a_fault_that_is_returned_acts_on_the_next_match() -> None:
    frame_filter = armed(f=Selector(api="Heartbeat"))
    assert strikes(frame_filter, [HEARTBEAT]) == ["f"]
    frame_filter.give_back("f")
    frame_filter.give_back("unheard of")

    assert strikes(frame_filter, [HEARTBEAT] * 2) == ["f", None]


def test_a_disarmed_fault_no_longer_acts_and_can_be_armed_again() -> None:
    frame_filter = armed(f=Selector(api="Heartbeat", count=None))
    frame_filter.disarm("f")
    frame_filter.disarm("f")
    assert frame_filter.match(HEARTBEAT) is None

    frame_filter.arm(Fault(name="f", selector=Selector(api="Heartbeat"), action=Silence()))
    assert strikes(frame_filter, [HEARTBEAT]) == ["f"]


def test_a_name_is_armed_once() -> None:
    frame_filter = armed(f=Selector(api="Heartbeat"))
    with pytest.raises(ValueError, match="a fault named 'f' is already armed"):
        frame_filter.arm(Fault(name="f", selector=Selector(api="JoinGroup"), action=Silence()))


def test_a_response_can_be_selected_by_the_error_it_carries() -> None:
    frame_filter = armed(f=Selector(api="Heartbeat", direction="response", error=27))
    quiet, rebalance = (Frame(api="Heartbeat", direction="response", error=code) for code in (0, 27))

    assert strikes(frame_filter, [HEARTBEAT, quiet, rebalance]) == [None, None, "f"]


@given(st.binary(max_size=40), st.integers(), st.integers(1, 50), st.sampled_from(["request", "response"]))
def test_a_corrupted_frame_has_its_length_and_its_header_and_so_many_other_bytes(body: bytes, seed: int, changes: int, direction: str) -> None:
    header = b"\x00\x0c\x00\x04\x00\x00\x00\x01\x00\x03app\x00" if direction == "request" else b"\x00\x00\x00\x01\x00"
    changed = corrupted(header + body, Corrupt(seed=seed, bytes=changes), direction)

    if not body:
        assert changed is None
        return
    assert changed is not None
    assert changed == corrupted(header + body, Corrupt(seed=seed, bytes=changes), direction)
    assert (changed[: len(header)], len(changed)) == (header, len(header + body))
    assert 1 <= sum(one != other for one, other in zip(changed, header + body, strict=True)) <= changes


def test_another_seed_changes_another_byte() -> None:
    frame = bytes(100)

    assert len({corrupted(frame, Corrupt(seed=seed), "response") for seed in range(20)}) > 10
