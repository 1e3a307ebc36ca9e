from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.running.virtual import judged
from tests.traces import Story

from groupproof.harness.cases.drawn_case import drawn_case, with_healing
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import answers, passing, start, subject
from groupproof.harness.model.verdicts import Level, Proof, Verdict
from groupproof.harness.running.rejudge import read_traces, rejudged, split
from groupproof.protocol.trace import Trace, read_trace, write_trace
from groupproof.protocol.vocabulary import Api

CASE = Case(
    id="heartbeat/classic/x",
    title="A member beats.",
    requirements=("CLIENT-40",),
    level=Level.MUST,
    plan=Plan(members=(), steps=()),
    judges=(lambda ev: [Claim(requirement="CLIENT-40", expected="It beats.").failed("It does not.", ev.trace[0], proof=Proof.LIVENESS)],),
)


def traced(run: str = "1.c1", case: str = CASE.id) -> Trace:
    return [replace(obs, run=run, case=case) for obs in Story().member().trace]


def test_runs_and_cases_in_one_file_are_judged_apart_in_their_own_order(tmp_path: Path) -> None:
    mixed = [obs for pair in zip(traced("1.c1"), reversed(traced("1.c2")), strict=True) for obs in pair]
    (tmp_path / "all.ndjson").write_text("\n".join(write_trace(mixed)))

    traces = read_traces([tmp_path / "all.ndjson"])

    assert [trace[0].run for trace in traces] == ["1.c1", "1.c2"]
    assert all([obs.seq for obs in trace] == list(range(4)) for trace in traces)
    assert traces[0][0].api == "JoinGroup"
    assert traces[1][0].api == "JoinGroup"


def test_a_gap_in_the_numbers_does_not_confuse_the_judges(tmp_path: Path) -> None:
    (tmp_path / "cut.ndjson").write_text("\n".join(write_trace(traced()[2:])))

    (trace,) = read_traces([tmp_path / "cut.ndjson"])

    assert [obs.seq for obs in trace] == [0, 1]


def test_the_repetitions_of_a_case_are_one_ruling() -> None:
    (once,) = rejudged([traced()], [CASE], ())
    (thrice,) = rejudged([traced(f"1.c{number}") for number in range(3)], [CASE], ())

    assert (once.ruling.verdict, once.ruling.stability) == (Verdict.FAILED, "1/1")
    assert (thrice.ruling.verdict, thrice.ruling.stability) == (Verdict.FAILED, "3/3")


def test_a_folder_is_searched_for_its_traces(tmp_path: Path) -> None:
    (tmp_path / "cases" / "a").mkdir(parents=True)
    for name in ("trace.ndjson", "trace-2.ndjson"):
        (tmp_path / "cases" / "a" / name).write_text("\n".join(write_trace(traced(name))))

    assert len(read_traces([tmp_path])) == 2


def test_a_folder_without_traces_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"no trace\.ndjson"):
        read_traces([tmp_path])


def test_a_taps_trace_is_judged_on_both_sides_again_and_so_is_what_its_report_keeps() -> None:
    story = Story()
    by_name = {"name": "upstream", "profile": "kafka-4.1", "groups": [], "settings": {}, "untold": ""}
    story.see("event", who="kit", body=by_name)
    story.request(Api.JOIN_GROUP, body={"group_id": "g", "protocol_type": "consumer"}, member="")

    results = rejudged([story.trace], [CASE], ())
    (again,) = rejudged([results[1].plays[0].trace], [CASE], ())

    assert [result.case.id for result in results] == ["observed/classic/g", "answered/classic/g"]
    assert again.ruling == results[1].ruling


@pytest.mark.slow
def test_a_drawn_plan_is_judged_again_by_its_trace_alone() -> None:
    head = Plan(members=(subject("m0"),), steps=(*start("m0"), answers("f", Api.HEARTBEAT, 27, client="m0"), passing(2_000)))
    case = drawn_case("1-7", with_healing(head))
    play, judgement = judged(case, variant="drops-id-on-heartbeat-27")
    (trace,) = split(list(read_trace(write_trace(play.trace))))
    (result,) = rejudged([trace], (), UNIVERSAL)

    assert judgement.verdict is Verdict.NON_STRICT
    assert result.ruling == rule_on(case, [judgement])
    assert result.case.id == "fuzz/classic/1-7"
