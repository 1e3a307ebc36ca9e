from __future__ import annotations

import json
from typing import Any

import pytest

from groupproof.harness.subjects.shims.strict_lines import StrictLines

HELLO = {"name": "hello", "contract": 1, "client": "x", "version": "1", "language": "c", "capabilities": ["classic", "multi"]}
ASSIGNED = {"name": "partitions_assigned", "member": "m0", "partitions": [{"topic": "t", "partition": 0}]}
DONE = {"name": "callback_done", "member": "m0"}


def problems(*lines: dict[str, Any] | str, hello: dict[str, Any] = HELLO) -> list[str]:
    strict = StrictLines()
    texts = [line if isinstance(line, str) else json.dumps(line) for line in (hello, *lines)]
    return [problem for text in texts for problem in strict.problems(text)] + strict.unfinished()


def test_a_good_shim_has_no_problem() -> None:
    records = {
        "name": "records_consumed",
        "member": "m0",
        "count": 2,
        "partitions": [{"topic": "t", "partition": 0, "minOffset": 0, "maxOffset": 1, "count": 2}],
    }

    assert (
        problems({"name": "startup_complete", "member": "m0", "timestamp": 1}, ASSIGNED, DONE, records, {"id": 1, "ok": True, "member": "m0"}) == []
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Hello!", "noise on stdout: 'Hello!'; log to stderr"),
        ("{", "a line that starts with { is no JSON"),
        ({"ok": True}, "neither an event (name) nor an answer (id)"),
        ({"name": "ready", "member": "m0"}, "event 'ready' is not in the contract"),
        (HELLO, "hello must be the first line, and come once"),
        ({"name": "startup_complete"}, "event startup_complete carries no member, although hello declares multi"),
        ({"name": "startup_complete", "member": "m0", "mood": "good"}, "event startup_complete carries mood, which the contract does not know"),
        ({"name": "error", "member": "m0", "error": "X"}, "event error is not as the schema says"),
        ({"id": 1, "error": "X"}, "the answer is not as the schema says"),
        ({"id": 1, "ok": True, "time": 1}, "the answer carries time, which the contract does not know"),
        ({**DONE}, "callback_done came without a callback"),
        (ASSIGNED, "partitions_assigned was not followed by callback_done"),
        ({"name": "records_consumed", "member": "m0", "count": 3, "partitions": []}, "its partitions add up to another number"),
    ],
)  # fmt: skip
def test_what_a_run_would_tolerate_is_a_problem_here(line: dict[str, Any] | str, problem: str) -> None:
    (found,) = problems(line)

    assert problem in found


def test_nothing_comes_between_a_callback_and_its_end_but_the_callbacks_own_commits() -> None:
    committed = {"name": "offsets_committed", "member": "m0", "success": False, "error": "X", "message": "why", "fatal": False, "offsets": []}
    revoked = {**ASSIGNED, "name": "partitions_revoked"}

    assert problems(revoked, committed, DONE) == []
    assert problems(revoked, ASSIGNED, DONE) == ["partitions_assigned came after partitions_revoked and before its callback_done"]
    assert problems(revoked, {**ASSIGNED, "member": "m1"}, DONE, {**DONE, "member": "m1"}) == []


def test_a_problem_is_reported_once() -> None:
    assert len(problems("noise", "noise", "noise")) == 1


@pytest.mark.parametrize(
    ("capabilities", "problem"),
    [(["classic", "telepathy"], "declares telepathy, which the contract does not know"), (["commit"], "declares neither classic nor consumer")],
)
def test_hello_is_held_to_the_contract(capabilities: list[str], problem: str) -> None:
    (found,) = problems(hello={**HELLO, "capabilities": capabilities})

    assert problem in found


def test_without_multi_no_event_carries_a_member() -> None:
    (found,) = problems({"name": "startup_complete", "member": "m0"}, hello={**HELLO, "capabilities": ["classic"]})

    assert "although hello does not declare multi" in found
