from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.trace import Observation, Recorder, read_trace, write_trace

texts = st.none() | st.text(max_size=5) | st.sampled_from(["b64:eA==", "txt:", "b64:not base64"])
numbers = st.none() | st.integers(-1, 2**31 - 1)
bodies = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
observations = st.builds(
    Observation,
    seq=st.integers(0, 10**6),
    at_ns=st.integers(0, 10**15),
    kind=st.sampled_from(["request", "processed", "response", "transition", "fault", "timer", "event"]),
    who=st.sampled_from(["coordinator", "member", "link", "shim", "kit"]),
    clock=st.sampled_from(["wall", "virtual"]),
    group=texts,
    member=texts,
    client=texts,
    node=numbers,
    generation=numbers,
    member_epoch=numbers,
    error=numbers,
    correlation=numbers,
    partitions=st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9)), max_size=2).map(tuple),
    offsets=st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9), st.integers(-1, 9)), max_size=2).map(tuple),
    body=st.dictionaries(st.text(max_size=3), bodies, max_size=3),
    raw=st.none() | st.binary(max_size=5),
)


@given(st.lists(observations, max_size=3))
def test_a_trace_survives_its_lines(trace: list[Observation]) -> None:
    assert list(read_trace(write_trace(trace))) == trace


@given(observations)
def test_a_line_is_one_json_object_of_known_columns(seen: Observation) -> None:
    (line,) = write_trace([seen])

    assert "\n" not in line
    assert json.loads(line).keys() <= {field.name for field in fields(Observation)}


def test_columns_at_their_default_are_left_out_but_zeros_and_empty_names_are_not() -> None:
    bare = Observation(seq=0, at_ns=0, kind="event")

    assert bare.to_json() == {"seq": 0, "at_ns": 0, "clock": "wall", "who": "coordinator", "kind": "event"}
    said = Observation(seq=1, at_ns=5, kind="request", api="JoinGroup", version=0, group="", generation=0, error=0, node=0)
    assert said.to_json().items() >= {"version": 0, "group": "", "generation": 0, "error": 0, "node": 0}.items()


def test_columns_that_are_not_known_are_ignored() -> None:
    (obs,) = read_trace(['{"seq":1,"at_ns":2,"kind":"event","column_of_version_9":[1]}'])

    assert obs == Observation(seq=1, at_ns=2, kind="event")


def test_blank_lines_are_no_observations() -> None:
    assert [obs.seq for obs in read_trace(["", '{"seq":1,"at_ns":2,"kind":"event"}', "\n"])] == [1]


@pytest.mark.parametrize(
    ("line", "met"),
    [
        ('{"seq":1}', "line 2 is no observation: a trace line lacks at_ns, kind"),
        ("no json", "line 2 is no observation"),
        ('{"seq":1,"at_ns":1,"kind":"event","partitions":[["t"]]}', "line 2 is no observation"),
        ("[1]", "line 2 is no observation"),
    ],
)
def test_a_broken_line_is_named_by_its_number(line: str, met: str) -> None:
    with pytest.raises(ValueError, match=met):
        list(read_trace(['{"seq":0,"at_ns":0,"kind":"event"}', line]))


def test_time_is_told_in_milliseconds_too() -> None:
    assert Observation(seq=0, at_ns=1_500_000, kind="timer").at_ms == 1.5


def test_a_recorder_numbers_what_it_sees_and_stamps_it_with_the_given_clock() -> None:
    clock = iter([10, 20])
    recorder = Recorder(lambda: next(clock), run="r", seed=7)
    recorder.record("event", who="kit")
    recorder.record("request", api="Heartbeat")

    assert [(obs.seq, obs.at_ns, obs.kind, obs.run, obs.seed) for obs in recorder.trace] == [
        (0, 10, "event", "r", 7),
        (1, 20, "request", "r", 7),
    ]


def test_listeners_hear_of_every_later_observation_until_they_stop() -> None:
    recorder = Recorder(lambda: 0)
    heard: list[Any] = []
    recorder.record("event")
    stop = recorder.listen(lambda obs: heard.append(obs.seq))
    recorder.record("event")
    stop()
    recorder.record("event")

    assert heard == [1]


def test_a_listener_may_stop_while_it_is_told() -> None:
    recorder = Recorder(lambda: 0)
    heard: list[str] = []

    def once(_: Observation) -> None:
        heard.append("once")
        stop()

    stop = recorder.listen(once)
    recorder.listen(lambda _: heard.append("always"))
    recorder.record("event")
    recorder.record("event")

    assert heard == ["once", "always", "always"]
