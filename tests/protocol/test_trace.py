from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.trace import Observation, Recorder, read_trace, read_trace_blocks, write_trace

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
@pytest.mark.slow
def test_a_trace_survives_its_lines(trace: list[Observation]) -> None:
    assert list(read_trace(write_trace(trace))) == trace


@given(observations)
def test_a_line_is_one_json_object_of_known_columns(obs: Observation) -> None:
    (line,) = write_trace([obs])

    assert "\n" not in line
    assert json.loads(line).keys() <= {field.name for field in fields(Observation)}


@pytest.mark.parametrize("value", ["half a character: \ud800", 1 << 70, "\x7f\u2028\x08é", [1.5, {"inside": -(1 << 65)}]])
def test_a_line_holds_what_no_other_json_writer_takes_just_as_it_holds_the_rest(value: object) -> None:
    (line,) = write_trace([Observation(seq=0, at_ns=0, kind="event", body={"text": value})])

    assert line == json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False)
    assert json.loads(line)["body"] == {"text": value}


def test_columns_at_their_default_are_left_out_but_zeros_and_empty_names_are_not() -> None:
    bare = Observation(seq=0, at_ns=0, kind="event")

    assert bare.to_json() == {"seq": 0, "at_ns": 0, "clock": "wall", "who": "coordinator", "kind": "event"}
    obs = Observation(seq=1, at_ns=5, kind="request", api="JoinGroup", version=0, group="", generation=0, error=0, node=0)
    assert obs.to_json().items() >= {"version": 0, "group": "", "generation": 0, "error": 0, "node": 0}.items()


def test_columns_that_are_not_known_are_ignored() -> None:
    (obs,) = read_trace(['{"seq":1,"at_ns":2,"kind":"event","column_of_version_9":[1]}'])

    assert obs == Observation(seq=1, at_ns=2, kind="event")


def test_blank_lines_are_no_observations() -> None:
    assert [obs.seq for obs in read_trace(["", '{"seq":1,"at_ns":2,"kind":"event"}', "\n"])] == [1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"seq":1}', "line 2 is no observation: a trace line lacks at_ns, kind"),
        ("no json", "line 2 is no observation"),
        ('{"seq":1,"at_ns":1,"kind":"event","partitions":[["t"]]}', "line 2 is no observation"),
        ("[1]", r"line 2 is no observation: \[1\] is no JSON object"),
        ("null", "line 2 is no observation: null is no JSON object"),
        ('{"seq":1,"at_ns":1,"kind":null}', "line 2 is no observation: its column kind is null, where a trace has a text"),
        *(
            (f'{{"seq":1,"at_ns":1,"kind":"event",{columns}}}', f"line 2 is no observation: its column {message}$")
            for columns, message in (
                ('"seq":"x"', 'seq is "x", where a trace has a whole number'),
                ('"at_ns":1.5', "at_ns is 1.5, where a trace has a whole number"),
                ('"node":true', "node is true, where a trace has a whole number or null"),
                ('"member_epoch":"x"', 'member_epoch is "x", where a trace has a whole number or null'),
                ('"member":5', "member is 5, where a trace has a text or null"),
                ('"body":null', "body is null, where a trace has an object"),
                ('"body":[1]', r"body is \[1\], where a trace has an object"),
                ('"body":[1],"raw":"b64:eA=="', r"body is \[1\], where a trace has an object"),
                ('"raw":"abcd"', 'raw is "abcd", where a trace has base64 after b64: or null'),
                ('"partitions":[["t",0],["t"]]', r'partitions is \[\["t", 0\], \["t"\]\], where a trace has a list of \[topic, partition\]'),
                ('"offsets":[["t",0,"x"]]', r'offsets is \[\["t", 0, "x"\]\], where a trace has a list of \[topic, partition, offset\]'),
                (f'"group":["{"g" * 99}"]', r'group is \["g{57}…, where a trace has a text or null'),
            )
        ),
    ],
)
def test_a_broken_line_is_named_by_its_number(line: str, message: str) -> None:
    first = '{"seq":0,"at_ns":0,"kind":"event"}'
    with pytest.raises(ValueError, match=message):
        list(read_trace([first, line]))
    with pytest.raises(ValueError, match=message):
        list(read_trace_blocks([f"{first}\n{line}\n".encode()]))


def test_values_that_only_pythons_json_reads_are_still_observations() -> None:
    (obs,) = read_trace(
        ['{"seq":1,"at_ns":1180591620717411303424,"kind":"event","client":"\\ud800","body":{"told":["\\ud800",NaN]},"raw":"b64:eA=="}']
    )

    assert (obs.at_ns, obs.client, obs.body["told"][0], obs.raw) == (2**70, "\ud800", "\ud800", b"x")


def test_time_is_reported_in_milliseconds_too() -> None:
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


def test_listeners_learn_of_every_later_observation_until_they_stop() -> None:
    recorder = Recorder(lambda: 0)
    heard: list[Any] = []
    recorder.record("event")
    stop = recorder.listen(lambda obs: heard.append(obs.seq))
    recorder.record("event")
    stop()
    recorder.record("event")

    assert heard == [1]


def test_a_listener_may_stop_while_it_is_notified() -> None:
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


def by_json_alone(text: str) -> list[Observation] | str:
    """Return what the lines say when Python's own JSON reads each of them, or what is wrong with one."""
    found: list[Observation] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            found += [Observation.from_json(json.loads(line))] if line.strip() else []
        except (ValueError, TypeError, AttributeError) as error:
            return f"line {number} is no observation: {error}"
    return found


def by_blocks(text: str, lines_a_block: int) -> list[Observation] | str:
    lines = text.encode().splitlines(keepends=True)
    blocks = [b"".join(lines[begin : begin + lines_a_block]) for begin in range(0, len(lines), lines_a_block)]
    try:
        return list(read_trace_blocks(blocks))
    except ValueError as error:
        return str(error)


_ODD_LINES = [
    "", "  ", "no json", "[1]", "null", '{"seq":1}', '{"seq":1,"at_ns":2,"kind":"event"}', ' {"kind":"event","at_ns":2,"seq":1} ', '{"seq":1,"at_ns":1,"kind":"event","partitions":[["t"]]}',
    '{"seq":1.0,"at_ns":2,"kind":"event"}', '{"seq":true,"at_ns":2,"kind":7}', '{"seq":1,"at_ns":2,"kind":"event","body":{"x":NaN,"y":1e400}}', '{"seq":1,"at_ns":2,"kind":"event","body":[1]}',
    '{"seq":1,"at_ns":2,"kind":"event","seed":340282366920938463463374607431768211455}', '{"seq":1,"at_ns":2,"kind":"event","run":null,"body":{"t":"\\u0062\\u00364:eA=="}}',
    '{"seq":1,"at_ns":2,"kind":"event","body":{"t":"b64:eA==","u":"txt:b64:"}}', '{"seq":1,"at_ns":2,"kind":"event","raw":"b64:eA=="}', '{"seq":1,"at_ns":2,"kind":"event","raw":"eA=="}',
    '{"seq":1,"at_ns":2,"kind":"event","body":{"t":"\\ud800"}}', '{"seq":1,"seq":3,"at_ns":2,"kind":"event","later":{"a":[]}}', '{"seq":1,"at_ns":2,"kind":"event"} x', '{"seq":1,"at_ns":2,"kind":"event"}{}',
]  # fmt: skip


@given(st.lists(st.sampled_from(_ODD_LINES), max_size=4), st.integers(1, 4))
def test_blocks_say_what_json_says_of_their_lines(lines: list[str], lines_a_block: int) -> None:
    text = "\n".join(lines)

    assert repr(by_blocks(text, lines_a_block)) == repr(by_json_alone(text))
    read = list(read_trace(line for line in lines if line == _ODD_LINES[6]))
    assert len(read) == lines.count(_ODD_LINES[6])


@pytest.mark.slow
@given(st.lists(observations, max_size=4), st.integers(1, 4))
def test_a_trace_survives_its_blocks(trace: list[Observation], lines_a_block: int) -> None:
    text = "".join(f"{line}\n" for line in write_trace(trace))

    assert by_blocks(text, lines_a_block) == trace


def test_an_observation_is_treated_as_a_dataclass() -> None:
    bare = Observation(seq=0, at_ns=0, kind="event")

    assert replace(bare, seq=4, body={"name": "x"}) == Observation(seq=4, at_ns=0, kind="event", body={"name": "x"})
    assert [field.name for field in fields(Observation)][:3] == ["seq", "at_ns", "run"]
    with pytest.raises(AttributeError, match="immutable"):
        bare.seq = 1  # type: ignore[misc]  # it is frozen, which is what is tested


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_may_end_as_they_do_elsewhere(end: str) -> None:
    (block,) = ['{"seq":1,"at_ns":2,"kind":"event"}' + end + '{"seq":2,"at_ns":2,"kind":"event"}' + end]

    assert [obs.seq for obs in read_trace_blocks([block.encode()])] == [1, 2]
    with pytest.raises(ValueError, match="line 3 is no observation"):
        list(read_trace_blocks([block.encode(), b"x"]))
