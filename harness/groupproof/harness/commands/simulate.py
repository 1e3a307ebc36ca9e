"""`groupproof simulate`: runs the reference members and coordinator in virtual time, with faults, from one seed or from many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.options import NEWEST_PROFILE, seed_of

if TYPE_CHECKING:
    from groupproof.harness.simulation.settings import Simulation

__all__ = ["command", "duration_of", "seeds_of"]

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def duration_of(value: str) -> int:
    """Return milliseconds from a number with its unit."""
    found = re.fullmatch(r"(\d+)\s*(ms|s|min|m|h|d)", value.strip())
    if found is None or not int(found[1]):
        raise click.BadParameter(f"{value!r} is no duration; write a number with its unit: 500ms, 30s, 10m, 2h, 7d")
    return int(found[1]) * _UNITS_MS[found[2]]


def seeds_of(value: str) -> range:
    """Return the seeds of FIRST..LAST."""
    first, dots, last = value.partition("..")
    if not dots or not first.strip().isdigit() or not last.strip().isdigit() or int(last) < int(first):
        raise click.BadParameter(f"{value!r} is no range of seeds; write FIRST..LAST, such as 1..1000")
    return range(int(first), int(last) + 1)


def _faults(value: str) -> tuple[str, ...] | str:
    return value if value == "swarm" else tuple(part.strip() for part in value.split(",") if part.strip() and part.strip() != "none")


@click.command(name="simulate", short_help="Run members and coordinator in virtual time.")
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same run, to the last event.")
@click.option("--seeds", type=seeds_of, metavar="A..B", help="Run each of these seeds instead, several at a time.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="How many processes run seeds.  [default: one for each core]")
@click.option("--members", type=click.IntRange(1, 100_000), default=10, show_default=True, help="How many members the group has.")
@click.option(
    "--duration", type=duration_of, metavar="TIME", default="10m", show_default=True, help="How long faults happen, in virtual time: 30s, 10m, 2h."
)
@click.option("--profile", metavar="P", default=NEWEST_PROFILE, show_default=True, help="The broker release whose rules to use.")
@click.option("--dialect", metavar="NAME", help="The dialect of the members.  [default: the first dialect of the profile]")
@click.option("--faults", type=_faults, metavar="KINDS", default="swarm", show_default=True,
              help="swarm (some kinds, drawn from the seed), none, or kinds separated by commas.")  # fmt: skip
@click.option("--brokers", type=click.IntRange(1, 100), default=3, show_default=True, help="The number of brokers.")
@click.option("--static", "static_members", type=click.IntRange(min=0), metavar="N", help="How many members are static.  [default: drawn, or none]")
@click.option("--assignor", "assignors", multiple=True, metavar="NAME", help="An assignor of the members; repeatable.  [default: drawn, or range]")
@click.option("--session-timeout", type=duration_of, metavar="TIME", help="The members' session.timeout.ms.  [default: drawn, or 45s]")
@click.option("--max-poll-interval", type=duration_of, metavar="TIME", help="The members' max.poll.interval.ms.  [default: drawn, or 5m]")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for the schedule, the trace and a picture of the run.")
@click.option(
    "--observations", type=click.Path(path_type=Path), metavar="DIR",
    help="The folder for the observations of each of --seeds, as a trace in Parquet, one file for each seed; existing files stay.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout, and nothing else there.")
@click.option("--coordinator-variant", metavar="NAME", hidden=True, help="Put a planted bug, or a legal variant, into the coordinator.")
@click.option("--member-variant", metavar="NAME", hidden=True, help="Put a planted bug, or a legal variant, into every member.")
def command(
    *, seeds: range | None, jobs: int | None, duration: int, session_timeout: int | None, max_poll_interval: int | None, assignors: tuple[str, ...],
    output: Path | None, observations: Path | None, as_json: bool, **options: Any,
) -> int:  # fmt: skip
    """Let faults strike a group of reference members for a while, heal everything, and see whether the group settles.

    Every law of the protocol is held at each event. 1 says that one was broken: the run ends there, and one line replays it.
    """
    from groupproof.harness.commands.work.simulations import many, one
    from groupproof.harness.simulation.settings import Simulation

    simulation = Simulation(
        duration_ms=duration, session_timeout_ms=session_timeout, max_poll_interval_ms=max_poll_interval, assignors=assignors or None, **options
    )
    _check(simulation)
    if seeds is not None:
        if output is not None:
            raise click.UsageError("--output is for one run; replay the seed that you want to see")
        return many(simulation, seeds, jobs, observations, as_json=as_json)
    if observations is not None:
        raise click.UsageError("--observations is for many runs: say --seeds; what is seen of one run goes to --output")
    return one(simulation, None, output, as_json=as_json)


def _check(simulation: Simulation) -> None:
    """Refuse names that the simulator does not know, before anything runs."""
    from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
    from groupproof.clients.planted.member_variants import UnknownVariant, variant_named
    from groupproof.coordinator.planted.variants import UnknownVariant as UnknownBug
    from groupproof.coordinator.planted.variants import variant_named as bug_named
    from groupproof.harness.model.selection import nearest
    from groupproof.harness.simulation.settings import SWARM
    from groupproof.harness.simulation.simulation_registry import Unsimulated, simulation_of
    from groupproof.harness.simulation.simulator_faults import FAULTS
    from groupproof.harness.subjects.client_registry import check_profile_name

    check_profile_name(simulation.profile)
    try:
        simulation_of(simulation.profile, simulation.dialect)
    except Unsimulated as error:
        raise click.UsageError(f"{error}; groupproof datalink simulate runs DataLink's workers") from None
    for names, allowed, kind in ((simulation.faults, FAULTS, "fault"), (simulation.assignors or (), ASSIGNORS, "assignor")):
        unknown = next((name for name in names if name not in allowed), None) if names != SWARM else None
        if unknown is not None:
            raise click.UsageError(f"no {kind} is called {unknown!r}{nearest(unknown, allowed)}; there are {', '.join(allowed)}")
    try:
        if simulation.coordinator_variant is not None:
            bug_named(simulation.coordinator_variant)
        if simulation.member_variant is not None:
            variant_named(simulation.member_variant)
    except (UnknownVariant, UnknownBug) as error:
        raise click.UsageError(str(error)) from None
