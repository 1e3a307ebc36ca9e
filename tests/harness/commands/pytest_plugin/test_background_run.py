from __future__ import annotations

from tests.harness.commands.pytest_plugin.made import CASE, OTHER, about, commission, shared_result

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
from groupproof.harness.commands.pytest_plugin.background_run import campaign_of, summed_up
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.verdicts import Verdict


def test_workers_share_the_machine() -> None:
    alone = campaign_of(commission(), (CASE,), processes=1, say=lambda *_: None)
    one_of_three = campaign_of(commission(), (CASE,), processes=3, say=lambda *_: None)

    assert one_of_three.order.jobs == -(-alone.order.jobs // 3)


def test_a_coordinator_is_judged_by_its_own_profile_unless_told() -> None:
    own = campaign_of(commission(side="coordinator", named="librdkafka-mock"), (), processes=1, say=lambda *_: None)
    campaign = campaign_of(commission(side="coordinator", named="groupproof", profile="kafka-2.8"), (), processes=1, say=lambda *_: None)

    assert own.order.profile != campaign.order.profile == "kafka-2.8"


def test_a_campaign_that_is_stopped_before_it_begins_reaches_no_case_and_knows_it() -> None:
    campaign = campaign_of(commission(), (CASE,), processes=1, say=lambda *_: None)
    campaign.stop()

    outcome = campaign.go() if campaign.subject_info() else None

    assert outcome is None
    assert list(campaign.results) == []


def test_what_a_client_was_never_asked_is_not_in_its_report_unless_it_is_all_that_was_selected() -> None:
    foreign = next(case for case in cases_of("client", DIALECT_CAPABILITIES) if dialect_of_case(case.id) == "consumer")
    results = [shared_result(Verdict.OK).result(CASE), shared_result(Verdict.UNIMPLEMENTED, foreign.id).result(foreign)]

    both = summed_up(commission(), (CASE, foreign), about(), results)
    alone = summed_up(commission(), (foreign,), about(), results[1:])

    assert [result.case.id for result in both.summary.results] == [CASE.id]
    assert not both.summary.run.interrupted
    assert [result.case.id for result in alone.summary.results] == [foreign.id]


def test_what_several_have_run_is_summed_up_as_one_run() -> None:
    results = [shared_result(Verdict.OK).result(CASE), shared_result(Verdict.FAILED, OTHER.id).result(OTHER)]

    whole = summed_up(commission(), (CASE, OTHER), about(), results)
    partly = summed_up(commission(), (CASE, OTHER), about(), results[:1])

    assert (whole.summary.grade, whole.exit_code, whole.summary.run.interrupted) == ("FAILED", 1, False)
    assert partly.summary.run.interrupted
    assert [case.id for case in partly.summary.unreached] == [OTHER.id]
    assert not summed_up(commission(), (CASE, OTHER), about(gave_up="gone"), results[:1]).summary.run.interrupted
