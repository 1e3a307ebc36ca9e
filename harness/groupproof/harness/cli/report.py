"""`groupproof report DIR…`: merge runs into one matrix."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command(name="report", short_help="Merge runs into one matrix.")
@click.argument("dirs", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), default=Path("reports"), show_default=True, metavar="DIR", help="Where matrix.html goes.")
def command(dirs: tuple[Path, ...], output: Path) -> int:
    """Merge the reports in the folders DIR into one matrix, cases by subjects."""
    from groupproof.harness.report.matrix import MATRIX, write_matrix

    write_matrix(dirs, output)
    click.echo(f"matrix: {output / MATRIX}")
    return 0
