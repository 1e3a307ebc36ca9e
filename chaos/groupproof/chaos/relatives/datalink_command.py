"""`groupproof chaos datalink`: lists or runs the fault scenarios of DataLink's workers and Managers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from groupproof.harness.commands.simulate import seeds_of

if TYPE_CHECKING:
    from groupproof.chaos.relatives.datalink_scenarios import Scenario
    from groupproof.clients.relatives.datalink.worker_settings import HandOver

__all__ = ["command"]

_BROKEN = 1


@click.command(name="datalink", short_help="Scenarios of DataLink's workers and Managers.")
@click.argument("names", nargs=-1, metavar="[NAME|all]...")
@click.option("--seeds", type=seeds_of, metavar="A..B", default="1..3", show_default=True, help="The seeds to run each with.")
@click.option(
    "--assignor",
    type=click.Choice(["round-robin", "resources", "sticky"]),
    default="round-robin",
    show_default=True,
    help="The assignor of the leader.",
)
@click.option(
    "--hand-over",
    type=click.Choice(["stop-everything", "incremental"]),
    default="stop-everything",
    show_default=True,
    help="Which tasks a rebalance stops.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else there.")
def command(*, names: tuple[str, ...], seeds: range, assignor: str, hand_over: HandOver, as_json: bool) -> int:
    """Run scenarios in virtual time: it breaks, it heals, and then every worker has to be back and every task to run exactly once.

    Without a name they are listed. 1 says that something did not hold.
    """
    from groupproof.chaos.relatives.datalink_scenarios import SCENARIOS

    if not names:
        for item in SCENARIOS:
            click.echo(f"{item.name:27} {item.title}  ({', '.join(item.requirements)})")
        return 0
    verdicts = []
    for scenario in _chosen(names):
        for seed in seeds:
            verdicts.append(scenario.run(seed, assignor, hand_over))
            found = verdicts[-1]
            text = "; ".join(found.broken) or (
                f"lost {found.lost_ms / 1_000:.1f} task-s, doubled {found.overlap_ms / 1_000:.1f} task-s, {found.longest_overlap_ms} ms at the longest"
            )
            click.echo(f"{'BROKEN' if found.broken else 'OK':6} {scenario.name} seed {seed}: {text}", err=as_json)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(verdicts), indent=1))
    return _BROKEN if any(verdict.broken for verdict in verdicts) else 0


def _chosen(names: Sequence[str]) -> Sequence[Scenario]:
    from groupproof.chaos.relatives.datalink_scenarios import SCENARIOS, scenario_named
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.selection import nearest

    if "all" in names:
        return SCENARIOS
    shipped = [scenario.name for scenario in SCENARIOS]
    unknown = next((name for name in names if name not in shipped), None)
    if unknown is not None:
        raise WrongUsage(f"no scenario of DataLink is called {unknown!r}{nearest(unknown, shipped)}; there are {', '.join(shipped)}")
    return [found for name in names if (found := scenario_named(name)) is not None]
