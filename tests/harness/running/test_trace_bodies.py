"""A body with a value of another type is refused with its line; every body that the kit itself records is let pass."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.harness.running.virtual import judged
from tests.power.shares import is_drawn
from tests.traces import Story

from groupproof.harness.cases.client import CASES
from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running import trace_units
from groupproof.harness.running.trace_bodies import wrong_body
from groupproof.harness.running.trace_files import stream
from groupproof.protocol.trace import Observation, write_trace
from groupproof.protocol.trace_columns import write_parquet
from groupproof.protocol.vocabulary import Api

DRAWN = [case for case in (*CASES, *CONSUMER_CASES) if is_drawn(case.id, 12)]


def observation(kind: str, body: dict[str, Any], api: str | None = None) -> Observation:
    return Observation(seq=7, at_ns=1, kind=kind, api=api, body=body)


@pytest.mark.parametrize(
    ("kind", "api", "body", "why"),
    [
        ("request", "ConsumerGroupHeartbeat", {"member_epoch": "3"}, 'field member_epoch of its body is "3", where a trace has a whole number'),
        ("response", "ConsumerGroupHeartbeat", {"assignment": [1]}, "field assignment of its body is [1], where a trace has an object or null"),
        ("response", "ConsumerGroupHeartbeat", {"assignment": {"topic_partitions": [{"topic_id": "t", "partitions": ["0"]}]}},
         'field assignment.topic_partitions[0].partitions[0] of its body is "0", where a trace has a whole number'),
        ("response", "JoinGroup", {"members": 3}, "field members of its body is 3, where a trace has a list"),
        ("request", "JoinGroup", {"protocols": [{"name": "range", "metadata": "text"}]},
         'field protocols[0].metadata of its body is "text", where a trace has base64 after b64:'),
        ("response", "Heartbeat", {"error_code": True}, "field error_code of its body is true, where a trace has a whole number"),
        ("response", "Fetch", {"error_code": "0"}, 'field error_code of its body is "0", where a trace has a whole number'),
        ("event", None, {"name": ["end"]}, 'field name of its body is ["end"], where a trace has a text'),
        ("event", None, {"name": "partitions_assigned", "partitions": 3}, "field partitions of its body is 3, where a trace has a list or null"),
        ("event", None, {"name": "partitions_assigned", "partitions": [{"topic": "t"}]},
         "field partitions[0] of its body lacks partition"),
        ("fault", None, {"stage": 1}, "field stage of its body is 1, where a trace has a text"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_named_with_its_field(kind: str, api: str | None, body: dict[str, Any], why: str) -> None:
    assert wrong_body(observation(kind, body, api)) == why


def test_what_nothing_reads_and_what_is_missing_is_let_pass() -> None:
    assert wrong_body(observation("request", {"of_a_later_release": [1]}, Api.JOIN_GROUP.title)) is None
    assert wrong_body(observation("response", {"anything": 1}, "OfAnotherDialect")) is None
    assert wrong_body(observation("event", {"name": "moved", "partitions": 50})) is None


def test_what_a_shim_adds_to_the_contract_is_ignored() -> None:
    own = observation("event", {"name": "cache_filled", "count": "many", "error": {"code": 1}})

    assert wrong_body(replace(own, who="shim")) is None
    assert wrong_body(own) is not None
    assert wrong_body(observation("event", {"name": "records_consumed", "mark": 3})) is None
    assert wrong_body(observation("event", {"name": "records_consumed", "count": "3"})) is not None


@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.id)
def test_every_body_that_the_kit_records_is_let_pass(case: Any) -> None:
    trace = (Observation.from_json(json.loads(line)) for line in write_trace(judged(case)[0].trace))

    assert {wrong for obs in trace if (wrong := wrong_body(obs))} == set()


def test_a_row_of_columns_and_a_line_among_many_are_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    trace = Story().member().trace
    wrong = [*trace[:2], observation("event", {"name": 4}), *trace[2:]]
    write_parquet(tmp_path / "trace.parquet", wrong)
    (tmp_path / "trace.ndjson").write_text("\n".join(write_trace(wrong)) + "\n")

    for name, place in (("trace.parquet", "row 3"), ("trace.ndjson", "line 3")):
        with pytest.raises(WrongUsage, match=rf"{name} is no trace: {place}: field name of its body is 4, where a trace has a text"):
            list(stream(tmp_path / name))
        (unit,) = trace_units.units_of(tmp_path / name)
        assert unit.in_blocks
        assert trace_units.read_unit(unit, ()) is None
