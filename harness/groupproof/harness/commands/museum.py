"""`groupproof museum`: shows known bugs of released clients and coordinators, each by the case that separates the releases with and without it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groupproof.harness.commands.base.options import seed_of

if TYPE_CHECKING:
    from rich.console import Console

    from groupproof.harness.model.museum_row import MuseumRow, RowOutcome, Visit
    from groupproof.harness.running.museum.museum_run import Found
    from groupproof.harness.running.runs.whole_run import RunOutcome

__all__ = ["code_of", "command", "print_rows"]

_INTERRUPTED = 130


@click.command(name="museum", short_help="Run known bugs of released clients and coordinators.")
@click.option("--only", metavar="PATTERN", multiple=True, help="Select rows by name, client, coordinator or case, prefix or glob; repeatable.")
@click.option("--list", "lists", is_flag=True, help="Print the rows and run nothing.")
@click.option("--rows", type=click.Path(path_type=Path), metavar="FILE", help="A file of rows, in place of the one that ships.")
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same schedule.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="How many cases run side by side.  [default: by the client's weight]")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("reports/museum"), show_default=True, metavar="DIR", help="The folder for the reports."
)
@click.option("--anew", is_flag=True, help="Run all rows again, also the rows that an earlier call in the same DIR has decided.")
@click.option("--json", "as_json", is_flag=True, help="Print museum.json on stdout, and nothing else there.")
def command(
    only: tuple[str, ...], *, lists: bool, rows: Path | None, seed: int, jobs: int | None, output: Path, anew: bool, as_json: bool
) -> int:  # fmt: skip
    """Run each release with a known bug, and the first one at hand without it, against the case that tells them apart.

    A call that was interrupted goes on where it stopped. 0: every row stands. 1: a row does not tell its releases apart any more.
    2: a row was not decided. 4: a release cannot be had here.
    """
    from rich.console import Console

    from groupproof.harness.reports.museum_outcomes import outcomes_of, to_json
    from groupproof.harness.reports.output_folder import check_output
    from groupproof.harness.reports.pages.museum_page import PAGE, write_museum
    from groupproof.harness.running.museum.museum_rows import ROWS, load_rows, select_rows

    selected = select_rows(load_rows(ROWS if rows is None else rows), only)
    if lists:
        _list(selected)
        return 0
    check_output(output)
    beside = Console(stderr=True)
    absent, is_interrupted = _run(selected, output, seed=seed, jobs=jobs, anew=anew, console=beside)
    outcomes = outcomes_of(selected, output, absent)
    write_museum(outcomes, output)
    if as_json:
        click.echo(json.dumps(to_json(outcomes), ensure_ascii=False, indent=1))
    print_rows(beside if as_json else Console(highlight=False), outcomes)
    beside.print(f"page: {output / PAGE}", highlight=False, soft_wrap=True)
    return _INTERRUPTED if is_interrupted else code_of(outcomes)


def code_of(outcomes: Sequence[RowOutcome]) -> int:
    """Return the exit code (contract, "Exit codes"): if several apply, the first of 1, 4, 2."""
    from groupproof.harness.model.museum_row import RowState

    states = {outcome.state for outcome in outcomes}
    codes = {RowState.FALLS: 1, RowState.ABSENT: 4, RowState.UNDECIDED: 2}
    return next((code for state, code in codes.items() if state in states), 0)


def _run(
    rows: Sequence[MuseumRow], output: Path, *, seed: int, jobs: int | None, anew: bool, console: Console
) -> tuple[dict[Visit, str], bool]:  # fmt: skip
    """Run the undecided cases; return why releases are absent, and whether the run was interrupted."""
    from groupproof.harness.commands.base.progress import watched
    from groupproof.harness.model.museum_row import visits_of
    from groupproof.harness.reports.museum_outcomes import RUNS
    from groupproof.harness.reports.report_writer import write_report
    from groupproof.harness.running.museum.museum_run import MuseumRun, is_decided
    from groupproof.harness.subjects.brokers.broker_providers import subject_named
    from groupproof.harness.subjects.client_registry import candidate

    needed = visits_of(rows)
    visits = {visit: cases for visit, cases in needed.items() if anew or not is_decided(output / RUNS / visit.folder, cases)}
    if len(visits) < len(needed):
        console.print(f"{len(needed) - len(visits)} of {len(needed)} releases were run before, in {output}", highlight=False, soft_wrap=True)
    with watched(console, sum(len(cases) for cases in visits.values())) as display:

        def found_at(visit: Visit) -> Found:
            if visit.side == "coordinator":
                return subject_named(visit.subject, profile=visit.profile, say=display.line)
            return candidate(visit.subject, (), profile=visit.profile, seed=seed, jobs=jobs, say=display.line)

        def write(visit: Visit, outcome: RunOutcome) -> None:
            write_report(outcome.summary, output / RUNS / visit.folder)

        run = MuseumRun(found_at, seed=seed, command=["groupproof", *sys.argv[1:]], say=display.report, done=write)
        run.go(visits)
    return run.absent, run.is_interrupted


def _list(rows: Sequence[MuseumRow]) -> None:
    width = max(len(row.name) for row in rows)
    for row in rows:
        click.echo(f"{row.name:<{width}}  {row.subject} {row.buggy} → {row.fixed}  {row.case}  {row.title}")
    click.echo(f"{len(rows)} rows of {len({row.subject for row in rows})} programs")


def print_rows(console: Console, outcomes: Sequence[RowOutcome]) -> None:
    """Print each row with its case, source, verdicts, trace line and replay; rows that do not hold come last."""
    from groupproof.harness.model.museum_row import RowState

    order = list(RowState)
    for outcome in sorted(outcomes, key=lambda outcome: order.index(outcome.state)):
        for line in _lines_of(outcome):
            console.print(line, soft_wrap=True)
    counts = {state: sum(outcome.state is state for outcome in outcomes) for state in RowState}
    programs = len({outcome.row.subject for outcome in outcomes})
    totals = ", ".join(f"{count} {state.value}" for state, count in counts.items() if count)
    console.print(f"{len(outcomes)} rows of {programs} programs: {totals}", highlight=False, soft_wrap=True)


def _lines_of(outcome: RowOutcome) -> list[object]:
    from rich.text import Text

    from groupproof.harness.commands.base.progress import STYLES

    row = outcome.row
    styles = [STYLES[side.verdict] if side.verdict is not None else "dim" for side in (outcome.buggy, outcome.fixed)]
    words = [side.verdict.value if side.verdict is not None else "not run" for side in (outcome.buggy, outcome.fixed)]
    arrow = Text.assemble((words[0], styles[0]), " → ", (words[1], styles[1]))
    lines: list[object] = [
        Text.assemble((f"{outcome.state.value} ", "bold"), (f"{row.subject} {row.buggy} → {row.fixed}", "bold"), f"  {row.case}  ", arrow),
        Text(f"  bug       {row.title}"),
        Text(f"  source    {row.source}" + (f" ({row.note})" if row.note else "")),
    ]
    rest = (("observed", outcome.buggy.observed), ("trace", outcome.buggy.line), ("replay", outcome.buggy.replay), ("but", outcome.reason))
    return [*lines, *(Text(f"  {name:<8}  {text}") for name, text in rest if text)]
