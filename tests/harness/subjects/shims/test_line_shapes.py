from __future__ import annotations

import re
from typing import Any

import pytest

from groupproof.harness.subjects.shims.line_shapes import BrokenLine, check_answer, check_event, check_hello

HELLO = {"contract": 1, "client": "c", "version": "1", "language": "go", "capabilities": ["classic"]}
RECORDS = {"topic": "t", "partition": 0, "minOffset": 0, "maxOffset": 1, "count": 2}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("partitions_assigned", {"partitions": [{"topic": "t", "partition": 0, "extra": 1}], "member_id": None, "generation": 3}),
        ("records_consumed", {"count": 2, "partitions": [RECORDS]}),
        # As the verifiable consumer of confluent-kafka-python prints it.
        ("records_consumed", {"count": 40, "partitions": [{"topic": "t", "partition": 0, "minOffset": 0, "maxOffset": 19}]}),
        ("offsets_committed", {"success": False, "error": "NOT_COORDINATOR", "offsets": [{"topic": "t", "partition": 0, "offset": 5}]}),
        ("offsets_committed", {"outcome": "unknown", "offsets": []}),
        ("error", {"error": "CODE_999", "message": "", "fatal": True}),
        ("callback_done", {}),
    ],
)
def test_an_event_as_the_contract_has_it_passes(name: str, body: dict[str, Any]) -> None:
    check_event(name, body)


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("partitions_lost", {"partitions": {}}, "event partitions_lost: partitions is {}, not a list"),
        ("partitions_assigned", {"partitions": [{"topic": "t"}]}, "in partitions there is {'topic': 't'}, not {topic, partition}"),
        ("partitions_assigned", {"partitions": [{"topic": "t", "partition": -1}]}, "not {topic, partition}"),
        ("partitions_assigned", {"partitions": [], "generation": "3"}, "generation is '3', not an integer or null"),
        ("records_consumed", {"count": 1, "partitions": [{"partition": 0, "count": 1}]}, "not {topic, partition, minOffset, maxOffset, count}"),
        ("records_consumed", {"count": 1, "partitions": [{**RECORDS, "count": "1"}]}, "not {topic, partition, minOffset"),
        ("records_consumed", {"count": -1, "partitions": []}, "count is -1, not a count"),
        ("records_consumed", {"count": 1, "partitions": [{**RECORDS, "maxOffset": 1 << 70}]}, "not {topic, partition, minOffset"),
        ("records_consumed", {"count": 3, "partitions": [RECORDS]}, "count is 3, and its partitions add up to 2"),
        ("offsets_committed", {"success": True, "offsets": [["t", 0, 5]]}, "in offsets there is ['t', 0, 5], not {topic, partition, offset}"),
        ("offsets_committed", {"success": "yes", "offsets": []}, "success is 'yes', not true or false"),
        ("offsets_committed", {"offsets": []}, "event offsets_committed lacks success"),
        ("offsets_committed", {"outcome": "fine", "offsets": []}, "outcome is 'fine', not 'unknown'"),
        ("error", {"error": "X", "message": "m"}, "event error lacks fatal"),
        ("error", {"error": 27, "message": "m", "fatal": False}, "error is 27, not a string"),
        ("callback_done", {"member": 3}, "member is 3, not a string or null"),
    ],
)
def test_an_event_of_another_shape_is_refused_in_a_sentence(name: str, body: dict[str, Any], why: str) -> None:
    with pytest.raises(BrokenLine, match=re.escape(why)):
        check_event(name, body)


@pytest.mark.parametrize(
    "body",
    [
        {"ok": True, "ignored": ["instance_id"], "offsets": [["t", 0, -1]], "partitions": [{"topic": "t", "partition": 1}]},
        {"ok": True, "error": None, "outcome": "unknown"},
        {"error": "X", "message": "m", "fatal": False, "ok": False},
    ],
)
def test_an_answer_as_the_contract_has_it_passes(body: dict[str, Any]) -> None:
    check_answer(3, body)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"ok": "yes"}, "the answer to command 3: ok is 'yes', not true"),
        ({"ok": True, "ignored": [1]}, "in ignored there is 1, not a field's name"),
        ({"ok": True, "ignored": "none"}, "ignored is 'none', not a list"),
        ({"ok": True, "offsets": [["t", 0]]}, "in offsets there is ['t', 0], not [topic, partition, offset]"),
        ({"ok": True, "partitions": [["t", 0]]}, "in partitions there is ['t', 0], not {topic, partition}"),
        ({"error": 25}, "error is 25, not a string"),
        ({"ok": True, "outcome": "lost"}, "outcome is 'lost', not 'unknown'"),
        ({"error": "X", "fatal": "no"}, "fatal is 'no', not true or false"),
    ],
)
def test_an_answer_of_another_shape_is_refused_in_a_sentence(body: dict[str, Any], why: str) -> None:
    with pytest.raises(BrokenLine, match=re.escape(why)):
        check_answer(3, body)


@pytest.mark.parametrize(("change", "why"), [({"version": 2}, "hello: version is 2"), ({"capabilities": "classic"}, "not a list")])
def test_a_hello_of_another_shape_is_refused_in_a_sentence(change: dict[str, Any], why: str) -> None:
    check_hello(HELLO)
    with pytest.raises(BrokenLine, match=why):
        check_hello({**HELLO, **change})
