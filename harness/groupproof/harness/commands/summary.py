"""`groupproof summary DIR|FILE…`: prints a short summary of runs as Markdown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

__all__ = ["command"]


@click.command(name="summary", short_help="Print runs in short, as Markdown.")
@click.argument("reports", metavar="REPORT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--append",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="GITHUB_STEP_SUMMARY",
    help="Also append it to this file.  [default: $GITHUB_STEP_SUMMARY, if it is set]",
)
def command(reports: tuple[Path, ...], append: Path | None) -> int:
    """Print what came out of each REPORT, a folder that certify wrote or its report.json, as Markdown."""
    from groupproof.harness.model.errors import BrokenEnvironment
    from groupproof.harness.reports.short_summary import short

    text = short(reports)
    click.echo(text, nl=False)
    if append is None or _is_stdout(append):
        return 0
    try:
        with append.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BrokenEnvironment(f"can't append to {append}: {error.strerror}; name another file with --append") from error
    return 0


def _is_stdout(file: Path) -> bool:
    """Return whether stdout is that file already (`>> $GITHUB_STEP_SUMMARY`), so that the text is written only once."""
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), file.stat())
    except (OSError, ValueError):
        return False
