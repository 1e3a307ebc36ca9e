"""Compares a script's expectations with its trace: the error codes that its steps name (kafka-4.1's), the requests that it calls parked, and the
connections that it expects to end.

The oracle judges answers about groups more closely, for any release; this judge keeps the hand-written expectations correct. It alone judges
everything else, such as FindCoordinator and invalid requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Ask, AwaitAnswer, AwaitClose, Script
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named
from groupproof.protocol.wire.message_codec import WireError, read_response
from groupproof.protocol.wire.message_conversion import GROUP_APIS

if TYPE_CHECKING:
    from groupproof.harness.judging.script_checkers.config_codes import DueCode

__all__ = [
    "BESIDE_GROUPS",
    "answers_as_written",
    "answers_can_be_read",
    "answers_describe_asked_groups",
    "answers_in_order",
    "codes_as_written",
    "connections_end_as_written",
    "raw_is_answered",
]  # fmt: skip

BESIDE_GROUPS = frozenset(Api) - (GROUP_APIS - {Api.FIND_COORDINATOR})
"""The APIs whose answers the rules of a group do not decide."""

_OF_GROUPS: Mapping[Api, str] = {Api.OFFSET_FETCH: "groups", Api.DESCRIBE_GROUPS: "groups", Api.DELETE_GROUPS: "results"}
_ISOLATED = "TRIG-12"
_CORRELATION_AT = slice(8, 12)  # behind length, API key and version


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedRequest:
    """A request with its answer, and the `seq` at which the next step began."""

    request: Observation
    answer: Observation | None
    next_step: int


@checker
def answers_as_written(
    evidence: Evidence, script: Script, requirement: str, apis: Collection[Api] = frozenset(Api), due: DueCode = lambda *_: None
) -> Iterator[Finding]:
    """Judge that each answer has the code that the script names, and that a parked request is not answered before the next step.

    Only requests of `apis` are judged. `due` returns the code where the broker's settings change it.
    """
    asked: dict[str, _AskedRequest] = {}
    for index, begin, end in _steps(evidence):
        step = script.steps[index]
        if isinstance(step, Ask) and step.api in apis:
            request = next(evidence.select("request", after=begin, before=end), None)
            if request is None:
                continue
            asked[step.label] = _AskedRequest(request=request, answer=evidence.answer(request), next_step=end)
            yield from _of_parking(step, asked[step.label], requirement)
        if isinstance(step, Ask | AwaitAnswer) and step.code is not None and step.label in asked:
            due_code = due(evidence, asked[step.label].request)
            yield _of_code(step.label, step.code if due_code is None else due_code, asked[step.label], requirement)


def codes_as_written(script: Script, evidence: Evidence) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield each exchange's label, the code that the script names (None for none), and the recorded code (None without an answer)."""
    asked: dict[str, Observation] = {}
    for index, begin, end in _steps(evidence):
        step = script.steps[index]
        if isinstance(step, Ask) and (request := next(evidence.select("request", after=begin, before=end), None)) is not None:
            asked[step.label] = request
        if isinstance(step, Ask | AwaitAnswer) and step.label in asked:
            answer = evidence.answer(asked[step.label])
            yield step.label, step.code, None if answer is None else int(answer.error or 0)


@checker
def answers_can_be_read(evidence: Evidence, requirement: str) -> Iterator[Finding]:
    """Judge that the received frames are answers to the requests. Yield nothing where they are."""
    for obs in evidence.select("event"):
        if obs.who == "kit" and obs.body.get("name") == "garbage":
            expected = "Each answer is one to a request, in its version."
            observed = "What came cannot be read."
            yield Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, seq=obs.seq, detail=obs.body["why"])


@checker
def answers_in_order(evidence: Evidence, requirement: str) -> Iterator[Finding]:
    """Judge that the requests of one connection are answered in the order in which they were sent (Kafka mutes a channel meanwhile).

    Yield nothing where they are. A request that is never answered is not judged."""
    last: dict[int | None, Observation] = {}
    for request in evidence.select("request"):
        answer = evidence.answer(request)
        if answer is None:
            continue
        before = last.setdefault(request.connection, answer)
        if answer.seq < before.seq:
            observed = f"{request.api} was answered before the {before.api} that came first."
            expected = "The requests of a connection are answered in their order."
            yield Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, seq=answer.seq)
            return
        last[request.connection] = answer


def answers_describe_asked_groups(evidence: Evidence) -> Iterator[Finding]:
    """Judge that an answer about groups contains only the requested groups. Yield nothing where it does.

    A client that reads the first group of an OffsetFetch would otherwise begin at another group's offsets. Before v8 the answer names no group.
    """
    for api, field in _OF_GROUPS.items():
        for request in evidence.requests(api):
            answer = evidence.answer(request)
            entries = () if answer is None else (str(group.get("group_id") or "") for group in answer.body.get(field) or ())
            if answer is not None and any(told_of and told_of not in _asked_about(api, request) for told_of in entries):
                yield Finding(
                    verdict=Verdict.FAILED, requirement=_ISOLATED, expected=f"{api.title} is answered with the groups that were asked about.",
                    observed=f"{api.title} was answered with another group beside them.", seq=answer.seq,
                )  # fmt: skip
                break


def _asked_about(api: Api, request: Observation) -> set[str]:
    entries = request.body.get("groups_names" if api is Api.DELETE_GROUPS else "groups") or ()
    return {entry if isinstance(entry, str) else str(entry["group_id"]) for entry in entries}


@checker
def raw_is_answered(evidence: Evidence, api: Api, code: ErrorCode, requirement: str) -> Iterator[Finding]:
    """Judge that the first request of raw bytes is answered `code`, in the oldest version of `api`'s answers, with its own correlation id."""
    expected = f"What was sent is answered {_code(code)}, in the form of {api.title} v0."
    links = [obs for obs in evidence.select("event") if obs.who == "link"]
    sent = next((obs for obs in links if obs.body.get("name") == "raw"), None)
    answer = next((obs for obs in links if obs.body.get("name") == "answered-raw"), None)
    if sent is not None:
        observed = "It was not answered." if answer is None else _of_raw(api, sent, answer)
        verdict = Verdict.OK if observed == f"It was answered {_code(code)}." else Verdict.FAILED
        yield Finding(verdict=verdict, requirement=requirement, expected=expected, observed=observed, seq=(answer or sent).seq)


def _of_raw(api: Api, sent: Observation, answer: Observation) -> str:
    try:
        correlation, body = read_response(api, 0, answer.raw or b"")
    except WireError:
        return "What came cannot be read."
    is_its_own = correlation == int.from_bytes((sent.raw or b"")[_CORRELATION_AT], "big")
    return f"It was answered {_code(body['error_code'])}." if is_its_own else "It was answered under another correlation id."


@checker
def connections_end_as_written(evidence: Evidence, script: Script, requirement: str) -> Iterator[Finding]:
    """Judge that the broker ends the connections that the script expects it to end."""
    for index, begin, end in _steps(evidence):
        step = script.steps[index]
        if isinstance(step, AwaitClose):
            yield _of_end(step.connection, evidence, begin, end, requirement)


def _of_end(connection: str, evidence: Evidence, begin: int, end: int, requirement: str) -> Finding:
    """Return the finding on whether the end of the connection ended the step that began at `begin`."""
    expected = f"The broker ends connection {connection}."
    timeouts = evidence.select("event", after=begin, before=end)
    if any(obs.who == "kit" and obs.body.get("name") == "timeout" for obs in timeouts):
        observed = f"Connection {connection} stayed open."
        return Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, proof=Proof.LIVENESS, seq=begin)
    return Finding(verdict=Verdict.OK, requirement=requirement, expected=expected, observed=f"It ended connection {connection}.", seq=begin)


def _steps(evidence: Evidence) -> Iterator[tuple[int, int, int]]:
    """Yield each step with the `seq` of its begin and of the next step's begin."""
    begun = [(obs.body["index"], obs.seq) for obs in evidence.trace if obs.who == "kit" and obs.body.get("name") == "step"]
    ends = [*(seq for _, seq in begun[1:]), evidence.closing]
    for (index, begin), end in zip(begun, ends, strict=True):
        yield index, begin, end


def _of_parking(step: Ask, request: _AskedRequest, requirement: str) -> Iterator[Finding]:
    if not step.is_parked:
        return
    expected = f"{step.label} is not answered before the next step."
    if request.answer is None or request.answer.seq > request.next_step:
        yield Finding(verdict=Verdict.OK, requirement=requirement, expected=expected, observed="It was parked.")
        return
    observed = f"{step.label} was answered {_code(request.answer.error)} at once."
    yield Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, seq=request.answer.seq)


def _of_code(label: str, code: int, request: _AskedRequest, requirement: str) -> Finding:
    expected = f"{label} is answered {_code(code)}."
    if request.answer is None:
        seq = request.request.seq
        observed = f"{label} was not answered."
        return Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, proof=Proof.LIVENESS, seq=seq)
    verdict = Verdict.OK if request.answer.error == code else Verdict.FAILED
    observed = f"{label} was answered {_code(request.answer.error)}."
    return Finding(verdict=verdict, requirement=requirement, expected=expected, observed=observed, seq=request.answer.seq)


def _code(code: int | None) -> str:
    return "nothing" if code is None else f"{int(code)} {error_named(code)}"
