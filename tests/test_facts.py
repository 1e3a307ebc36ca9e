"""A fact of the protocol stands in one place of the code: whoever needs it asks there, so that two computations can't disagree about it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for part in ("protocol", "coordinator", "clients", "harness", "chaos") for path in (ROOT / part / "groupproof").rglob("*.py"))
SHIMS = "clients/groupproof/clients/shims/"
"""A shim stands alone beside the client that it wraps, and imports nothing of the kit."""

VOCABULARY = "protocol/groupproof/protocol/vocabulary.py"
TRACKERS = "harness/groupproof/harness/judging/checkers/tracking/"
FACTS = {
    "the states from which a group comes into each (INV-01)": (r"GroupState\.EMPTY: *(frozenset\()?\{", {VOCABULARY}),
    "the errors that end a membership": (
        r"frozenset\(\{(?=[^}]*UNKNOWN_MEMBER_ID)(?=[^}]*ILLEGAL_GENERATION)(?=[^}]*FENCED_INSTANCE_ID)[^}]*\}",
        {VOCABULARY},
    ),
    "the assignors that are cooperative (KIP-429)": (r'frozenset\(\{"cooperative-sticky"', set[str]()),
    "a partition's type": (r"^_?(Topic)?Partition = tuple\[", {VOCABULARY}),
    "what joins a request and its answer": (r"(\w+)\.connection, \1\.correlation", {"protocol/groupproof/protocol/trace.py"}),
    "the versions that brought the instance id (KIP-345)": (r"JOIN_GROUP: 5, Api\.SYNC_GROUP: 3", {VOCABULARY}),
    "which clients' callbacks are heard": (r'\{"shim", "member"\}|\("shim", "member"\)', {f"{TRACKERS}ownership_tracker.py"}),
    "what a process may give up at its end": (r'"kit", "kill"\), \("kit", "exit"\)', {f"{TRACKERS}ownership_tracker.py"}),
}
ELSEWHERE = {
    (
        "the errors that end a membership",
        f"{TRACKERS}group_state.py",
    ): "answers of a coordinator that has loaded the group (FIND-10), these among them",
    (
        "what joins a request and its answer",
        "harness/groupproof/harness/judging/checkers/late_requests.py",
    ): "the highest correlation id of a connection",
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_stands_where_everybody_looks_for_it(fact: str) -> None:
    pattern, places = FACTS[fact]
    found = {path.relative_to(ROOT).as_posix() for path in SOURCES if re.search(pattern, path.read_text("utf-8"), re.MULTILINE)}

    assert {name for name in found - places if not name.startswith(SHIMS) and (fact, name) not in ELSEWHERE} == set()
    assert places <= found, "where it stood it is gone: tell this test where it stands now"
