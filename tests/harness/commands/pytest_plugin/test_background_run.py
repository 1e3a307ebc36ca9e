from __future__ import annotations

from tests.harness.commands.pytest_plugin.made import CASE, OTHER, about, run_plan, shared_result

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
from groupproof.harness.commands.pytest_plugin.background_run import background_run_of, summed_up
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.verdicts import Verdict


def test_workers_share_the_machine() -> None:
    alone = background_run_of(run_plan(), (CASE,), processes=1, say=lambda *_: None)
    one_of_three = background_run_of(run_plan(), (CASE,), processes=3, say=lambda *_: None)

    assert one_of_three.config.jobs == -(-alone.config.jobs // 3)


def test_a_coordinator_is_judged_by_its_own_profile_by_default() -> None:
    own = background_run_of(run_plan(side="coordinator", named="librdkafka-mock"), (), processes=1, say=lambda *_: None)
    background_run = background_run_of(run_plan(side="coordinator", named="groupproof", profile="kafka-2.8"), (), processes=1, say=lambda *_: None)

    assert own.config.profile != background_run.config.profile == "kafka-2.8"


def test_a_run_that_is_stopped_before_it_begins_reaches_no_case_and_knows_it() -> None:
    background_run = background_run_of(run_plan(), (CASE,), processes=1, say=lambda *_: None)
    background_run.stop()

    outcome = background_run.go() if background_run.subject_info() else None

    assert outcome is None
    assert list(background_run.results) == []


def test_what_a_client_was_never_asked_is_not_in_its_report_unless_it_is_all_that_was_selected() -> None:
    foreign = next(case for case in cases_of("client", DIALECT_CAPABILITIES) if dialect_of_case(case.id) == "consumer")
    results = [shared_result(Verdict.OK).result(CASE), shared_result(Verdict.UNIMPLEMENTED, foreign.id).result(foreign)]

    both = summed_up(run_plan(), (CASE, foreign), about(), results)
    alone = summed_up(run_plan(), (foreign,), about(), results[1:])

    assert [result.case.id for result in both.summary.results] == [CASE.id]
    assert not both.summary.run.interrupted
    assert [result.case.id for result in alone.summary.results] == [foreign.id]


def test_what_several_have_run_is_summed_up_as_one_run() -> None:
    results = [shared_result(Verdict.OK).result(CASE), shared_result(Verdict.FAILED, OTHER.id).result(OTHER)]

    whole = summed_up(run_plan(), (CASE, OTHER), about(), results)
    partly = summed_up(run_plan(), (CASE, OTHER), about(), results[:1])

    assert (whole.summary.grade, whole.exit_code, whole.summary.run.interrupted) == ("FAILED", 1, False)
    assert partly.summary.run.interrupted
    assert [case.id for case in partly.summary.unreached] == [OTHER.id]
    assert not summed_up(run_plan(), (CASE, OTHER), about(gave_up="gone"), results[:1]).summary.run.interrupted
