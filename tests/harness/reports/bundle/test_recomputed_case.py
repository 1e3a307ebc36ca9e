from __future__ import annotations

from dataclasses import replace

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import Level, Proof, Verdict
from groupproof.harness.reports.bundle.recomputed_case import Marks, RecomputedCase, read_json, recompute
from groupproof.protocol.trace import Trace, write_trace

CASE = Case(
    id="heartbeat/classic/x",
    title="A member beats.",
    requirements=("CLIENT-40",),
    level=Level.MUST,
    plan=Plan(members=(), steps=()),
    judges=(lambda ev: [Claim(requirement="CLIENT-40", expected="It beats.").failed("It does not.", ev.trace[0], proof=Proof.LIVENESS)],),
)
MARKS = Marks(seed=1, clock="wall")


def traced(run: str = "1.c1") -> Trace:
    return [replace(obs, run=run, case=CASE.id, seed=1) for obs in Story().member().trace]


def lines(trace: Trace) -> bytes:
    return "".join(f"{line}\n" for line in write_trace(trace)).encode()


def recomputed(*traces: bytes, **others: bytes) -> RecomputedCase:
    names = ["trace.ndjson", "trace-2.ndjson", "trace-3.ndjson"]
    return recompute(CASE, "cases/x", {**dict(zip(names, traces, strict=False)), **{f"{name}.json": data for name, data in others.items()}}, MARKS)


def test_three_runs_are_judged_together_as_in_the_run() -> None:
    found = recomputed(*(lines(traced(f"1.c{number}")) for number in range(3)), plan=b'{"case": "x"}')

    assert found.altered == []
    assert found.ruling is not None
    assert (found.ruling.verdict, found.ruling.stability, found.traces) == (Verdict.FAILED, "3/3", 3)
    assert [fact.run for fact in found.facts] == ["1.c0", "1.c1", "1.c2"]
    assert found.schedule == {"case": "x"}


def test_a_verdict_that_rests_on_three_runs_wants_three() -> None:
    assert recomputed(lines(traced())).altered == ["cases/x has 1 trace, and its verdict rests on 3"]
    assert recomputed(*[lines(traced())] * 2).altered == ["cases/x has 2 traces, and its verdict rests on 3"]


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda trace: trace[1:], "line 1 has the number 1 where 0 is due"),
        (lambda trace: [replace(trace[0], case="join/classic/y"), *trace[1:]], "line 1 is of the case 'join/classic/y'"),
        (lambda trace: [*trace[:1], replace(trace[1], run="1.c9"), *trace[2:]], "line 2 is of the run '1.c9'"),
        (lambda trace: [replace(observed, run="2.c1") for observed in trace], "line 1 is of the run '2.c1'"),
        (lambda trace: [replace(observed, seed=2) for observed in trace], "line 1 is of the seed 2 by wall time"),
        (lambda trace: [replace(observed, clock="virtual") for observed in trace], "by virtual time, the run of 1 by wall time"),
        (lambda trace: [replace(trace[0], at_ns=10**15), *trace[1:]], "line 2 lies before the line above it in time"),
    ],
)
def test_a_trace_that_is_none_of_this_case_in_this_run_is_named_once(spoilt: object, message: str) -> None:
    assert callable(spoilt)
    found = recomputed(lines(spoilt(traced())))

    (named,) = [name for name in found.altered if "rests on" not in name]
    assert named.startswith("cases/x/trace.ndjson: ")
    assert message in named


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "is empty"),
        (b"nonsense\n", "is no trace: line 1"),
        (b'{"seq": 0}\n', "is no trace: line 1"),
        (b"[" * 100_000, "is no trace"),
        (b'{"seq": "a", "at_ns": {}, "kind": []}\n', "is no trace: line 1"),
    ],
)
def test_whatever_stands_for_a_trace_comes_out_as_words(contents: bytes, message: str) -> None:
    found = recomputed(contents)

    assert found.ruling is None
    assert any(f"cases/x/trace.ndjson {message}" in name for name in found.altered)


def test_a_schedule_that_is_no_json_is_named() -> None:
    assert "cases/x/plan.json is no JSON" in recomputed(plan=b"{").altered[0]
    with pytest.raises(ValueError, match=r"too deep|Expecting"):
        read_json(b"[" * 100_000)
