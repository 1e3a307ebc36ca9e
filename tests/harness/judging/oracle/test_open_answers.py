from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed

from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation, Trace

Change = Callable[[Observation], Observation | None]
BOUNDS = {**SETTINGS, "group.max.size": 1}


def refusals() -> Trace:
    """A group of one is full; a stranger asks for much, and the member beats on."""
    recording = Recording(settings=BOUNDS)
    recording.stable("a")
    recording.join("z", member_id="nobody", protocols=("custom",), label="stranger joins")
    recording.wait(10)
    recording.join("y", member_id="nobody", session_ms=1, label="short session")
    recording.wait(10)
    recording.beat("a", label="beat")
    recording.wait(10)
    return recording.end()


def findings(trace: Trace) -> list[Finding]:
    return findings_of(trace, profile="kafka-4.1", settings=BOUNDS)


@pytest.mark.parametrize(
    ("label", "code", "requirement", "verdict"),
    [
        ("stranger joins", 25, "TR-114", Verdict.INFORMATIONAL),
        ("stranger joins", 23, "TR-114", Verdict.INFORMATIONAL),
        ("short session", 81, "JOIN-55", Verdict.NON_STRICT),
        ("short session", 25, "JOIN-55", Verdict.NON_STRICT),
        ("stranger joins", 26, "JOIN-56", Verdict.FAILED),
        ("short session", 23, "JOIN-27", Verdict.FAILED),
        ("beat", 25, "TR-118", Verdict.FAILED),
    ],
)
def test_another_refusal_that_is_due_is_as_severe_as_what_fixes_the_order(label: str, code: int, requirement: str, verdict: Verdict) -> None:
    (finding,) = findings(changed(refusals(), label, bodied(error_code=code)))

    assert (finding.requirement, finding.verdict) == (requirement, verdict)


def test_a_group_continues_behind_an_answer_that_is_as_right_and_what_is_wrong_then_is_found() -> None:
    trace = changed(changed(refusals(), "stranger joins", bodied(error_code=25)), "beat", bodied(error_code=27))

    assert [finding.verdict for finding in findings(trace)] == [Verdict.INFORMATIONAL, Verdict.FAILED]


def test_the_same_answer_is_reported_once() -> None:
    recording = Recording(settings=BOUNDS)
    recording.stable("a")
    for number in range(3):
        recording.join("z", member_id="nobody", label=f"stranger {number}")
        recording.wait(10)
    trace = recording.end()
    for number in range(3):
        trace = changed(trace, f"stranger {number}", bodied(error_code=25))

    (finding,) = findings(trace)

    assert (
        finding.observed == "JoinGroup of z (generation 1, Stable): 25 UNKNOWN_MEMBER_ID, due as well, and no KIP says which of the two comes first."
    )
    assert finding.expected == "JoinGroup of z (generation 1, Stable): 81 GROUP_MAX_SIZE_REACHED."


def both_due(label: str, code: int) -> Trace:
    """A stranger with an old generation, and a member with one, while the group waits for joins."""
    recording = Recording()
    recording.stable("a", "b")
    recording.join("a", label="waits")
    recording.wait(10)
    recording.ids["z"], recording.generations["z"] = "nobody", 1
    recording.generations["b"] = 1
    for client in ("z", "b"):
        recording.beat(client, label=f"beat of {client}")
        recording.wait(10)
    return changed(recording.end(), label, bodied(error_code=code))


@pytest.mark.parametrize(
    ("label", "code", "verdict"),
    [
        ("beat of z", 22, Verdict.NON_STRICT),
        ("beat of z", 27, Verdict.NON_STRICT),
        ("beat of b", 27, Verdict.INFORMATIONAL),
        ("beat of b", 25, Verdict.FAILED),
        ("beat of b", 0, Verdict.FAILED),
        ("beat of z", 82, Verdict.FAILED),
    ],
)
def test_which_of_the_refusals_after_which_a_client_joins_again_comes_first_is_no_must(label: str, code: int, verdict: Verdict) -> None:
    (finding,) = findings_of(both_due(label, code), profile="kafka-4.1", settings=SETTINGS)

    assert finding.verdict is verdict


def test_a_commit_to_no_group_may_be_refused_as_a_strangers() -> None:
    recording = Recording()
    recording.generations["a"], recording.ids["a"] = 3, "a-1"
    recording.commit("a", label="commit")
    recording.wait(10)
    trace = recording.end()
    (answer,) = (obs for obs in trace if obs.kind == "response")
    refused = [{**topic, "partitions": [{**entry, "error_code": 25} for entry in topic["partitions"]]} for topic in answer.body["topics"]]

    (finding,) = findings(changed(trace, "commit", bodied(topics=refused)))

    assert (finding.requirement, finding.verdict) == ("TR-007", Verdict.NON_STRICT)
    assert finding.observed.endswith("as a group that does not exist has no such member.")
