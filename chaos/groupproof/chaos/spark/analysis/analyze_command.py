"""`groupproof analyze`: analyses a fleet by Spark: figures as Parquet, a summary as JSON, a page with plots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.chaos.spark.load.load_command import conf_of

if TYPE_CHECKING:
    from groupproof.chaos.spark.analysis.analysis import Results

__all__ = ["PAGE", "SUMMARY", "command"]

SUMMARY, PAGE = "analysis.json", "analysis.html"

_NOTHING = 2
_LONG_BYTES = 32 * 1024 * 1024  # the size of traces from which on Spark needs minutes


@click.command(name="analyze", short_help="What groups did, from traces of any size.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("reports", "analysis"),
    show_default=True,
    help="The folder for the results.",
)
@click.option("--master", "cluster", default="local[*]", show_default=True, metavar="URL", help="Where Spark runs.")
@click.option("--conf", "confs", type=conf_of, metavar="spark.NAME=VALUE", multiple=True, help="A setting of Spark; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, and nothing else there.")
def command(files: tuple[Path, ...], *, output: Path, cluster: str, confs: tuple[tuple[str, str], ...], as_json: bool) -> int:
    """Tell what groups did: why they rebalanced and for how long, who owned what, which commits came from zombies, whose sessions ended.

    FILEs are traces (NDJSON or Parquet), folders of them, the folder of a load, or what brokers and clients log and networks capture.
    DIR gets analysis.html, analysis.json, and as Parquet the facts and figures of each query.

    0 says that there was something to analyze, 2 that the traces tell of no group. Whether rules were broken is judged by groupproof trace check.
    """
    from rich.console import Console

    from groupproof.harness.running.trace_files import need_columns

    need_columns()
    console = Console(stderr=True)
    results = _analyzed(files, output, cluster, dict(confs), console)
    if as_json:
        import json

        click.echo(json.dumps(results.to_json(), ensure_ascii=False, indent=1))
    else:
        for line in _lines(results, output):
            click.echo(line)
    return _NOTHING if results.is_empty else 0


def _analyzed(files: tuple[Path, ...], output: Path, cluster: str, conf: dict[str, Any], console: Any) -> Results:
    from groupproof.chaos.spark.analysis.analysis import analyzed, dumped
    from groupproof.chaos.spark.analysis.page import page_of
    from groupproof.chaos.spark.analysis.sources import sources_of
    from groupproof.chaos.spark.session import session
    from groupproof.harness.reports.output_folder import check_folder, write_text

    sources_of(files)  # report a file that is no trace before Spark starts
    with check_folder(output):
        pass
    spark = session("groupproof analyze", master=cluster, is_long=_bytes_of(files) >= _LONG_BYTES, **conf)
    with console.status("Spark reads …") as status:
        results = analyzed(spark, files, output, say=status.update)
    with check_folder(output):
        write_text(output / SUMMARY, dumped(results))
        write_text(output / PAGE, page_of(results))
    return results


def _bytes_of(files: tuple[Path, ...]) -> int:
    return sum(item.stat().st_size for path in files for item in (path.rglob("*") if path.is_dir() else (path,)) if item.is_file())


def _lines(results: Results, output: Path) -> list[str]:
    from groupproof.chaos.spark.analysis.page import tiles_of

    tiles = tiles_of(results)
    width, wide = max(len(tile.name) for tile in tiles), max(len(tile.figure) for tile in tiles)
    lines = [f"{tile.name:{width}}  {tile.figure:>{wide}}  {tile.says}" for tile in tiles]
    causes = sorted(results.found["rebalances"].by("all"), key=lambda row: -row["rebalances"])
    if causes:
        lines.append("causes: " + ", ".join(f"{row['rebalances']} {row['cause'] or 'unknown'}" for row in causes))
    if results.is_empty:
        lines.append("the traces have no group: there is nothing to analyze")
    return [*lines, f"analysis: {output / PAGE}"]
