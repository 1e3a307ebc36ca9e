from __future__ import annotations

import pytest

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.model.case import script_of
from groupproof.harness.model.script import (
    AssignmentBytes,
    AwaitAnswer,
    AwaitClose,
    Cut,
    Group,
    MoveGroup,
    Pass,
    Raw,
    ReadAgain,
    Ref,
    Script,
    ScriptStep,
    StopReading,
    SubscriptionBytes,
    Topic,
)
from groupproof.harness.model.script_builders import beat, join
from groupproof.harness.reports.texts.script_text import script_in_words, value_in_words

BEAT = "(group_id=group g, generation_id=a's generation, member_id=a's member id, group_instance_id=None)"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (beat("a", code=27), f"a sends Heartbeat {BEAT}; it is answered 27 REBALANCE_IN_PROGRESS within 5 s."),
        (
            beat("a", version=3, over="b", to="other"),
            f"a sends Heartbeat v3 to a broker that is not the coordinator on connection b {BEAT}; it is answered within 5 s.",
        ),
        (beat("a", wait=False), f"a sends Heartbeat {BEAT}, without waiting for the answer."),
        (beat("a", wait=False, settles=False, since=4), f"a sends Heartbeat {BEAT}, where the broker speaks v4, and the next at once."),
        (beat("a", wait=False, is_parked=True), f"a sends Heartbeat {BEAT}; no answer comes yet."),
        (AwaitAnswer(label="join a", code=0, within_ms=2_500), "Wait for the answer to 'join a' 0 NONE, at most 2.5 s."),
        (Pass(ms=300), "Let 300 ms pass."),
        (Cut(connection="a", resets=True), "Reset connection a."),
        (Raw(connection="r", data=b"\x7f\xff"), "Send 2 bytes as they are on connection r: 7fff."),
        (AwaitClose(connection="r"), "Wait until the broker has ended connection r, at most 5 s."),
        (StopReading(connection="r"), "Read nothing more from connection r."),
        (ReadAgain(connection="r"), "Read from connection r again."),
        (MoveGroup(), "Let another broker become the coordinator of group g, and wait until it says so, at most 30 s."),
    ],
)
def test_a_step_is_a_sentence(step: ScriptStep, words: str) -> None:
    assert script_in_words(Script(steps=(step,))) == [words]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Ref("a", "generation", -1), "a's generation-1"),
        (Group("h"), "group h"),
        (Topic("u"), "topic u"),
        (SubscriptionBytes(("t",), (("t", 1),)), "a subscription v1 to t, owning t-1"),
        (AssignmentBytes(()), "an assignment of nothing"),
        (bytes(30), f"30 bytes {'00' * 24}…"),
        (("x", 1, None, 2, 3, 4), "['x', 1, None, 2, 2 more]"),
        ({"name": "range"}, "{name='range'}"),
    ],
)
def test_a_value_is_described_by_its_meaning(value: object, words: str) -> None:
    assert value_in_words(value) == words


def test_a_join_tells_its_protocols() -> None:
    (words,) = script_in_words(Script(steps=(join("a"),)))

    assert "protocols=[{name='range', metadata=a subscription v1 to t}]" in words


def test_every_step_of_every_case_is_a_sentence() -> None:
    for case in CASES:
        for words in script_in_words(script_of(case)):
            assert words.endswith(".")
            assert " object at " not in words
