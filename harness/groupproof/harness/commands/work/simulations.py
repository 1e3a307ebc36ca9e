"""Runs simulations for the command line and prints their events, broken invariants and replay command."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.reports.output_folder import check_output
from groupproof.harness.reports.pictures.simulation_picture import picture_of
from groupproof.harness.running.simulations.engines import ENGINES, broken
from groupproof.harness.running.simulations.many_seeds import outcomes
from groupproof.harness.running.simulations.parquet_runs import piece_of
from groupproof.harness.running.simulations.simulation_file import RecordedSimulation, load, to_json
from groupproof.harness.running.trace_files import missing_arrow
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import Outcome, Simulation
from groupproof.protocol.trace import Recorder, Trace, write_trace
from groupproof.protocol.trace_columns import MissingArrow

__all__ = ["BROKEN", "many", "one", "replay_line", "replayed"]

BROKEN = 1
_TRACED_MS_MAX = 3_600_000


# One run -------------------------------------------------------------------------------------------------------------------------


def one(simulation: Simulation, plan: Schedule | None, output: Path | None, *, as_json: bool) -> int:
    """Run once, by `plan` if there is one, and print the outcome; with `output` write the schedule, the trace and a picture there."""
    if output is not None and simulation.duration_ms > _TRACED_MS_MAX:
        raise click.UsageError("--output stores every frame, for at most one hour; choose a shorter --duration")
    began = time.process_time()
    if output is None:
        outcome = Run(simulation, plan).go()
    else:
        check_output(output)
        outcome, run_by, trace = _traced(simulation, plan)
        _keep(outcome, run_by, trace, output)
    _tell(outcome, max(time.process_time() - began, 0.001), output, as_json=as_json)
    return BROKEN if outcome.violations else 0


def _tell(outcome: Outcome, took_s: float, output: Path | None, *, as_json: bool) -> None:
    for line in [*_outcome_lines(outcome, took_s), *_violation(outcome, output)]:
        click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps(_row(outcome), ensure_ascii=False, indent=1))


def _traced(simulation: Simulation, plan: Schedule | None) -> tuple[Outcome, Schedule, Trace]:
    """Run with a trace; return the outcome, the schedule of the run and the trace."""
    made: list[Recorder] = []

    def make(clock: Callable[[], int]) -> Recorder:
        made.append(Recorder(clock, run="simulation", seed=simulation.seed, clock="virtual"))
        return made[0]

    run = Run(simulation, plan, make)
    return run.go(), run.plan, made[0].trace


def _keep(outcome: Outcome, plan: Schedule, trace: Trace, output: Path) -> None:
    """Write the schedule with the broken requirements, the trace and the picture."""
    document = to_json(outcome, plan, broken(outcome.simulation, plan, trace))
    (output / "simulation.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (output / "trace.ndjson").write_text("".join(f"{line}\n" for line in write_trace(trace)), encoding="utf-8")
    (output / "timeline.svg").write_text(picture_of(trace, outcome), encoding="utf-8")


def _outcome_lines(outcome: Outcome, took_s: float) -> Sequence[str]:
    simulation = outcome.simulation
    static = f", {simulation.static_members} of them static" if simulation.static_members else ""
    lines = [
        f"seed {simulation.seed}: {simulation.members} members{static}, {' then '.join(simulation.assignors or ())}, {simulation.profile}; "
        f"sessions of {_time(simulation.session_timeout_ms or 0)}, polls within {_time(simulation.max_poll_interval_ms or 0)}",
        f"  {_time(outcome.virtual_ms)} of virtual time in {took_s:.2f} s: {outcome.events} events, {outcome.virtual_ms / 1_000 / took_s:,.0f} times as fast",
        f"  faults    {_counted(outcome.injected) or 'none'}",
        f"  requests  {_counted(outcome.requests)}",
        f"  {outcome.generations} generations, {outcome.restarts} programs started again after a fatal error, trace {outcome.trace_hash}",
    ]
    if outcome.converged_at_ms is not None:
        settled_ms = outcome.converged_at_ms - simulation.duration_ms
        lines.append(f"  settled {_time(settled_ms)} after everything was healed, and stayed so")
    return lines


def _violation(outcome: Outcome, output: Path | None) -> Sequence[str]:
    lines = [f"BROKEN {violation.requirement} at {_time(violation.at_ms)}: {violation.observed}" for violation in outcome.violations]
    if output is not None:
        lines.append(f"  replay: groupproof replay {shlex.quote(str(output / 'simulation.json'))}")
    elif outcome.violations:
        lines.append(f"  replay: {replay_line(outcome.simulation)}")
    return lines


def replay_line(simulation: Simulation) -> str:
    """Return the command that runs this simulation again."""
    faults = simulation.faults if isinstance(simulation.faults, str) else ",".join(simulation.faults) or "none"
    words = ["groupproof", "simulate", "--seed", str(simulation.seed), "--members", str(simulation.members)]
    words += ["--duration", f"{simulation.duration_ms}ms", "--profile", simulation.profile, "--faults", faults, "--brokers", str(simulation.brokers)]
    words += ["--static", str(simulation.static_members), *(word for name in simulation.assignors or () for word in ("--assignor", name))]
    words += ["--session-timeout", f"{simulation.session_timeout_ms}ms", "--max-poll-interval", f"{simulation.max_poll_interval_ms}ms"]
    for option, name in (("--coordinator-variant", simulation.coordinator_variant), ("--member-variant", simulation.member_variant)):
        words += [option, name] if name else []
    return shlex.join(words)


def replayed(file: Path, output: Path | None, engine: str, *, as_json: bool) -> int:
    """Run a simulation's file again; return 1 if the recorded requirement, or without one any requirement, was broken."""
    recorded = load(file)
    if output is not None:
        check_output(output)
    again = _by_simulator if engine == "simulator" else partial(_by_pair, engine)
    found = again(recorded, output, as_json=as_json)
    is_broken = recorded.requirement in found if recorded.requirement is not None else bool(found)
    if recorded.requirement is not None:
        click.echo(f"{'' if is_broken else 'not '}reproduced: recorded was that {recorded.requirement} was broken", err=as_json)
    return BROKEN if is_broken else 0


def _by_simulator(recorded: RecordedSimulation, output: Path | None, *, as_json: bool) -> set[str]:
    """Check every invariant at each event, and judge both sides by the trace; return the broken requirements."""
    began = time.process_time()
    outcome, plan, trace = _traced(recorded.simulation, recorded.plan)
    if output is not None:
        _keep(outcome, plan, trace, output)
    _tell(outcome, max(time.process_time() - began, 0.001), output, as_json=as_json)
    return {*_judged(recorded.simulation, plan, trace, as_json=as_json), *(violation.requirement for violation in outcome.violations)}


def _by_pair(engine: str, recorded: RecordedSimulation, output: Path | None, *, as_json: bool) -> set[str]:
    """Judge both sides by the trace of the real pair; return the broken requirements."""
    trace = ENGINES[engine](recorded.simulation, recorded.plan)
    if output is not None:
        (output / "trace.ndjson").write_text("".join(f"{line}\n" for line in write_trace(trace)), encoding="utf-8")
    found = _judged(recorded.simulation, recorded.plan, trace, as_json=as_json)
    if as_json:
        click.echo(json.dumps({"engine": engine, "broken": found}, ensure_ascii=False, indent=1))
    return set(found)


def _judged(simulation: Simulation, plan: Schedule, trace: Trace, *, as_json: bool) -> dict[str, str]:
    """Print and return the requirements that members and coordinator broke, by the trace."""
    found = broken(simulation, plan, trace)
    lines = [f"BROKEN {requirement}: {observed}" for requirement, observed in found.items()]
    for line in lines or [f"in {len(trace)} observations neither a member nor the coordinator broke a rule"]:
        click.echo(line, err=as_json)
    return found


# Many seeds ----------------------------------------------------------------------------------------------------------------------


def many(simulation: Simulation, seeds: range, jobs: int | None, folder: Path | None, *, as_json: bool) -> int:
    """Run every seed, and print those that broke an invariant; with `folder` write the observations of those without a piece there."""
    left = [seed for seed in seeds if folder is None or not piece_of(folder, seed).is_file()]
    if len(left) < len(seeds):
        click.echo(f"{len(seeds) - len(left)} of {len(seeds)} pieces are in {folder} already", err=as_json)
    runs = _kept(outcomes(simulation, left, jobs=max(1, jobs or min(os.cpu_count() or 1, len(left))), folder=folder), folder)
    broken: list[Outcome] = []
    events = virtual_ms = 0
    for outcome in track(runs, total=len(left), console=Console(stderr=True), description="seeds", transient=True):
        events, virtual_ms = events + outcome.events, virtual_ms + outcome.virtual_ms
        if outcome.violations:
            broken.append(outcome)
            for line in _violation(outcome, None):
                click.echo(line, err=as_json)
    click.echo(f"{len(left)} seeds, {_time(virtual_ms)} of virtual time, {events} events: {len(broken)} broke a law", err=as_json)
    if as_json:
        click.echo(json.dumps({"seeds": len(left), "events": events, "broken": [_row(outcome) for outcome in broken]}, ensure_ascii=False, indent=1))
    return BROKEN if broken else 0


def _kept(runs: Iterator[Outcome], folder: Path | None) -> Iterator[Outcome]:
    """Yield the outcomes; raise `BrokenEnvironment` where their observations cannot be written."""
    try:
        yield from runs
    except MissingArrow as error:
        raise missing_arrow(error) from error
    except OSError as error:
        raise BrokenEnvironment(
            f"{folder} can't be written: {error.strerror or error}; the files there are complete: free some space, and run the same command again to continue"
        ) from error


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "simulation": outcome.simulation.to_json(),
        "events": outcome.events,
        "virtual_ms": outcome.virtual_ms,
        "trace_hash": outcome.trace_hash,
        "generations": outcome.generations,
        "converged_at_ms": outcome.converged_at_ms,
        "requests": dict(outcome.requests),
        "injected": dict(outcome.injected),
        "violations": [
            {"requirement": violation.requirement, "at_ms": violation.at_ms, "what": violation.observed} for violation in outcome.violations
        ],
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _time(ms: float) -> str:
    """Return a time in readable units: 40 ms, 12.5 s, 3 min 20 s, 2 h 5 min."""
    if ms < 1_000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.3g} s"
    minutes, seconds = divmod(round(ms / 1_000), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
