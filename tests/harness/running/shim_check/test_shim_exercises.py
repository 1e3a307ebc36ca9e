"""Each planted fault of a shim is named by `shim check`; a run lays it at the shim's door, or says that it can't tell whose it is."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

import pytest
from tests.harness.running import virtual
from tests.harness.running.shim_check.faults_of_shims import FAULTS, NOT_ASKED, Plain, ShimFault, run_faulty
from tests.harness.running.shim_check.named_problem import CheckUntilNamed

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenShim
from groupproof.harness.model.plan import Command, Plan
from groupproof.harness.model.verdicts import ADVERSE, Verdict
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.shim_check.shim_check import ShimCheck
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

FAULTS_MIN = 30
BY_ID = {case.id: case for case in CASES}

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


def checked(fault: ShimFault) -> list[str]:
    return CheckUntilNamed(run_faulty(fault), fault.problem).run()


def judged(fault: ShimFault, case: Case) -> Judgement:
    """Return what a run of the case says of the shim; one that is not believed at all is BROKEN before its first case."""
    return judged_with_trace(fault, case)[1]


def judged_with_trace(fault: ShimFault, case: Case) -> tuple[Trace, Judgement]:
    found: list[tuple[Trace, Judgement]] = []

    async def main() -> None:
        subject, reference_peers = ReferenceSubject(run_faulty(fault)), ReferenceSubject(run_shim)
        async with subject.opened(), reference_peers.opened():
            stage = Stage(subject=subject, reference_peers=reference_peers, profile="kafka-4.1", seed=1, limits=virtual.LIMITS)
            play = await stage.play(case, key="virtual")
            found.append((play.trace, judge_run(case, play.trace, UNIVERSAL)))

    try:
        run_virtually(main, seed=1, steps_max=virtual.TASK_STEPS_MAX)
    except ExceptionGroup as error:
        trouble = trouble_in(error)
        if not isinstance(trouble, BrokenShim):
            raise
        found.append(([], Judgement(verdict=Verdict.BROKEN, reason=str(trouble))))
    return found[0]


def frames_of(trace: Trace, client: str = "m0") -> list[tuple[object, ...]]:
    """Return what a client sent and was answered up to the end of the plan, and what it read: without times, ids and the order of its Fetches."""
    end = next(obs.seq for obs in trace if obs.body.get("name") == "end")
    frames = [obs for obs in trace[:end] if obs.kind in ("request", "response") and obs.client == client]
    fetches = {(obs.kind, obs.error, offset) for obs in frames for offset in obs.offsets if obs.api == Api.FETCH.title}
    return [*((obs.kind, obs.api, obs.error, obs.offsets) for obs in frames if obs.api != Api.FETCH.title), *sorted(fetches, key=str)]


def test_there_are_enough_of_them_and_without_one_there_is_no_problem() -> None:
    assert len(FAULTS) >= FAULTS_MIN
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert checked(ShimFault(name="none", make=Plain, problem="")) == []


class OfConsumerGroups(Plain):
    """Declares the consumer protocol alone (KIP-848), and swallows what `swallowed` names."""

    swallowed = ""

    def lines_of(self, body: dict[str, Any]) -> list[str | dict[str, Any]]:
        if body.get("name") == "hello":
            return [{**body, "capabilities": [capability for capability in body["capabilities"] if capability not in ("classic", "cooperative")]}]
        return [] if body.get("name") == self.swallowed else [body]


class WithoutRevocations(OfConsumerGroups):
    swallowed = "partitions_revoked"


def test_a_shim_of_the_consumer_protocol_alone_is_checked_in_a_consumer_group() -> None:
    lines: list[str] = []

    assert ShimCheck(run_faulty(ShimFault(name="none", make=OfConsumerGroups, problem="")), say=lines.append).run() == []
    assert {"tried: a slow join", "tried: rebalances and their callbacks", "tried: unsubscribe", "tried: on-revoked"} <= set(lines)


def test_a_revocation_that_the_wire_shows_and_the_shim_does_not_report_is_its_problem() -> None:
    problem = "no partitions_revoked came although another member was given partitions of this one"

    assert problem in checked(ShimFault(name="unrevoked", make=WithoutRevocations, problem=problem))


@each_fault
def test_the_check_names_it(fault: ShimFault) -> None:
    problems = checked(fault)

    assert any(fault.problem in problem for problem in problems), problems


@each_fault
def test_a_run_lays_it_at_the_shims_door_or_there_is_a_reason_and_what_blames_the_client_all_the_same_rests_on_the_shims_word(
    fault: ShimFault,
) -> None:
    judgement = judged(fault, BY_ID[fault.case])

    assert judgement.verdict is Verdict(fault.verdict), judgement
    assert fault.line in judgement.reason
    assert bool(fault.line) is (judgement.verdict is Verdict.BROKEN)
    assert bool(fault.why) is (judgement.verdict is not Verdict.BROKEN)
    blame = [finding for finding in judgement.findings if finding.verdict in ADVERSE]
    assert all(finding.grounds is not None and finding.grounds.word for finding in blame)
    assert not blame or _is_blamed(fault, BY_ID[fault.case])


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.twin], ids=lambda fault: fault.name)
def test_no_frame_tells_it_from_a_fault_of_the_clients(fault: ShimFault) -> None:
    case = BY_ID[fault.case]
    play, by_client = virtual.judged(case, variant=fault.twin)
    trace, by_shim = judged_with_trace(fault, case)

    assert frames_of(trace) == frames_of(play.trace)
    assert {finding.observed for finding in by_shim.findings if finding.verdict in ADVERSE} == {
        finding.observed for finding in by_client.findings if finding.verdict in ADVERSE
    }


def test_a_command_that_no_case_asks_for_has_no_verdict() -> None:
    asked = {step.command for case in CASES if isinstance(case.plan, Plan) for step in case.plan.steps if isinstance(step, Command)}

    assert {fault.why for fault in FAULTS if fault.why.startswith("no case asks")} == {
        NOT_ASKED.format(command=command) for command in {"committed", "position", "assignment"} - asked
    }


@pytest.mark.soak
@each_fault
def test_no_other_case_blames_the_client_for_it(fault: ShimFault) -> None:
    blamed = [case.id for case in CASES if not _is_blamed(fault, case) and judged(fault, case).verdict in ADVERSE]

    assert blamed == []


def _is_blamed(fault: ShimFault, case: Case) -> bool:
    return any(fnmatch(case.id, pattern) for pattern in fault.blames)
