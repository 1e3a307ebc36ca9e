"""`groupproof replay FILE`: runs a recorded schedule again, against its own subject or another."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.options import ProgramCommand, program_of

if TYPE_CHECKING:
    from rich.console import Console

    from groupproof.harness.judging.case_result import CaseResult
    from groupproof.harness.model.case import Case
    from groupproof.harness.running.runs.client_run import RunOutcome
    from groupproof.harness.running.schedule_file import Schedule
    from groupproof.harness.subjects.client_registry import Candidate

__all__ = ["command"]

_SCENARIO = "chaos/"


@click.command(name="replay", cls=ProgramCommand, short_help="Run a recorded schedule again.")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("subject", required=False)
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for a report of this one case.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout, and nothing else there.")
@click.option("--hold", is_flag=True, help="Print the shim's command line, stop the timers and wait for a debugger.")
@click.option("--shim-level", type=click.Choice(["0", "1"]), help="The shim level of a program, as in certify.  [default: 1]")
@click.option(
    "--engine", type=click.Choice(["simulator", "trio", "sockets"]), help="The engine that runs the schedule of a simulation.  [default: simulator]"
)
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="HOST", help="Where the coordinators listen.")
@click.option("--advertise", metavar="HOST", help="The host that clients connect to, when that differs (containers).")
@click.pass_context
def command(ctx: click.Context, /, file: Path, subject: str | None, engine: str | None, **options: Any) -> int:
    """Run the schedule in FILE again: 1 says that it came out as recorded (reproduced), 0 that it did not.

    Another SUBJECT, or a PROGRAM, takes the place of the one that the schedule names. A report keeps a schedule of each case, as
    cases/ID/plan.json.
    """
    from groupproof.harness.running.simulations.simulation_file import is_simulation

    program = program_of(ctx)
    if subject is not None and program:
        raise click.UsageError("name either a subject or a program behind --, not both", ctx)
    if is_simulation(file):
        return _simulated(file, subject, program, engine or "simulator", **options)
    if engine is not None:
        raise click.UsageError("--engine is for a simulation's schedule; this one names its subject", ctx)
    return _replay(file, subject, program, **options)


def _simulated(file: Path, subject: str | None, program: tuple[str, ...], engine: str, *, output: Path | None, as_json: bool, **_: Any) -> int:
    from groupproof.harness.commands.work.simulations import replayed

    if subject is not None or program:
        raise click.UsageError("the schedule is of a simulation: only the reference can run it, on both sides")
    return replayed(file, output, engine, as_json=as_json)


def _replay(
    file: Path,
    subject: str | None,
    program: tuple[str, ...],
    *,
    output: Path | None,
    as_json: bool,
    hold: bool,
    shim_level: str | None,
    bind: str,
    advertise: str | None,
) -> int:
    from rich.console import Console

    from groupproof.harness.model.script import Script
    from groupproof.harness.reports.output_folder import check_output
    from groupproof.harness.running.hold import Hold
    from groupproof.harness.running.runs.client_run import ClientRun, RunConfig
    from groupproof.harness.running.schedule_file import load_schedule

    schedule = load_schedule(file)
    if output is not None:
        check_output(output)
    console = Console(stderr=True)
    if schedule.case.startswith(_SCENARIO):
        if hold:
            raise click.UsageError("the schedule is of a scenario, in which time cannot be stopped; leave --hold out")
        outcome = _of_scenario(schedule, subject, program, shim_level, lambda line: console.print(line, markup=False, highlight=False))
        return _print_outcome(schedule, outcome, file, output, as_json=as_json)
    case = schedule.as_case()
    if isinstance(schedule.plan, Script):
        if program or hold or shim_level is not None:
            raise click.UsageError("the schedule is a coordinator's: there is no program, no shim and nothing to hold")
        return _print_outcome(schedule, _of_coordinator(schedule, case, subject, console), file, output, as_json=as_json)
    found = _candidate(schedule, subject, program, shim_level, lambda line: console.print(line, markup=False, highlight=False))
    if hold and found.subject.is_virtual:
        raise click.UsageError("--hold waits for a debugger at a shim's process; the reference runs inside groupproof, in virtual time")
    config = RunConfig(
        cases=[case],
        profile=schedule.profile,
        level="info",
        seed=schedule.seed,
        jobs=1 if hold else found.jobs,
        command=["groupproof", *sys.argv[1:]],
        bind=bind,
        advertise=advertise,
        hold=Hold(lambda line: console.print(line, markup=False, highlight=False)) if hold else None,
    )
    return _print_outcome(schedule, ClientRun(found, config, say=lambda *_: None, on_hello=lambda _: None).go(), file, output, as_json=as_json)


def _of_scenario(schedule: Schedule, subject: str | None, program: tuple[str, ...], shim_level: str | None, say: Any) -> RunOutcome:
    from groupproof.harness.running.plugins import REPLAYS, plugin

    outcome: RunOutcome = plugin(REPLAYS, "chaos")(schedule, subject, program, None if shim_level is None else int(shim_level), say)
    return outcome


def _of_coordinator(schedule: Schedule, case: Case, named: str | None, console: Console) -> RunOutcome:
    from groupproof.harness.running.runs.coordinator_run import CoordinatorRun
    from groupproof.harness.running.runs.whole_run import RunConfig
    from groupproof.harness.subjects.brokers.broker_providers import subject_named

    spec = named or (schedule.subject if isinstance(schedule.subject, str) else " ".join(schedule.subject))
    found = subject_named(spec, profile=schedule.profile, say=lambda line: console.print(line, markup=False, highlight=False))
    config = RunConfig(cases=[case], profile=schedule.profile, level="info", seed=schedule.seed, jobs=1, command=["groupproof", *sys.argv[1:]])
    return CoordinatorRun(found, config, say=lambda *_: None).go()


def _candidate(schedule: Schedule, subject: str | None, program: tuple[str, ...], shim_level: str | None, say: Any) -> Candidate:
    from groupproof.harness.subjects.client_registry import candidate

    if subject is None and not program:
        subject, program = (schedule.subject, ()) if isinstance(schedule.subject, str) else (None, schedule.subject)
    level = None if shim_level is None else int(shim_level)
    return candidate(subject, program, profile=schedule.profile, seed=schedule.seed, shim_level=level, say=say)


def _print_outcome(schedule: Schedule, outcome: RunOutcome, file: Path, output: Path | None, *, as_json: bool) -> int:
    from groupproof.harness.reports.report_writer import write_report

    if output is not None:
        write_report(outcome.summary, output)
    if not outcome.summary.results:
        click.echo("groupproof: interrupted before the case had ended", err=True)
        return outcome.exit_code
    (result,) = outcome.summary.results
    lines = list(_lines(schedule, result, outcome.summary.subject.title))
    for line in lines:
        click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps(outcome.summary.to_json(str(output or file.parent)), ensure_ascii=False, indent=1))
    return _code(schedule, result, outcome)


def _lines(schedule: Schedule, result: CaseResult, title: str) -> list[str]:
    from groupproof.harness.running.schedule_file import is_reproduced

    ruling = result.ruling
    recorded = f", recorded was {schedule.verdict.value}" if schedule.verdict is not None else ""
    verdict = "reproduced" if is_reproduced(schedule, ruling) else "not reproduced"
    stability = f" ({ruling.stability})" if ruling.stability not in ("1/1", "0/1") else ""
    lines = [f"{ruling.verdict.value} {result.case.id}{stability} by {title}: {verdict}{recorded}"]
    lines += [f"  expected  {ruling.expected}"] if ruling.expected else []
    return [*lines, f"  observed  {ruling.observed}"]


def _code(schedule: Schedule, result: CaseResult, outcome: RunOutcome) -> int:
    """Return 1 if the result is reproduced, or broke a MUST in another way; otherwise the code of what prevented a verdict, or 0."""
    from groupproof.harness.judging.summary.grade import exit_code
    from groupproof.harness.model.verdicts import Verdict
    from groupproof.harness.running.schedule_file import is_reproduced

    adverse = result.ruling.verdict in (Verdict.FAILED, Verdict.NON_STRICT)
    if outcome.summary.run.interrupted:
        return outcome.exit_code
    is_open = schedule.verdict is Verdict.INFORMATIONAL  # a divergence from a rule that the protocol leaves open
    if (adverse or is_open) and is_reproduced(schedule, result.ruling):
        return 1
    return exit_code(outcome.summary.counted, "PASSED")
