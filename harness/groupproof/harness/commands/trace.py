"""`groupproof trace check FILE…`: judges recorded traces again. Explaining and importing traces have modules of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.command_tree import PLUGIN, Group
from groupproof.harness.running.plugins import TRACE_COMMANDS

if TYPE_CHECKING:
    from groupproof.harness.judging.case_result import CaseResult, Play

__all__ = ["check", "group"]

group = Group(
    "trace",
    {
        "check": "groupproof.harness.commands.trace:check",
        "explain": "groupproof.harness.commands.trace_explain:command",
        "import": "groupproof.harness.commands.trace_import:command",
        "watch": PLUGIN,
    },
    "Work on recorded traces, and on what brokers, clients and networks recorded.",
    plugins=TRACE_COMMANDS,
)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--engine",
    type=click.Choice(["process", "spark"]),
    default="process",
    show_default=True,
    help="Judge in this process or with a Spark job; the verdicts are the same.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes judge files, and the runs in a Parquet file that are stored separately.  [default: 1]",
)
@click.option("--master", "url", default="local[*]", show_default=True, metavar="URL", help="Where Spark runs.")
@click.option(
    "--meters", "metered", is_flag=True, help="Show what each trace cost: ownership overlap, unowned time, requests a rebalance, lost records."
)
def check(files: tuple[Path, ...], *, engine: str, jobs: int | None, url: str, as_json: bool, metered: bool) -> int:
    """Judge the traces in FILEs (or folders of them) again, by the cases that they name; of others, what is illegal or unsafe.

    FILEs are NDJSON or Parquet, also as Spark writes it in folders by run and group. What was seen live is judged as it is read, group by group: its
    members by the rules, and the group by the laws of groups.

    1 says that a case FAILED, 2 that one is INCONCLUSIVE or that nothing was judged. A group that only stores offsets, because nobody asked to join, is
    not judged. Repetitions (trace-2.ndjson, …) are judged together with the first run.
    """
    from groupproof.harness.judging.summary.grade import CaseCount, exit_code, grade_of

    if metered and engine == "spark":
        raise click.UsageError("--meters goes with --engine process")
    if jobs is not None and (metered or engine == "spark"):
        raise click.UsageError("--jobs goes with --engine process, and without --meters")
    results = _with_meters(files) if metered else _checked(files, engine, url, jobs or 1)
    if not results:
        click.echo(_nothing_in(files, engine), err=True)
    if as_json:
        click.echo(json.dumps([_row(result, metered=metered) for result in results], ensure_ascii=False, indent=1))
    else:
        for item in results:
            click.echo("\n".join(_lines(item, metered=metered)))
    counted = [CaseCount(case=result.case, verdict=result.ruling.verdict, goodbye=result.ruling.goodbye) for result in results]
    return exit_code(counted, grade_of(counted, [], "info"))


def _nothing_in(files: tuple[Path, ...], engine: str) -> str:
    """Return why there is no result; raise `WrongUsage` for files without any observation."""
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.running.trace_check import files_of
    from groupproof.harness.running.trace_files import stream

    names = ", ".join(map(str, files))
    if engine == "process" and not any(True for file in files_of(files) for _ in stream(file)):
        raise WrongUsage(f"no observation in {names}")
    return f"nothing to judge in {names}: no observation is a request of a group's member"


def _with_meters(files: tuple[Path, ...]) -> list[CaseResult]:
    """Return the results with their traces, which the meters read."""
    from groupproof.harness.cases.catalogue import every_case
    from groupproof.harness.judging.case_checkers import UNIVERSAL
    from groupproof.harness.running.rejudge import read_traces, rejudged

    return rejudged(read_traces(files), every_case(), UNIVERSAL)


def _checked(files: tuple[Path, ...], engine: str, url: str, jobs: int) -> list[CaseResult]:
    from groupproof.harness.cases.catalogue import every_case
    from groupproof.harness.judging.case_checkers import UNIVERSAL
    from groupproof.harness.running.plugins import CHECK_ENGINES, plugin
    from groupproof.harness.running.trace_check import CheckResult, check_files
    from groupproof.harness.running.trace_files import need_columns

    if engine == "spark":
        need_columns()
        checked: CheckResult = plugin(CHECK_ENGINES, engine)(files, url=url)
    else:
        checked = check_files(files, every_case, UNIVERSAL, jobs=jobs)
    if checked.duplicates or checked.displaced:
        click.echo(
            f"{checked.duplicates} observations were there twice, {checked.displaced} out of their place: each counts once, in its place", err=True
        )
    return checked.results


def _row(result: CaseResult, *, metered: bool) -> dict[str, Any]:
    ruling = result.ruling
    meters = {"meters": [_figures(play) for play in result.plays]} if metered else {}
    return {
        "id": result.case.id,
        "verdict": ruling.verdict.value,
        "goodbye": ruling.goodbye.value,
        "stability": ruling.stability,
        "expected": ruling.expected,
        "observed": ruling.observed,
        "fingerprint": ruling.fingerprint or None,
        **meters,
    }


def _figures(play: Play) -> dict[str, float]:
    from groupproof.harness.judging.meters.all_meters import meters_of

    return meters_of(play.trace).result()


def _lines(result: CaseResult, *, metered: bool) -> list[str]:
    from groupproof.harness.judging.summary.verdict_grounds import grounds_of

    ruling = result.ruling
    lines = [f"{ruling.verdict.value} {result.case.id} ({ruling.stability}); goodbye {ruling.goodbye.value}"]
    lines += [f"  expected  {ruling.expected}"] if ruling.expected else []
    lines += [f"  observed  {ruling.observed}"] if ruling.observed else []
    lines += [f"  grounds   {grounds}"] if (grounds := grounds_of(ruling)) else []
    return lines + (_table(result) if metered else [])


def _table(result: CaseResult) -> list[str]:
    from groupproof.harness.judging.meters.table import lines

    runs = {f"run {number}": _figures(play) for number, play in enumerate(result.plays, 1)}
    return [f"  {line}" for line in lines(runs)]
