"""`groupproof compare`: compares the consumer on ZooKeeper with the coordinator's group, with the same churn and the same failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from groupproof.harness.commands.base.options import seed_of

if TYPE_CHECKING:
    from groupproof.harness.relatives.zookeeper_comparison.comparison import Comparison

__all__ = ["command"]

_SIZE_MAX: Final = 10_000
_EXAMPLE: Final = "write numbers with commas between, such as 4,16,64, or nothing for none"


def _sizes(value: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(part) for part in value.split(",") if part.strip()}))
    except ValueError:
        raise click.BadParameter(f"{value!r} are no sizes; {_EXAMPLE}") from None
    if any(not 2 <= size <= _SIZE_MAX for size in sizes):
        raise click.BadParameter(f"a group has from 2 to {_SIZE_MAX:,} members; {_EXAMPLE}")
    return sizes


@click.command(name="compare", short_help="ZooKeeper's design beside the coordinator's, on one churn.")
@click.option("--real", type=_sizes, default="4,16", show_default=True, metavar="N,…", help="Sizes of groups of real members, on a real ZooKeeper.")
@click.option("--simulated", type=_sizes, default="4,16,64,256,1000", show_default=True, metavar="N,…", help="Sizes of simulated groups.")
@click.option(
    "--runs", type=click.IntRange(0, 100), default=3, show_default=True, help="How often Toxiproxy cuts off members; each time has its own seed."
)
@click.option(
    "--broker",
    default="groupproof",
    show_default=True,
    metavar="NAME[@RELEASE]",
    help="The broker that stores the records and coordinates the group.",
)
@click.option("--seed", type=seed_of, default="1", show_default=True, metavar="N", help="The same seed gives the same churn and the same cuts.")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("reports/compare"), show_default=True, metavar="DIR", help="The folder for the page."
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON on stdout, and nothing else there.")
def command(*, real: tuple[int, ...], simulated: tuple[int, ...], runs: int, broker: str, seed: int, output: Path, as_json: bool) -> int:
    """Run the consumer that Kafka had before the coordinator, on ZooKeeper, beside a coordinator's group; draw what both make of the same churn.

    Writes comparison.html, comparison.svg and comparison.json, and a trace of each group on ZooKeeper for groupproof trace explain. Real members need Java, Toxiproxy and kazoo (pip install 'groupproof[zookeeper]').
    """
    from groupproof.harness.running.extras import need

    need("groupproof compare", "toxiproxy", "requests", "kazoo")
    from groupproof.chaos.relatives.zookeeper_comparison_run import ComparisonConfig, compare
    from groupproof.clients.registry.install_cache import default_cache
    from groupproof.harness.relatives.zookeeper_comparison.comparison_page import page
    from groupproof.harness.relatives.zookeeper_comparison.comparison_svg import drawn
    from groupproof.harness.subjects.brokers.broker_providers import subject_named
    from groupproof.protocol.schemas import validate

    def say(line: str) -> None:
        click.echo(f"groupproof: {line}", err=True)

    config = ComparisonConfig(
        real=real,
        simulated=simulated,
        runs=runs,
        seed=seed,
        broker=subject_named(broker, say=say),
        cache=default_cache(),
        say=say,
        traces=output / "traces",
    )
    comparison = compare(config)
    output.mkdir(parents=True, exist_ok=True)
    value = comparison.to_json()
    validate("comparison", value)
    written = json.dumps(value, ensure_ascii=False, indent=1)
    (output / "comparison.json").write_text(written + "\n", "utf-8")
    (output / "comparison.svg").write_text(drawn(comparison) + "\n", "utf-8")
    (output / "comparison.html").write_text(page(comparison), "utf-8")
    if as_json:
        click.echo(written)
    else:
        _print(comparison, output)
    return 0


def _print(comparison: Comparison, output: Path) -> None:
    from groupproof.harness.relatives.zookeeper_comparison.comparison_page import table
    from groupproof.harness.reports.pictures.svg import time_label

    click.echo(f"{'churn':<7}{'members':>8}  {'engine':<10}{'design':<12}{'requests':>12}{'events':>8}{'rebalances':>11}  stable after")
    for churn, members, engine, design, requests, events, rebalances, stable_ms in table(comparison):
        after = "not within the time" if stable_ms is None else time_label(stable_ms)
        click.echo(f"{churn:<7}{members:>8}  {engine:<10}{design:<12}{requests:>12,}{events:>8}{rebalances:>11}  {after}")
    for split in comparison.splits:
        figures = split.figures
        click.echo(
            f"{split.fault:<5}seed {split.seed:<4}{split.design:<12}two owners {time_label(figures.two_owners_ms)}, two readers {time_label(figures.two_readers_ms)}, "
            f"none {time_label(figures.none_ms)}, refused {split.refused}, given up {split.failures}, left to nobody {split.unowned}"
        )
    click.echo(f"{output / 'comparison.html'}")
