from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import fake

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Judgement, rule_on
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import KitFailure
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Await, Command, Member, Pass, Plan, Stable, Start
from groupproof.harness.model.verdicts import Finding, Level, Proof, Verdict
from groupproof.harness.running.canary import Canary
from groupproof.harness.running.case_runner import BLURRED_MAX, Progress, Runner
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.runs.case_durations import expected_ms, shipped_durations
from groupproof.harness.subjects.shims.shim_memory import RunShim
from groupproof.harness.subjects.subject import ProcessSubject, ReferenceSubject, Subject
from groupproof.protocol.trace import Trace, read_trace, write_trace

JOIN = Plan(members=(Member(name="m0"),), steps=(Start(member="m0"), Await(until=Stable(members=("m0",)))))


def case(*judges: Judge, id: str = "a/classic/a", plan: Plan = JOIN, isolated: bool = False) -> Case:
    return Case(id=id, title=id, requirements=("HB-03",), level=Level.MUST, plan=plan, judges=judges or (fine,), isolated=isolated)


def finding(verdict: Verdict, observed: str, proof: Proof = Proof.SAFETY) -> Finding:
    return Finding(verdict=verdict, requirement="HB-03", expected="It does.", observed=observed, proof=proof)


def fine(evidence: Evidence) -> Iterator[Finding]:
    yield finding(Verdict.OK, "It did.")


def silent(evidence: Evidence) -> Iterator[Finding]:
    yield finding(Verdict.FAILED, "Nothing came.", Proof.LIVENESS)


def run(*cases: Case, jobs: int = 8, notices: list[tuple[Progress, str]] | None = None, shim: RunShim = run_shim) -> list[CaseResult]:
    """Run cases with the reference member, in virtual time."""
    reference = ReferenceSubject(shim)
    stage = Stage(subject=reference, reference_peers=reference, profile="kafka-4.1", seed=7)
    return _run(stage, reference, cases, jobs, notices, clock=trio.testing.MockClock(autojump_threshold=0))


def run_fake(how: str, *cases: Case, capabilities: tuple[str, ...] = ("multi",)) -> list[CaseResult]:
    """Run cases with the fake shim, whose client never speaks."""
    subject = ProcessSubject("fake", fake(how, *capabilities), seed=1, processes=1)
    stage = Stage(subject=subject, reference_peers=ReferenceSubject(run_shim, is_virtual=False), profile="kafka-4.1", seed=7)
    return _run(stage, subject, cases, 8, None)


def _run(
    stage: Stage,
    subject: Subject,
    cases: tuple[Case, ...],
    jobs: int,
    notices: list[tuple[Progress, str]] | None,
    clock: trio.abc.Clock | None = None,
) -> list[CaseResult]:
    def say(progress: Progress, case: Case, result: CaseResult | None) -> None:
        if notices is not None:
            notices.append((progress, case.id))

    runner = Runner(stage, jobs=jobs, say=say)

    async def main() -> None:
        with trio.fail_after(600):
            async with subject.opened():
                await runner.run(cases)

    trio.run(main, clock=clock)
    return sorted(runner.results, key=lambda result: result.case.id)


def test_every_case_has_a_coordinator_and_a_trace_of_its_own() -> None:
    one, other = run(case(id="a/classic/a"), case(id="b/classic/b"))

    for result in (one, other):
        (play,) = result.plays
        assert result.ruling.verdict is Verdict.OK
        assert {obs.case for obs in play.trace} == {result.case.id}
        assert {obs.clock for obs in play.trace} == {"virtual"}
        assert [obs.seq for obs in play.trace] == list(range(len(play.trace)))


@pytest.mark.slow
def test_a_run_lasts_as_long_as_its_longest_case() -> None:
    waiting = Plan(members=JOIN.members, steps=(*JOIN.steps, Pass(ms=20_000)))
    results = run(*(case(id=f"a/classic/a{number}", plan=waiting) for number in range(8)))

    assert all(20 <= result.duration_s < 25 for result in results)
    longest = max(result.plays[0].duration_s for result in results)
    assert longest < 25


def test_with_one_job_cases_follow_each_other_the_longest_first() -> None:
    notices: list[tuple[Progress, str]] = []
    longer = Plan(members=JOIN.members, steps=(*JOIN.steps, Pass(ms=5_000)))
    run(case(id="a/classic/short"), case(id="b/classic/long", plan=longer), jobs=1, notices=notices)

    assert notices == [
        (Progress.STARTED, "b/classic/long"),
        (Progress.DONE, "b/classic/long"),
        (Progress.STARTED, "a/classic/short"),
        (Progress.DONE, "a/classic/short"),
    ]


def test_in_real_time_a_case_of_which_clients_made_more_than_its_plan_says_begins_before_a_longer_plan() -> None:
    order: list[str] = []
    long_for_clients = max(CASES, key=lambda case: shipped_durations("client").get(case.id, 0.0) * 1000 - length_ms(case))
    longer_by_plan = replace(CASES[0], id="a/classic/a", plan=Plan(members=JOIN.members, steps=(Pass(ms=2_000),)))
    assert length_ms(long_for_clients) < 2_000

    class Listed:
        is_virtual = False
        canary = None

        async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
            order.append(case.id)
            raise KitFailure("is not run")

        def judge(self, case: Case, trace: Trace) -> Judgement:
            raise AssertionError(case.id)

    trio.run(Runner(Listed(), jobs=1, say=lambda *_: None).run, (longer_by_plan, long_for_clients))

    assert order == [long_for_clients.id, longer_by_plan.id]


def test_with_enough_jobs_a_whole_run_lasts_little_longer_than_its_longest_case() -> None:
    """The durations of a client, measured once, pass in virtual time; the kit is never late, so that the pace lets one more in each moment."""

    class Passing:
        is_virtual = False
        canary = Canary()

        async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
            await trio.sleep(expected_ms(case, "kafka-python") / 1000)
            raise KitFailure("has passed")

        def judge(self, case: Case, trace: Trace) -> Judgement:
            raise AssertionError(case.id)

    runner = Runner(Passing(), jobs=64, say=lambda *_: None, client="kafka-python")

    async def main() -> float:
        began = trio.current_time()
        await runner.run(CASES)
        return trio.current_time() - began

    lasted = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    longest = max(result.duration_s for result in runner.results)
    assert len(runner.results) == len(CASES)
    assert lasted <= 1.2 * longest


def test_absence_is_looked_for_three_times_under_the_same_schedule() -> None:
    notices: list[tuple[Progress, str]] = []
    (result,) = run(case(silent), notices=notices)

    assert (result.ruling.verdict, result.ruling.stability) == (Verdict.FAILED, "3/3")
    assert len(result.plays) == 3
    assert len({play.trace[0].seed for play in result.plays}) == 1
    assert (Progress.REPEATED, "a/classic/a") in notices


def test_what_only_the_first_run_shows_is_unstable() -> None:
    entries: list[int] = []

    def once(evidence: Evidence) -> Iterator[Finding]:
        entries.append(1)
        yield from (silent if len(entries) == 1 else fine)(evidence)

    (result,) = run(case(once))

    assert (result.ruling.verdict, result.ruling.stability) == (Verdict.INCONCLUSIVE, "unstable 1/3")


class Lagging:
    """A stage whose first `lags` runs say nothing of the subject."""

    is_virtual = True
    canary = None

    def __init__(self, lags: int) -> None:
        self.alone: list[bool] = []
        self._lags = lags

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        self.alone.append(alone)
        return Play(trace=[], stderr={}, duration_s=0.0)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        is_blurred = len(self.alone) <= self._lags
        reason = f"the machine was late in run {len(self.alone)}" if is_blurred else ""
        return Judgement(verdict=Verdict.INCONCLUSIVE if is_blurred else Verdict.OK, is_blurred=is_blurred, reason=reason)


@pytest.mark.parametrize(("lags", "verdict"), [(0, Verdict.OK), (1, Verdict.OK), (BLURRED_MAX, Verdict.OK), (9, Verdict.INCONCLUSIVE)])
def test_a_run_without_a_verdict_is_repeated_alone_but_not_for_ever(lags: int, verdict: Verdict) -> None:
    stage = Lagging(lags)
    runner = Runner(stage, jobs=1, say=lambda *_: None)
    trio.run(runner.run, [case()])

    assert runner.results[0].ruling.verdict is verdict
    assert stage.alone == [False, *[True] * min(lags, BLURRED_MAX)]
    assert runner.results[0].ruling.blurs == tuple(f"the machine was late in run {number}" for number in range(1, min(lags, BLURRED_MAX) + 1))


def test_a_judge_that_raises_is_the_kits_own_failure_and_ends_no_other_case() -> None:
    def wrong(evidence: Evidence) -> Iterator[Finding]:
        raise RuntimeError("a judge is wrong")

    failed, other = run(case(wrong, id="a/classic/a"), case(id="b/classic/b"))

    assert isinstance(failed.trouble, KitFailure)
    assert "groupproof itself failed in a/classic/a: RuntimeError: a judge is wrong" in failed.ruling.observed
    assert failed.ruling.verdict is Verdict.INCONCLUSIVE
    assert other.ruling.verdict is Verdict.OK


def test_the_end_of_a_shared_process_is_laid_at_the_door_of_who_ends_it_alone() -> None:
    """Both cases share the process; after its end each has one of its own, and is broken by its own shim."""
    results = run_fake("dies-on-subscribe", case(id="a/classic/a"), case(id="b/classic/b"))

    for result in results:
        assert result.ruling.verdict is Verdict.BROKEN
        assert "exited with status 7 before its client spoke: last words" in result.ruling.observed
        assert result.ruling.shared_ends == ("exited with status 7: last words",)
        (play,) = result.plays
        (exited,) = [obs for obs in play.trace if obs.body.get("name") == "exit"]
        assert not exited.body["shared"]


@pytest.mark.parametrize("name", ["sync/classic/illegal-generation", "join/classic/unknown-member-id", "heartbeat/classic/unknown-member-id"])
@pytest.mark.slow
def test_a_client_that_closes_its_connection_on_errors_is_affected_once_and_judged_as_others_are(name: str) -> None:
    subject = ReferenceSubject(run_shim, variant="hangs-up-after-errors", is_virtual=False)
    stage = Stage(subject=subject, reference_peers=ReferenceSubject(run_shim, is_virtual=False), profile="kafka-4.1", seed=7)
    (chosen,) = [item for item in CASES if item.id == name]

    (result,) = _run(stage, subject, (chosen,), 1, None)

    assert result.ruling.verdict is Verdict.OK
    stages = Counter(obs.detail for obs in result.plays[0].trace if obs.kind == "fault" and obs.detail != "healed")
    assert stages == dict.fromkeys(("armed", "triggered", "delivered"), stages["armed"])


WAITS = Plan(members=JOIN.members, steps=(Start(member="m0"), Pass(ms=300)))


@pytest.mark.parametrize(
    ("how", "verdict", "text"),
    [
        ("killed", Verdict.INCONCLUSIVE, "the process of m0 was killed from outside (signal 9)"),
        ("panics", Verdict.FAILED, "It crashed: its process exited with status 2."),
        ("aborts", Verdict.FAILED, "It crashed: its process was ended by signal 6 (SIGABRT)."),
        ("honest", Verdict.INCONCLUSIVE, "the shim answered, and no request of its client came"),
        ("tells-a-story", Verdict.BROKEN, "the shim of m0 told partitions_assigned although its client had sent no request of the group protocol"),
        ("answers-twice", Verdict.BROKEN, "a second answer to command 2, which is not open: "),
    ],
)
def test_a_shim_that_ends_or_lies_is_reported_by_name(how: str, verdict: Verdict, text: str) -> None:
    (result,) = run_fake(how, case(plan=WAITS), capabilities=())

    assert (result.ruling.verdict, result.ruling.observed[: len(text)]) == (verdict, text)
    if verdict is Verdict.FAILED:
        assert [item.detail for item in result.ruling.findings] == ["panic: nil"]


def test_what_a_broken_shim_says_is_broken_in_every_way_and_never_failed() -> None:
    paused = Plan(members=JOIN.members, steps=(Start(member="m0"), Pass(ms=100)))
    for how, why in (("bad-line", "is no JSON"), ("refuses", "subscribe was refused: INVALID_CONFIG bad")):
        (result,) = run_fake(how, case(plan=paused), capabilities=())
        assert result.ruling.verdict is Verdict.BROKEN
        assert why in result.ruling.observed


def lying(**answers: object) -> RunShim:
    """Return the reference's shim, but its member is told something else than the kit said; `pause` is only answered."""

    async def run(
        lines: AsyncIterator[str],
        emit: Callable[[str], Awaitable[None]],
        connect: Callable[[str, int], Awaitable[trio.abc.Stream]],
        *,
        seed: int,
        variant: str | None = None,
    ) -> None:
        async def altered() -> AsyncIterator[str]:
            async for line in lines:
                command = json.loads(line)
                if command["command"] == "subscribe":
                    command |= answers
                elif command["command"] == "pause":
                    command["command"] = "assignment"
                yield json.dumps(command)

        await run_shim(altered(), emit, connect, seed=seed, variant=variant)

    return run


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"client_id": "all-the-same"}, "client_id: requests came as 'all-the-same'"),
        ({"group": "other"}, "group: m0 speaks for group 'other', asked was 'g'"),
        ({"session_timeout_ms": 9_000}, "session_timeout_ms: m0 was told 6000, its JoinGroup says 9000"),
        ({"instance_id": "i"}, "instance_id: m0 was told None, its JoinGroup says 'i'"),
        ({"assignors": ["roundrobin"]}, "assignors: m0 was told ['range'], its JoinGroup says ['roundrobin']"),
        ({}, "m0 was paused, yet its polls returned records"),
    ],
)
def test_a_shim_that_lies_about_what_its_client_does_is_broken_and_its_client_not_failed(fields: dict[str, object], why: str) -> None:
    plan = Plan(members=JOIN.members, steps=(*JOIN.steps, Command(member="m0", command="pause"), Pass(ms=2_000)))

    (result,) = run(case(silent, plan=plan), shim=lying(**fields))

    assert result.ruling.verdict is Verdict.BROKEN
    assert why in result.ruling.observed


def test_the_shims_own_words_are_kept_with_the_run() -> None:
    (result,) = run_fake("dies-on-subscribe", case(), capabilities=())

    assert result.plays[0].stderr == {"m0": ["last words"]}


def test_a_verdict_can_be_repeated_from_the_trace_alone(tmp_path: Path) -> None:
    ids = ("join/classic/late-answer", "heartbeat/classic/steady", "move/classic/idle", "commit/classic/membership")
    chosen = [item for item in CASES if item.id in ids]
    assert len(chosen) == len(ids)
    for result in run(*chosen):
        path = tmp_path / "trace.ndjson"
        path.write_text("\n".join(write_trace(result.plays[0].trace)))
        again = rule_on(result.case, [judge_run(result.case, list(read_trace(path.read_text().splitlines())), UNIVERSAL)])
        assert again == result.ruling


def test_the_same_seed_gives_the_same_faults_and_the_same_member_ids() -> None:
    def drawn(result: CaseResult) -> set[tuple[object, ...]]:
        trace = result.plays[0].trace
        ids = {("id", obs.client, obs.member) for obs in trace if obs.kind == "response" and obs.api == "JoinGroup"}
        return ids | {("fault", obs.client, obs.fault, obs.detail) for obs in trace if obs.kind == "fault"}

    chosen = next(item for item in CASES if item.id == "join/classic/late-answer")
    (first,), (second,) = run(chosen), run(chosen)

    assert drawn(first) == drawn(second)
    assert first.plays[0].trace[0].seed == second.plays[0].trace[0].seed
