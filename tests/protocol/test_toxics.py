from __future__ import annotations

import json

import pytest

from groupproof.protocol.toxics import (
    TOXICS,
    Toxic,
    bandwidth,
    down,
    latency,
    limit_data,
    reset_peer,
    slicer,
    slow_close,
    timeout,
    toxic_from_json,
    toxic_to_json,
)

ALL = (
    latency(100, jitter_ms=20, stream="upstream", toxicity=0.5), bandwidth(10), slow_close(5), timeout(0), reset_peer(), slicer(10, delay_us=3),
    limit_data(500), down(),
)  # fmt: skip


@pytest.mark.parametrize("toxic", ALL, ids=lambda toxic: toxic.kind)
def test_a_toxic_is_the_same_after_a_file(toxic: Toxic) -> None:
    assert toxic_from_json(json.loads(json.dumps(toxic_to_json(toxic)))) == toxic
    assert tuple(toxic.attributes) == TOXICS[toxic.kind]


def test_there_is_a_builder_of_each_kind() -> None:
    assert {toxic.kind for toxic in ALL} == set(TOXICS)


def test_what_is_as_usual_is_not_written() -> None:
    assert toxic_to_json(bandwidth(7)) == {"kind": "bandwidth", "rate": 7}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "None is none of latency, bandwidth"),
        ({"kind": "rot"}, "'rot' is none of"),
        ({"kind": "latency", "stream": "sideways"}, "a stream is upstream or downstream, not 'sideways'"),
        ({"kind": "latency", "toxicity": 2}, "toxicity is a share of the connections from 0 to 1, not 2"),
        ({"kind": "latency", "delay": 2}, "latency has no 'delay', but latency, jitter"),
        ({"kind": "down", "delay": 2}, "down has no 'delay', nor anything else to say"),
        ({"kind": "latency", "latency": "long"}, "latency needs a whole number from 0 on as latency, not 'long'"),
        ({"kind": "latency", "latency": True}, "not True"),
        ({"kind": "latency", "latency": -1}, "not -1"),
    ],
)
def test_what_is_no_toxic_is_refused_by_the_part_that_is_wrong(value: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=f"not a toxic: .*{text}"):
        toxic_from_json(value)
