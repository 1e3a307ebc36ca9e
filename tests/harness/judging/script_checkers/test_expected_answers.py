from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.judging.script_checkers.expected_answers import (
    BESIDE_GROUPS,
    answers_as_written,
    answers_describe_asked_groups,
    answers_in_order,
    connections_end_as_written,
    raw_is_answered,
)
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Ask, AwaitAnswer, AwaitClose, Group, Pass, Raw, Script
from groupproof.harness.model.script_builders import answered, beat, delete_groups, describe, fetch, joined, stable, sync
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import frame, write_request, write_response

STEPS = (*stable("a"), *joined("b", is_parked=True), beat("a", code=27))


def judged(script: Script, profile: str = "kafka-4.1") -> list[Finding]:
    return list(answers_as_written(script, "HB-03")(Evidence(performed(script, profile=profile))))


def wrong(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.verdict is not Verdict.OK]


def test_a_course_that_is_as_written_is_ok() -> None:
    found = judged(Script(steps=STEPS))

    assert not wrong(found)
    assert {finding.expected for finding in found} >= {"join b is not answered before the next step.", "beat a is answered 27 REBALANCE_IN_PROGRESS."}


def test_another_code_is_reported_with_its_answer() -> None:
    (found,) = wrong(judged(Script(steps=(*stable("a"), beat("a", code=25)))))

    assert (found.expected, found.observed) == ("beat a is answered 25 UNKNOWN_MEMBER_ID.", "beat a was answered 0 NONE.")
    assert (found.requirement, found.proof) == ("HB-03", Proof.SAFETY)
    assert found.seq is not None


def test_what_is_answered_though_it_should_be_parked_is_reported() -> None:
    (found,) = wrong(judged(Script(steps=(*joined("a", is_parked=True), answered("join a", code=0)))))

    assert found.observed == "join a was answered 0 NONE at once."


def test_an_answer_that_never_comes_is_an_absence() -> None:
    (found,) = wrong(judged(Script(steps=(*STEPS, answered("join b", code=0, within_ms=10)))))

    assert (found.observed, found.proof) == ("join b was not answered.", Proof.LIVENESS)


def test_answers_on_one_connection_come_in_the_order_of_their_requests() -> None:
    trace = performed(Script(steps=(*stable("a"), beat("a", code=0))))
    sync_at, beat_at = (index for index, obs in enumerate(trace) if obs.kind == "response" and obs.api in ("SyncGroup", "Heartbeat"))
    swapped = list(trace)
    swapped[sync_at] = replace(trace[beat_at], seq=trace[sync_at].seq)
    swapped[beat_at] = replace(trace[sync_at], seq=trace[beat_at].seq)

    assert list(answers_in_order("JOIN-12")(Evidence(trace))) == []
    (found,) = answers_in_order("JOIN-12")(Evidence(swapped))
    assert found.observed == "Heartbeat was answered before the SyncGroup that came first."


def test_steps_that_were_left_out_or_name_no_code_are_not_judged() -> None:
    steps = [replace(step, code=None) if isinstance(step, Ask | AwaitAnswer) and step.label != "id a" else step for step in stable("a")]

    assert [finding.expected for finding in judged(Script(steps=tuple(steps)))] == ["id a is answered 79 MEMBER_ID_REQUIRED."]
    assert judged(Script(steps=tuple(steps)), profile="kafka-1.1") == []


def test_a_label_means_its_newest_exchange() -> None:
    found = judged(Script(steps=(*stable("a", "b"), sync("a", code=0), sync("a", wait=False), answered("sync a", code=0))))

    assert not wrong(found)


def test_of_what_is_beside_groups_alone_it_can_be_asked() -> None:
    find = Ask(member="a", api=Api.FIND_COORDINATOR, fields={"coordinator_keys": (Group(),)}, label="find", to="any", code=15)
    trace = performed(script := Script(steps=(find, *stable("a"), beat("a", code=25))))

    (found,) = answers_as_written(script, "FIND-01", BESIDE_GROUPS)(Evidence(trace))
    assert (found.verdict, found.observed) == (Verdict.FAILED, "find was answered 0 NONE.")


def test_connections_end_where_the_script_says_so() -> None:
    steps = (Raw(connection="r", data=b"\xff\xff\xff\xff"), AwaitClose(connection="r"), *stable("a"), AwaitClose(connection="a", within_ms=10))
    script = Script(steps=steps)

    ended, stayed = connections_end_as_written(script, "FRAME-01")(Evidence(performed(script)))
    assert (ended.verdict, ended.observed) == (Verdict.OK, "It ended connection r.")
    assert (stayed.verdict, stayed.observed, stayed.proof) == (Verdict.FAILED, "Connection a stayed open.", Proof.LIVENESS)


def of_raw(change: Callable[[Observation], Observation | None] = lambda obs: obs) -> Finding:
    """Return what is said of ApiVersions by a version to come; `change` what came back, or take it away."""
    future = bytearray(write_request(Api.API_VERSIONS, 0, 0x7FFF0001, "raw", {}))
    future[2:4] = b"\x00\x63"
    trace = performed(Script(steps=(Raw(connection="raw", data=frame(bytes(future))), Pass(ms=50))))
    observations = [change(obs) if obs.body.get("name") == "answered-raw" else obs for obs in trace]
    judge = raw_is_answered(Api.API_VERSIONS, ErrorCode.UNSUPPORTED_VERSION, "INV-10")
    (found,) = judge(Evidence([obs for obs in observations if obs is not None]))
    return found


def answered_with(code: int, correlation: int = 0x7FFF0001) -> Callable[[Observation], Observation]:
    return lambda obs: replace(obs, raw=write_response(Api.API_VERSIONS, 0, correlation, {"error_code": code}))


def test_what_raw_bytes_are_answered_is_read_in_the_oldest_form() -> None:
    assert (of_raw().verdict, of_raw().observed) == (Verdict.OK, "It was answered 35 UNSUPPORTED_VERSION.")
    assert of_raw(answered_with(35)).verdict is Verdict.OK
    assert (of_raw(answered_with(0)).verdict, of_raw(answered_with(0)).observed) == (Verdict.FAILED, "It was answered 0 NONE.")
    assert of_raw(answered_with(35, correlation=7)).observed == "It was answered under another correlation id."
    assert of_raw(lambda obs: replace(obs, raw=b"\x00\x00")).observed == "What came cannot be read."
    assert of_raw(lambda obs: None).observed == "It was not answered."


@pytest.mark.requirement("TRIG-12")
@pytest.mark.parametrize(
    ("ask", "field"),
    [(fetch("x", version=8), "groups"), (describe("x"), "groups"), (delete_groups("x"), "results")],
    ids=["OffsetFetch", "DescribeGroups", "DeleteGroups"],
)
def test_a_group_that_nobody_asked_about_is_reported(ask: Ask, field: str) -> None:
    trace = performed(Script(steps=(*stable("a"), ask)))
    index = next(index for index, obs in enumerate(trace) if obs.kind == "response" and obs.api == ask.api.title)
    entry = trace[index].body[field]
    beside = replace(trace[index], body={**trace[index].body, field: ({**entry[0], "group_id": "another"}, *entry)})

    (found,) = answers_describe_asked_groups(Evidence([*trace[:index], beside, *trace[index + 1 :]]))

    assert list(answers_describe_asked_groups(Evidence(trace))) == []
    assert (found.verdict, found.requirement, found.seq) == (Verdict.FAILED, "TRIG-12", beside.seq)
    assert found.observed == f"{ask.api.title} was answered with another group beside them."


def test_an_answer_that_names_no_group_is_about_the_one_that_was_asked_about() -> None:
    trace = performed(Script(steps=(*stable("a"), fetch("x", version=5))))

    assert list(answers_describe_asked_groups(Evidence(trace))) == []
