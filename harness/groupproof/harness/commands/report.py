"""`groupproof report DIR…`: joins runs to a matrix, shards to one report, or many runs to a history, or shows where runs differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from groupproof.harness.judging.summary.run_summary import RunSummary
    from groupproof.harness.running.runs.shard_merge import MergedRun, ReportFile

__all__ = ["command"]


@click.command(name="report", short_help="Merge runs into a matrix or a history; join shards.")
@click.argument("dirs", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("reports"), show_default=True, metavar="DIR", help="The folder for the pages."
)
@click.option(
    "--history", is_flag=True, help="Write history.html instead: the releases of each subject in order, and when the verdict of each case changed."
)
@click.option("--newest", is_flag=True, help="Show only the newest release of each subject, and only the later of two runs of one release.")
@click.option(
    "--differences", is_flag=True, help="Write nothing: print the cases whose verdicts differ between the runs. The exit code is 1 if there are any."
)
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="REPORT", help="Compare the joined shards with an earlier report.json, as certify does."
)
def command(dirs: tuple[Path, ...], output: Path, *, history: bool, newest: bool, differences: bool, baseline: Path | None) -> int:
    """Merge the reports in the folders DIR into one matrix, cases by subjects: matrix.html, and matrix.json for programs.

    A matrix.json can stand for the reports that it was made of.

    The shards of a run (certify --shard) are joined first, into one report in OUTPUT/NAME-RELEASE, and the exit code is that of the whole run.
    """
    from groupproof.harness.reports.matrix_file import read_runs
    from groupproof.harness.reports.pages.history import HISTORY, write_history
    from groupproof.harness.reports.pages.matrix import MATRIX, write_matrix
    from groupproof.harness.running.runs.shard_merge import is_shard, sets_of

    named = [(path, report) for path in dirs for report in read_runs(path)]
    if differences:
        return _print_differences([report for _, report in named])
    sets = sets_of(named)
    if baseline is not None and len(sets) != 1:
        raise click.UsageError("--baseline is for the shards of one run; for a whole run use it with certify")
    joined = [_joined(set_, output, baseline) for set_ in sets]
    whole = [*(folder for folder, _ in joined), *dict.fromkeys(path for path, report in named if not is_shard(report))]
    if history:
        write_history(whole, output)
        click.echo(f"history: {output / HISTORY}")
    else:
        write_matrix(whole, output, newest=newest)
        click.echo(f"matrix: {output / MATRIX}")
    return _most_severe([code for _, code in joined])


def _print_differences(reports: list[Mapping[str, Any]]) -> int:
    from groupproof.harness.reports.verdict_differences import differing, lines_of

    if len(reports) < _COMPARED_MIN:
        raise click.UsageError("--differences compares runs: name two folders, or more")
    for line in lines_of(reports):
        click.echo(line)
    return 1 if differing(reports) else 0


_COMPARED_MIN = 2


def _joined(shards: list[ReportFile], output: Path, baseline: Path | None) -> tuple[Path, int]:
    """Write the report of a run's shards; return its folder and the run's exit code."""
    from rich.console import Console

    from groupproof.harness.cases.catalogue import cases_of
    from groupproof.harness.commands.base.run_end import print_summary
    from groupproof.harness.judging.summary.exit_codes import ending_of
    from groupproof.harness.reports.report_writer import write_report
    from groupproof.harness.running.runs.shard_merge import join
    from groupproof.harness.running.runs.whole_run import RunOutcome

    joined = join(shards)
    run = joined.run if baseline is None else _against(joined.run, baseline)
    folder = output / _folder(run)
    write_report(run, folder)
    code = max(
        ending_of(run, cases_of(run.subject.side, run.subject.capabilities, run.suite.profile)),
        2 if joined.missing else 0,
        key=_EXIT_CODES_BY_SEVERITY.index,
    )
    print_summary(Console(highlight=False), RunOutcome(summary=run, exit_code=code), folder)
    _tell_missing(joined)
    return folder, code


_EXIT_CODES_BY_SEVERITY = (0, 2, 4, 1, 3, 5, 130)


def _tell_missing(joined: MergedRun) -> None:
    if joined.missing:
        click.echo(f"not among the reports: shard {', '.join(map(str, joined.missing))}")


def _against(run: RunSummary, path: Path) -> RunSummary:
    from groupproof.harness.cases.catalogue import cases_of
    from groupproof.harness.judging.summary.baseline import Baseline, RunScope
    from groupproof.harness.judging.summary.exit_codes import held_against
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.report_json import read_report

    baseline, catalogue = Baseline.of(read_report(path), str(path)), cases_of(run.subject.side, run.subject.capabilities, run.suite.profile)
    if baseline.side != run.subject.side:
        raise WrongUsage(f"{path} is the report of a {baseline.side}, and has nothing about a {run.subject.side}; name one of the same side")
    wanted = RunScope(level=run.run.level, existing=frozenset(case.id for case in catalogue), selected=frozenset(case.id for case in run.selected))
    return held_against(run, baseline, wanted, catalogue)


def _folder(run: RunSummary) -> str:
    from groupproof.harness.commands.base.certification import as_folder
    from groupproof.harness.commands.base.options import NEWEST_PROFILE

    profile = "" if run.suite.profile == NEWEST_PROFILE else f"-{run.suite.profile}"
    return as_folder("-".join(filter(None, (run.subject.name, run.subject.version))) + profile)


def _most_severe(codes: list[int]) -> int:
    return max(codes, key=_EXIT_CODES_BY_SEVERITY.index, default=0)
