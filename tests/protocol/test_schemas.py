from __future__ import annotations

import json
from copy import deepcopy
from datetime import date
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from groupproof.protocol import schemas
from groupproof.protocol.faults import Answer, Cut, Duplicate, Fault, Hold, Move, Selector, Silence, fault_to_json
from groupproof.protocol.schemas import NAMES, SchemaError, schema, validate
from groupproof.protocol.trace import Observation

CASE = {
    "id": "heartbeat/classic/rebalance-in-progress", "title": "t", "requirements": ["HB-03"], "level": "MUST", "preview": False, "time": "wall",
    "verdict": "OK", "goodbye": "CLEAN", "stability": None, "expected": "e", "observed": "o", "fingerprint": None, "receipts": 1, "duration_s": 1.5,
    "trace": "cases/heartbeat/trace.ndjson", "replay": "groupproof replay x",
}  # fmt: skip
REPORT: dict[str, Any] = {
    "schema": "groupproof.report/1",
    "suite": {"version": "0.1.0", "catalogue_sha256": "0" * 64, "profile": "kafka-4.1", "dialect": "classic"},
    "subject": {"side": "client", "name": "kafka-python", "version": "3.0.12", "language": "python", "capabilities": ["classic"]},
    "run": {
        "seed": 1, "started": "2026-01-31T10:00:00Z", "duration_s": 3.5, "jobs": 8, "faults": "frames", "environment": {"python": "3.11"},
        "command": "groupproof certify client kafka-python", "interrupted": False,
    },
    "totals": dict.fromkeys(("OK", "NON_STRICT", "INFORMATIONAL", "FAILED", "UNIMPLEMENTED", "INCONCLUSIVE", "BROKEN", "EXCUSED"), 0),
    "grade": "PARTIAL 3/40",
    "cases": [CASE],
}  # fmt: skip
KNOWN = {
    "case": "join/classic/unknown-member-id", "subject": ">=2.0,<3.0", "verdict": "FAILED", "fingerprint": "f", "reason": "drops its id on 27",
    "url": "https://example.org/1", "expires": date(2027, 6, 30),
}  # fmt: skip
SUBSCRIBE = {
    "id": 1, "command": "subscribe", "bootstrap": "127.0.0.1:9092", "group": "g", "topics": ["t"], "client_id": "m0", "protocol": "classic",
    "assignors": ["range"], "session_timeout_ms": 6000, "heartbeat_interval_ms": 300, "max_poll_interval_ms": 30_000, "poll_timeout_ms": 100,
    "auto_commit": False, "auto_offset_reset": "earliest", "on_revoked": {"sleep_ms": 100, "commit": True},
}  # fmt: skip
BUNDLE: dict[str, Any] = {
    "schema": "groupproof.bundle/1",
    "kit": {"version": "1", "catalogue_sha256": "0" * 64, "cases_sha256": "0" * 64},
    "made_with": {"python": "3.11.7", "libraries": {"trio": "0.31"}},
    "subject": {"side": "client", "name": "x", "version": None, "language": None, "spec": ["python", "shim.py"]},
    "run": {"profile": "kafka-4.1", "seed": 1, "level": "info", "fail_on": ["unclean"], "clock": "wall", "interrupted": False, "gave_up": None},
    "selection": {"only": ["heartbeat"], "skip": [], "others": []}, "required": ["a"], "selected": ["a", "b"], "unreached": ["b"],
    "troubles": {"a": {"exit_code": 4, "said": "the disk is full"}}, "grade": "PARTIAL 0/1", "expectations": ["expectations/1-x.toml"],
    "files": {"report.json": {"sha256": "0" * 64, "bytes": 3}}, "reproduce": "groupproof certify client -- python shim.py",
}  # fmt: skip
ANALYSIS: dict[str, Any] = {
    "schema": "groupproof.analysis/1", "inputs": ["load"], "stream": {"rows": 3, "twice": 0, "displaced": 0, "late": 0},
    "rebalances": {"formed": 1, "members_only": 0, "coordinator_only": 0}, "queries": [
        {"name": "storms", "answers": "When.", "facts": 1, "keys": ["cause"], "measures": {"storms": "count"},
         "all": [{"cause": "left", "storms": 1}], "by": {"group": [{"value": "g", "run": "r", "case": "", "cause": None, "storms": 1}]}},
    ],
}  # fmt: skip
SCENARIO = {
    "title": "A minority is cut off while the network is slow", "story": "A switch is overloaded.", "requirements": ["SYNC-01"], "members": 5,
    "partitions": 20, "settings": {"session_timeout_ms": "session"}, "durations": {"long": {"virtual": "5m", "wire": "7s"}}, "phase": [
        {"name": "faulty", "until": {"settled": "majority"}, "faults": [
            {"kind": "partition", "between": ["brokers", "minority"]}, {"kind": "slow", "latency": 400},
        ]},
        {"name": "healed", "converges_within": "bound"},
    ],
    "expect": [{"says": "It bites.", "sees": "answered", "error": [25, "ILLEGAL_GENERATION"], "who": "minority"}],
}  # fmt: skip
ACTIONS = (Answer(error_code=79, body={"member_id": "m"}), Hold(), Hold(ms=5), Silence(), Cut(reset=True), Duplicate(), Move(to=1, parked="drop"))
SCHEDULE: dict[str, Any] = {
    "schema": "groupproof.schedule/1", "case": "heartbeat/classic/x", "seed": 7, "subject": "kafka-python@3.0.12", "profile": "kafka-4.1",
    "plan": {
        "members": [{"name": "m0", "kind": "subject", "settings": {"group": "g"}}],
        "topics": {"t": 2}, "records": 20, "coordinator": {"group.initial.rebalance.delay.ms": 0}, "brokers": 2,
        "steps": [
            {"step": "start", "member": "m0"},
            {"step": "await", "until": {"kind": "stable", "members": ("m0",), "after": None}, "within_ms": 10_000, "go_on": False},
            {"step": "await", "until": {"kind": "seen", "kind_of": "request", "after": "f", "count": 1, "api": "Heartbeat", "where": {}}},
            *({"step": "arm", "fault": fault_to_json(Fault(name="f", selector=Selector(api="Heartbeat", nth=2, client="m0"), action=action))}
              for action in ACTIONS),
            {"step": "release", "fault": "f"}, {"step": "heal", "fault": "f"},
            {"step": "command", "member": "m0", "command": "commit", "fields": {"mode": "sync"}, "wait": True, "within_ms": 5},
            {"step": "kill", "member": "m0"}, {"step": "freeze", "member": "m0"}, {"step": "thaw", "member": "m0"},
            {"step": "move_coordinator", "to": None, "parked": "answer", "state": "kept"}, {"step": "grow", "topic": "t", "partitions": 4},
            {"step": "pass", "ms": 500}, {"step": "mark", "name": "here"},
            {"step": "await", "until": {"kind": "settled", "members": ["m0"], "topics": {"t": 2}, "after": None}, "within_ms": 5, "go_on": True},
        ],
    },
}  # fmt: skip
PARTITION = {"topic": "t", "partition": 0}
EVENTS: list[dict[str, Any]] = [
    {"name": "hello", "contract": 1, "client": "kafka-python", "version": "3.0.12", "language": "python", "capabilities": ["classic"]},
    {"name": "startup_complete", "timestamp": 1},
    {"name": "partitions_assigned", "partitions": [PARTITION], "member_id": "m0-1", "generation": 3, "member": "m0"},
    {"name": "records_consumed", "count": 2, "partitions": [{**PARTITION, "minOffset": 0, "maxOffset": 1, "count": 2}]},
    {"name": "offsets_committed", "success": False, "error": "REBALANCE_IN_PROGRESS", "offsets": [{**PARTITION, "offset": 5}]},
    {"name": "error", "error": "X", "message": "y", "fatal": False},
    {"name": "event_of_contract_2", "anything": 1},
]
COMMANDS: list[dict[str, Any]] = [
    SUBSCRIBE,
    {"id": 2, "command": "resubscribe", "topics": ["u"]},
    {"id": 3, "command": "commit", "mode": "sync", "offsets": [["t", 0, 5]]},
    {"id": 4, "command": "committed", "partitions": [["t", 0]], "member": "m0"},
    {"id": 5, "command": "close", "leave": True},
    {"id": 6, "command": "made-up-at-random", "with": "anything"},
]
ANSWERS: list[dict[str, Any]] = [
    {"id": 1, "ok": True, "ignored": ["properties"]},
    {"id": 2, "ok": True, "offsets": [["t", 0, -1]], "partitions": [PARTITION]},
    {"id": 3, "error": "REBALANCE_IN_PROGRESS", "message": "", "fatal": False},
    {"id": 4, "unimplemented": "no such command"},
]
GOOD: list[tuple[str, Any]] = [
    ("bundle", BUNDLE),
    ("report", REPORT),
    ("expectations", {"known": [KNOWN]}),
    ("expectations", {}),
    ("scenario", SCENARIO),
    ("schedule", SCHEDULE),
    ("trace", {"seq": 0, "at_ns": 0, "kind": "event", "column_of_version_9": 1}),
    ("trace", Observation(seq=1, at_ns=2, kind="response", error=0, partitions=(("t", 0),), offsets=(("t", 0, 5),), raw=b"\0").to_json()),
    *(("shim-event", event) for event in EVENTS),
    *(("shim-command", command) for command in COMMANDS),
    *(("shim-answer", answer) for answer in ANSWERS),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_schema_and_says_what_it_is_for(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["title"]
    assert schema(name)["$id"].startswith(f"urn:groupproof:{name}:")


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_what_the_contract_shows_is_valid(name: str, value: Any) -> None:
    validate(name, value)
    with pytest.raises(SchemaError, match=f"{name}: .* is not of type 'object'"):
        validate(name, [value])


def changed(value: Any, path: str, to: Any) -> Any:
    """Return a copy with the entry at `path` replaced, or taken out when `to` is None."""
    copy = deepcopy(value)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    within = copy
    for part in parents:
        within = within[part]
    if to is None:
        del within[last]
    else:
        within[last] = to
    return copy


@pytest.mark.parametrize(
    ("name", "value", "path", "to", "message"),
    [
        ("report", REPORT, "cases/0/verdict", "OKAY", "report: at cases/0/verdict: 'OKAY' is not one of"),
        ("report", REPORT, "cases/0/fingerprint", None, "report: at cases/0: 'fingerprint' is a required property"),
        ("report", REPORT, "totals/PASSED", 1, "report: at totals: Additional properties are not allowed .'PASSED'"),
        ("report", REPORT, "grade", "PARTIAL", "report: at grade: 'PARTIAL' does not match"),
        ("report", REPORT, "totals/OK", True, "report: at totals/OK: True is not of type 'integer'"),
        ("report", REPORT, "suite/catalogue_sha256", "abc", "report: at suite/catalogue_sha256"),
        ("expectations", {"known": [KNOWN]}, "known/0/reason", None, "'reason' is a required property"),
        ("expectations", {"known": [KNOWN]}, "known/0/url", None, "known/0: .*"),
        ("expectations", {"known": [KNOWN]}, "known/0/expires", "tomorrow", "known/0/expires: 'tomorrow' is not a 'date'"),
        ("expectations", {"known": [KNOWN]}, "known/0/verdict", "OK", "known/0/verdict: 'OK' is not one of"),
        ("expectations", {"known": [KNOWN]}, "known/0/resaon", "typo", "'resaon' was unexpected"),
        ("analysis", ANALYSIS, "stream/twice", -1, "analysis: at stream/twice: -1 is less than the minimum of 0"),
        ("analysis", ANALYSIS, "queries/0/by/weather", [], "analysis: at queries/0/by: 'weather' is not one of"),
        ("analysis", ANALYSIS, "queries/0/measures/storms", "median", "analysis: at queries/0/measures/storms: 'median' is not one of"),
        ("bundle", BUNDLE, "kit/cases_sha256", "abc", "bundle: at kit/cases_sha256"),
        ("bundle", BUNDLE, "required", ["a", "a"], "bundle: at required: .* has non-unique elements"),
        ("bundle", BUNDLE, "troubles/a/exit_code", 1, "bundle: at troubles/a/exit_code: 1 is not one of"),
        ("bundle", BUNDLE, "reproduce", None, "bundle: 'reproduce' is a required property"),
        ("scenario", SCENARIO, "phase/0/name", None, "phase/0: 'name' is a required property"),
        ("scenario", SCENARIO, "phase/0/faults/0/kind", None, "phase/0/faults/0: 'kind' is a required property"),
        ("scenario", SCENARIO, "requirements/0", "sync", "requirements/0: 'sync' does not match"),
        ("schedule", SCHEDULE, "schema", "groupproof.schedule/2", "schema: 'groupproof.schedule/1' was expected"),
        ("schedule", SCHEDULE, "plan/steps/0/step", "begin", "plan/steps/0/step: 'begin' is not one of"),
        ("schedule", SCHEDULE, "plan/steps/0/within_ms", 5, "'within_ms' was unexpected"),
        ("schedule", SCHEDULE, "plan/steps/2/until/kind_of", "answer", "plan/steps/2/until/kind_of: 'answer' is not one of"),
        ("schedule", SCHEDULE, "plan/steps/3/fault/do/error_code", None, "plan/steps/3/fault/do: 'error_code' is a required property"),
        ("schedule", SCHEDULE, "plan/steps/3/fault/on/colour", 1, "'colour' was unexpected"),
        ("schedule", SCHEDULE, "plan/steps/3/fault/on/nth", -1, "plan/steps/3/fault/on/nth: -1 is less than the minimum of 1"),
        ("trace", {"seq": 0, "at_ns": 0, "kind": "event"}, "kind", "thought", "kind: 'thought' is not one of"),
        ("trace", {"seq": 0, "at_ns": 0, "kind": "event"}, "seq", None, "'seq' is a required property"),
        ("shim-event", EVENTS[0], "capabilities", None, "'capabilities' is a required property"),
        ("shim-event", EVENTS[2], "partitions/0", ["t", 0], "partitions/0: .* is not of type 'object'"),
        ("shim-event", EVENTS[3], "partitions/0/minOffset", None, "partitions/0: 'minOffset' is a required property"),
        ("shim-event", EVENTS[4], "offsets/0/offset", None, "offsets/0: 'offset' is a required property"),
        ("shim-command", SUBSCRIBE, "bootstrap", None, "'bootstrap' is a required property"),
        ("shim-command", SUBSCRIBE, "assignors/0", "best", "assignors/0: 'best' is not one of"),
        ("shim-command", COMMANDS[2], "offsets/0", ["t", 0], "offsets/0: .*"),
        ("shim-command", COMMANDS[2], "mode", "maybe", "mode: 'maybe' is not one of"),
        ("shim-answer", ANSWERS[0], "ok", False, "ok: True was expected"),
        ("shim-answer", ANSWERS[0], "ok", None, "shim-answer: .*"),
        ("shim-answer", ANSWERS[0], "unimplemented", "both", "shim-answer: .*"),
    ],
)
def test_what_breaks_the_contract_is_said_in_one_line_with_its_place(name: str, value: Any, path: str, to: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as refused:
        validate(name, changed(value, path, to))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_an_unknown_schema_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(
        ValueError, match="there is no schema called 'rapport'; there are analysis, bundle, comparison, expectations, matrix, museum, "
    ):
        schema("rapport")


def test_every_schema_file_has_a_name() -> None:
    shipped = {entry.name.removesuffix(".json") for entry in (files("groupproof.protocol") / "schemas").iterdir() if entry.name.endswith(".json")}
    assert shipped == set(NAMES)


def test_a_schema_is_json_that_a_person_can_read() -> None:
    for name in NAMES:
        assert json.loads(json.dumps(schema(name))) == schema(name)


@pytest.mark.parametrize(
    ("good", "bad", "place"),
    [
        ({"step": "pass", "ms": 1}, {"step": "pass", "ms": True}, "plan/steps/1/ms: True is not of type"),
        ({"step": "pass", "ms": 1}, {"step": "pass", "ms": -1}, "plan/steps/1/ms: -1 is less than"),
        ({"step": "mark", "name": "1"}, {"step": "mark", "name": 1}, "plan/steps/1/name: 1 is not of type"),
    ],
)
def test_a_part_that_was_sound_says_nothing_for_one_that_is_almost_the_same(good: object, bad: object, place: str) -> None:
    validate("schedule", changed(SCHEDULE, "plan/steps", [good, good]))
    for _ in range(2):  # nor is one that was not sound taken for sound the next time
        with pytest.raises(SchemaError, match=f"schedule: at {place}"):
            validate("schedule", changed(SCHEDULE, "plan/steps", [good, bad]))


def test_as_many_parts_as_ever_come_are_looked_at_and_not_all_of_them_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "_SOUND_MAX", 0)
    schemas._validator.cache_clear()
    steps = [{"step": "pass", "ms": ms} for ms in range(5)]

    validate("schedule", changed(SCHEDULE, "plan/steps", steps))
    with pytest.raises(SchemaError, match="plan/steps/5/ms"):
        validate("schedule", changed(SCHEDULE, "plan/steps", [*steps, {"step": "pass", "ms": -1}]))
    schemas._validator.cache_clear()
