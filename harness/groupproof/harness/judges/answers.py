"""Holds a script's own words against its trace: the codes that its steps name, which are kafka-4.1's, and what they say stays parked.

The oracle says more, of any release. This judge keeps the hand-written course of each case honest, and with it the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groupproof.harness.case import Judge
from groupproof.harness.evidence import Evidence
from groupproof.harness.script import Answered, Ask, Script
from groupproof.harness.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import error_named

__all__ = ["answers_as_written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request with its answer, and the `seq` at which the step after it began."""

    request: Observation
    answer: Observation | None
    next_step: int


def answers_as_written(script: Script, requirement: str) -> Judge:
    """Judge that each answer has the code that the script names, and that what it calls parked is not answered before the next step."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        asked: dict[str, _Asked] = {}
        for index, begin, end in _steps(evidence):
            step = script.steps[index]
            if isinstance(step, Ask):
                request = next(evidence.select("request", after=begin, before=end), None)
                if request is None:
                    continue
                asked[step.label] = _Asked(request=request, answer=evidence.answer(request), next_step=end)
                yield from _of_parking(step, asked[step.label], requirement)
            if isinstance(step, Ask | Answered) and step.code is not None and step.label in asked:
                yield _of_code(step.label, step.code, asked[step.label], requirement)

    return judge


def _steps(evidence: Evidence) -> Iterator[tuple[int, int, int]]:
    """Yield each step that was begun with the `seq` of its begin and of the next step's."""
    begun = [(seen.body["index"], seen.seq) for seen in evidence.trace if seen.who == "kit" and seen.body.get("name") == "step"]
    ends = [*(seq for _, seq in begun[1:]), evidence.closing]
    for (index, begin), end in zip(begun, ends, strict=True):
        yield index, begin, end


def _of_parking(step: Ask, asked: _Asked, requirement: str) -> Iterator[Finding]:
    if not step.is_parked:
        return
    expected = f"{step.label} is not answered before the next step."
    if asked.answer is None or asked.answer.seq > asked.next_step:
        yield Finding(verdict=Verdict.OK, requirement=requirement, expected=expected, observed="It was parked.")
        return
    observed = f"{step.label} was answered {_code(asked.answer.error)} at once."
    yield Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, seq=asked.answer.seq)


def _of_code(label: str, code: int, asked: _Asked, requirement: str) -> Finding:
    expected = f"{label} is answered {_code(code)}."
    if asked.answer is None:
        seq = asked.request.seq
        observed = f"{label} was not answered."
        return Finding(verdict=Verdict.FAILED, requirement=requirement, expected=expected, observed=observed, proof=Proof.LIVENESS, seq=seq)
    verdict = Verdict.OK if asked.answer.error == code else Verdict.FAILED
    observed = f"{label} was answered {_code(asked.answer.error)}."
    return Finding(verdict=verdict, requirement=requirement, expected=expected, observed=observed, seq=asked.answer.seq)


def _code(code: int | None) -> str:
    return "nothing" if code is None else f"{int(code)} {error_named(code)}"
