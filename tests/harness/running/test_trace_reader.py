from __future__ import annotations

from dataclasses import replace

from tests.harness.judging.checkers.stories import keeping
from tests.harness.running.test_rejudge import CASE

from groupproof.harness.model.case import Case
from groupproof.harness.running.trace_reader import CaseIds, TraceReader, is_whole, tells_whole
from groupproof.protocol.trace import Observation


def test_a_case_of_the_catalogue_and_what_a_report_keeps_of_answers_are_judged_whole() -> None:
    assert [is_whole(case, {CASE.id: CASE}) for case in (CASE.id, "answered/classic/g", "mine/classic/x")] == [True, True, False]


def test_the_catalogue_is_made_once_and_where_a_case_is_named() -> None:
    made: list[str] = []

    def catalogue() -> list[Case]:
        made.append("catalogue")
        return [CASE]

    ids = CaseIds(catalogue)
    assert not is_whole("", ids)
    assert made == []
    assert [is_whole(name, ids) for name in (CASE.id, "mine/classic/x")] == [True, False]
    assert (made, list(ids), len(ids)) == (["catalogue"], [CASE.id], 1)


def test_a_run_whose_head_reports_a_tap_is_judged_whole_and_another_live() -> None:
    upstream = Observation(seq=3, at_ns=0, run="tap", kind="event", who="kit", body={"name": "upstream"})
    reader = TraceReader({}, head_rows=5)
    tapped = [replace(obs, run="tap") for obs in keeping().trace]
    reader.take([*tapped[:4], upstream, *tapped[4:], *keeping().trace])

    assert tells_whole(upstream)
    assert [(key, len(trace)) for key, trace in reader.whole.items()] == [(("tap", ""), len(tapped) + 1)]
    assert [result.run for result in reader.fleet.results()] == [""]
    assert next(TraceReader({}).fleet.results(), None) is None


def test_what_follows_after_the_head_changes_nothing() -> None:
    trace = keeping().trace
    late = Observation(seq=99, at_ns=0, kind="event", who="kit", body={"name": "upstream"})
    reader = TraceReader({}, head_rows=5)
    reader.take([*trace, late])

    assert not reader.whole
