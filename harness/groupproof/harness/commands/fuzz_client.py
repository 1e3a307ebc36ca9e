"""`groupproof fuzz client SUBJECT`: runs random plans of faults and actions; each new kind of failure becomes a small schedule file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.options import NEWEST_PROFILE, ProgramCommand, program_of, seed_of
from groupproof.harness.commands.fuzz import need_hypothesis

if TYPE_CHECKING:
    from groupproof.harness.running.fuzzing.plans.client_fuzz import ClientFuzzing
    from groupproof.harness.running.fuzzing.plans.finds import Find
    from groupproof.harness.running.runs.whole_run import RunConfig
    from groupproof.harness.subjects.client_registry import Candidate

__all__ = ["client", "seconds_of"]

FOUND = 1
UNDECIDED = 2

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(value: str) -> float:
    """Return seconds from `90`, `90s`, `10m` or `1.5h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
    if match is None or not float(match[1]):
        raise click.BadParameter(f"{value!r} is no time; write 90s, 10m or 1h")
    return float(match[1]) * _UNITS[match[2]]


@click.command(cls=ProgramCommand)
@click.argument("subject", required=False)
@click.option("--max-time", type=seconds_of, metavar="T", default="10m", show_default=True, help="How long to try plans, such as 90s or 10m.")
@click.option("--dialect", metavar="D", help="Draw plans of this dialect, such as consumer.  [default: that of every client]")
@click.option("--plans", type=click.IntRange(min=1), metavar="N", help="The maximum number of plans.")
@click.option(
    "--shrink-time", type=seconds_of, metavar="T", default="10m", show_default=True, help="How long to shrink the failing plans after that."
)
@click.option(
    "--profile", metavar="P", default=NEWEST_PROFILE, show_default=True, help="The broker release whose rules the reference coordinator uses."
)
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed draws the same plans.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="How many plans run side by side at most.  [default: by the client's weight]")
@click.option("--members", type=click.IntRange(1, 3), metavar="N", default=3, show_default=True, help="The maximum number of members in a plan.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="The maximum time for the steps of a plan.  [default: 120]")
@click.option(
    "--goes-on/--first-only",
    default=True,
    show_default=True,
    help="Continue after a failure, to find other kinds of failures, or end at the first one.",
)
@click.option(
    "--expect",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file of known failures. It replaces the file that ships with a registered client.",
)
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for schedules and traces.  [default: fuzz/NAME]")
@click.option("--shim-level", type=click.Choice(["0", "1"]), help="The shim level of a program, as in certify.  [default: 1]")
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="HOST", help="Where the coordinators listen.")
@click.option("--advertise", metavar="HOST", help="The host that clients connect to, when that differs (containers).")
@click.pass_context
def client(ctx: click.Context, /, subject: str | None, **options: Any) -> int:
    """Put SUBJECT, as `certify client` takes it, through drawn plans: what its coordinator answers, what befalls the frames, what the application does.

    Every plan ends with the healing of all faults and a time in which the group has to settle. 1 says that a new kind of failure was found: its plan is
    shrunk, tried again, and kept as a schedule for `groupproof replay`. Known failures are reported, and the run goes on.
    """
    program = program_of(ctx)
    if (subject is None) == (not program):
        raise click.UsageError("name either a registered client (kafka-python@2.2.3) or a program behind -- (fuzz client -- python shim.py)", ctx)
    need_hypothesis()
    return _fuzz(subject, program, **options)


def _fuzz(
    named: str | None, program: tuple[str, ...], *, max_time: float, plans: int | None, shrink_time: float, profile: str, seed: int, jobs: int | None,
    members: int, timeout: float | None, goes_on: bool, expect: Path | None, output: Path | None, shim_level: str | None, bind: str, advertise: str | None,
    dialect: str | None,
) -> int:  # fmt: skip
    from rich.console import Console

    from groupproof.harness.commands.base.certification import as_folder
    from groupproof.harness.judging.summary.expectations import Expectations, load
    from groupproof.harness.running.fuzzing.plans.client_fuzz import ClientFuzzing, Effort
    from groupproof.harness.running.runs.whole_run import RunConfig
    from groupproof.harness.subjects.client_registry import candidate

    console = Console(stderr=True)

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    level = None if shim_level is None else int(shim_level)
    found = candidate(named, program, profile=profile, seed=seed, shim_level=level, jobs=jobs, say=say)
    expectations = expect or found.expectations
    config = RunConfig(
        cases=(), profile=profile, level="info", seed=seed, jobs=found.jobs, command=["groupproof", *sys.argv[1:]], timeout_s=timeout, bind=bind,
        advertise=advertise, expectations=Expectations() if expectations is None else load(expectations),
    )  # fmt: skip
    folder = output or Path("fuzz") / as_folder(_name(found))
    lines: list[str] = []

    def tell(find: Find) -> None:
        lines.append(find.kind)
        _tell(find, config, found, folder)

    effort = Effort(max_time_s=max_time, plans=plans, members=members, goes_on=goes_on, shrink_s=shrink_time, dialect=_checked(dialect))
    run = ClientFuzzing(found, config, effort, say=say, found=tell)
    outcome = run.go()
    for find in run.finds.found.values():
        if find.kind not in lines:
            tell(find)
    for kind, count in run.finds.excused.items():
        click.echo(f"known, in {count} plans: {run.finds.excused_findings[kind].observed} {run.finds.reason(kind)}")
    click.echo(f"{_name(found)} under {profile}, seed {seed}: {run.state()}")
    if outcome.gave_up is not None:
        click.echo(f"groupproof: {outcome.gave_up}", err=True)
    return _code(run, is_interrupted=outcome.summary.run.interrupted)


def _checked(dialect: str | None) -> str:
    """Return the dialect of the plans; raise `BadParameter` for one without random plans."""
    from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES

    if dialect is not None and dialect not in DIALECT_CAPABILITIES:
        raise click.BadParameter(f"{dialect!r} is no dialect of clients; there are {', '.join(DIALECT_CAPABILITIES)}", param_hint="--dialect")
    return dialect or DIALECT_CAPABILITIES[0]


def _name(found: Candidate) -> str:
    return found.spec if isinstance(found.spec, str) else found.name


def _tell(find: Find, config: RunConfig, found: Candidate, folder: Path) -> None:
    """Print a find and write its schedule and trace."""
    from groupproof.harness.cases.drawn_case import head_of
    from groupproof.harness.model.case import plan_of
    from groupproof.harness.reports.texts.plan_text import members_in_words, plan_in_words
    from groupproof.harness.running.fuzzing.plans.shrink_plan import count_of_faults
    from groupproof.harness.running.schedule_file import Schedule, schedule_to_json
    from groupproof.protocol.trace import write_trace

    plan, ruling, finding = plan_of(find.case), find.ruling, find.finding
    schedule = Schedule(
        case=find.case.id, seed=config.seed, subject=found.spec if isinstance(found.spec, str) else tuple(found.spec), profile=config.profile, plan=plan,
        verdict=ruling.verdict if ruling else None, fingerprint=ruling.fingerprint if ruling else None,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{find.kind}.json"
    file.write_text(json.dumps(schedule_to_json(schedule), indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".ndjson").write_text("".join(f"{line}\n" for line in write_trace(find.trace)), encoding="utf-8")
    click.echo(f"{finding.verdict.value} {finding.requirement} by {_name(found)}: {finding.observed}")
    click.echo(f"  expected  {finding.expected}")
    for line in (*members_in_words(plan), *plan_in_words(head_of(plan))):
        click.echo(f"  · {line}")
    shrunk = "" if find.shrunk_s is None else f", shrunk in {find.shrunk_s:.0f} s"
    click.echo(f"  {count_of_faults(plan)} faults, {find.label}; first met after {find.after_s:.0f} s, in {find.plans} plans{shrunk}")
    click.echo(f"  kind {find.kind}, replay: groupproof replay {file}")


def _code(run: ClientFuzzing, *, is_interrupted: bool) -> int:
    """Return 5 where the reference member shows a find too, 130 for an interrupted run, 1 for a find, 4 where nothing could be run."""
    from groupproof.harness.commands.base.boundary import INTERRUPTED
    from groupproof.harness.model.errors import KitFailure
    from groupproof.harness.running.fuzzing.plans.finds import Steadiness

    finds = run.finds.found.values()
    troubles = [result.trouble.exit_code for result in run.undecided if result.trouble is not None]
    if any(find.steadiness is Steadiness.OURS for find in finds) or KitFailure.exit_code in troubles:
        return KitFailure.exit_code
    if is_interrupted:
        return INTERRUPTED
    if any(find.counts for find in finds):
        return FOUND
    if run.plans == len(run.undecided):
        return max(troubles, default=UNDECIDED)
    return 0
