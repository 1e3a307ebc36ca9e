"""`groupproof datalink`: the workers and the pair of Managers of DataLink, simulated, measured, switched over the wire, or one worker alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from groupproof.harness.commands.base.command_tree import Group
from groupproof.harness.commands.base.options import seed_of
from groupproof.harness.commands.simulate import duration_of, seeds_of

__all__ = ["group", "measure", "simulate", "switch", "worker"]

_HERE = "groupproof.harness.relatives.datalink.datalink_cli"
_HAND_OVERS = ("stop-everything", "incremental")
_ASSIGNORS = ("round-robin", "resources", "sticky")

group = Group(
    "datalink",
    {name: f"{_HERE}:{name}" for name in ("simulate", "measure", "switch", "worker")},
    "DataLink's Managers and workers: simulate them, measure them, switch the Managers, run a worker.",
)

Decorated = Callable[[Callable[..., Any]], Callable[..., Any]]

_SEED = click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same run.")
_TASKS = click.option("--tasks", type=click.IntRange(0, 10_000), default=40, show_default=True, help="How many tasks the group has at the start.")
_ASSIGNOR = click.option("--assignor", type=click.Choice(_ASSIGNORS), default="round-robin", show_default=True, help="The assignor of the leader.")
_HAND_OVER = click.option(
    "--hand-over",
    type=click.Choice(_HAND_OVERS),
    default="stop-everything",
    show_default=True,
    help="Which tasks a rebalance stops: all tasks, or only the tasks that move.",
)
_FENCES = click.option("--fences", is_flag=True, help="A worker stops its tasks when its session ends by its own clock.")
_PROFILE = click.option(
    "--profile", type=click.Choice(["datalink", "datalink-dead"]), default="datalink", show_default=True, help="Without or with the Dead state."
)
_READING = click.option(
    "--reading",
    metavar="NAME",
    help="Follow the text of the design at a point where the code differs; groupproof explain datalink lists these points.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout, and nothing else there.")


def _workers(default: int) -> Decorated:
    return click.option("--workers", type=click.IntRange(1, 1_000), default=default, show_default=True, help="How many workers the group has.")


def _with(*options: Decorated) -> Decorated:
    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


@click.command(name="simulate", short_help="Run workers and Managers in virtual time.")
@_with(_SEED, _workers(8), _TASKS, _ASSIGNOR, _HAND_OVER, _FENCES, _PROFILE, _READING, _JSON)
@click.option("--seeds", type=seeds_of, metavar="A..B", help="Run each of these seeds instead.")
@click.option("--events", type=click.IntRange(0, 10_000), default=16, show_default=True, help="The number of faults of the group.")
@click.option(
    "--every", "every_ms", type=duration_of, metavar="TIME", default="2m", show_default=True, help="The time between two faults, in virtual time."
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="A kind of fault; repeatable.  [default: all kinds]")
def simulate(**options: Any) -> int:
    """Let things happen to a group of workers, and see after each whether every task runs exactly once again.

    1 says that the group did not settle: the seed gives the same course again.
    """
    from groupproof.harness.relatives.datalink.command_run import simulated

    return simulated(**options)


@click.command(name="measure", short_help="Compare assignors and hand-overs on the same churn.")
@_with(_workers(8), _TASKS, _FENCES, _PROFILE, _READING, _JSON)
@click.option("--seeds", type=seeds_of, metavar="A..B", default="1..10", show_default=True, help="The seeds of the churn.")
@click.option("--events", type=click.IntRange(1, 10_000), default=24, show_default=True, help="The number of faults for each seed.")
@click.option(
    "--every", "every_ms", type=duration_of, metavar="TIME", default="2m", show_default=True, help="The time between two faults, in virtual time."
)
@click.option("--stop", "stop_ms", type=duration_of, metavar="TIME", default="500ms", show_default=True, help="How long a task takes to stop.")
@click.option(
    "--cold-start",
    "cold_ms",
    type=duration_of,
    metavar="TIME",
    default="2s",
    show_default=True,
    help="How long a task takes to start if another worker ran it before.",
)
@click.option(
    "--warm-start",
    "warm_ms",
    type=duration_of,
    metavar="TIME",
    default="500ms",
    show_default=True,
    help="How long a task takes to start if the same worker ran it before.",
)
def measure(**options: Any) -> int:
    """Tell how many task-seconds are lost for each thing that happens, by each assignor and hand-over, against what DataLink does now."""
    from groupproof.harness.relatives.datalink.command_run import compared

    return compared(**options)


@click.command(name="switch", short_help="Kill the active Manager under load.")
@_with(_SEED, _workers(6), _ASSIGNOR, _HAND_OVER, _FENCES, _PROFILE, _READING, _JSON)
@click.option("--tasks", type=click.IntRange(0, 10_000), default=30, show_default=True, help="How many tasks the group has.")
@click.option("--seeds", type=seeds_of, metavar="A..B", help="Run each of these seeds instead.")
@click.option("--real", "is_real", is_flag=True, help="On real ports, in real time (40 s).")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for the trace and the outcome.")
def switch(**options: Any) -> int:
    """Let workers run tasks, kill the active Manager, and report how long tasks ran twice or not at all until all is well.

    Everything goes over the wire; without --real in virtual time. 1 says that a worker did not come back, or a task does not run exactly once.
    """
    from groupproof.harness.relatives.datalink.command_run import switched

    return switched(**options)


@click.command(name="worker", short_help="Run one worker before a Manager.")
@_with(_SEED, _ASSIGNOR, _HAND_OVER, _FENCES)
@click.option("--group", metavar="NAME", required=True, help="The group to join.")
@click.option("--bootstrap", metavar="HOST:PORT,…", required=True, help="The Managers, as `groupproof serve --profile datalink` prints them.")
@click.option("--name", metavar="NAME", default="worker", show_default=True, help="The worker's client id.")
@click.option("--task", "tasks", multiple=True, metavar="NAME[=COST]", help="A task of the group; repeatable, the same for every worker.")
@click.option("--capacity", type=float, default=1.0, show_default=True, help="The capacity of the worker.")
@click.option("--for", "for_ms", type=duration_of, metavar="TIME", help="End after this time.  [default: at Ctrl-C]")
def worker(**options: Any) -> int:
    """Run a worker that prints what its tasks do, until Ctrl-C; then it stops them and leaves."""
    from groupproof.harness.relatives.datalink.command_run import ran

    return ran(**options)
