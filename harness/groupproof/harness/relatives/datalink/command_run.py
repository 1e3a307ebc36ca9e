"""Does what `groupproof datalink` asks for, and tells of it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import trio

from groupproof.clients.relatives.datalink.tasks import Board, Task
from groupproof.clients.relatives.datalink.worker_main import WorkerFailed, WorkerMain
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.model.selection import nearest
from groupproof.harness.relatives.datalink.assignor_costs import PolicyCost, measured
from groupproof.harness.relatives.datalink.churn import KINDS, drawn
from groupproof.harness.relatives.datalink.manager_switch import Switching, SwitchResult, play
from groupproof.harness.relatives.datalink.simulated_group import Outcome, WorkerRun, run
from groupproof.harness.relatives.datalink.worker_process import TaskTimes
from groupproof.harness.reports.output_folder import check_output
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.client_registry import check_reading
from groupproof.protocol.trace import write_trace

__all__ = ["compared", "ran", "simulated", "switched"]

BROKEN: Final = 1
_BEFORE_S: Final = {True: 15.0, False: 60.0}
"""How long workers work before the switch, by whether that is real time: long enough for their heartbeats to have drifted apart."""


# Virtual time --------------------------------------------------------------------------------------------------------------------


def simulated(
    *, seed: int, seeds: range | None, events: int, every_ms: int, kinds: tuple[str, ...], as_json: bool, reading: str | None, **options: Any
) -> int:
    """Run one seed or several; 1 where a group did not settle."""
    check_reading(reading, options["profile"])
    if unknown := next((kind for kind in kinds if kind not in KINDS), None):
        raise WrongUsage(f"no kind of fault is called {unknown!r}{nearest(unknown, KINDS)}; there are {', '.join(KINDS)}")
    outcomes = []
    for number in seeds or [seed]:
        happens = drawn(number, kinds=kinds or tuple(KINDS), events=events, every_ms=every_ms, workers=options["workers"])
        outcomes.append(run(WorkerRun(seed=number, reading=reading, events=happens, **options)))
        _tell(outcomes[-1], as_json=as_json)
    if as_json:
        click.echo(json.dumps([_row(outcome) for outcome in outcomes], indent=1))
    return BROKEN if any(outcome.violations for outcome in outcomes) else 0


def _tell(outcome: Outcome, *, as_json: bool) -> None:
    course = outcome.course
    longest = max((overlap.ms for overlap in outcome.overlaps), default=0)
    lines = [
        f"seed {course.seed}: {course.workers} workers, {course.tasks} tasks, {course.assignor}, {course.hand_over}; {outcome.virtual_ms / 60_000:.1f} min of virtual time",
        f"  {len(course.events)} things happened: {outcome.generations} generations, {outcome.starts} starts of tasks, {outcome.moves} of them elsewhere than before",
        f"  lost    {outcome.lost_ms / 1_000:.1f} task-seconds, {outcome.lost_s_per_event:.1f} for each",
        f"  doubled {outcome.overlap_ms / 1_000:.1f} task-seconds, {longest} ms at the longest",
        *(f"BROKEN {violation}" for violation in outcome.violations),
    ]
    if not outcome.violations:
        lines.append("  after each every worker was Stable again and every task ran exactly once")
    for line in lines:
        click.echo(line, err=as_json)


def _row(outcome: Outcome) -> dict[str, Any]:
    course = outcome.course
    return {
        "seed": course.seed, "workers": course.workers, "tasks": course.tasks, "assignor": course.assignor, "hand_over": course.hand_over,
        "happened": [event.kind for event in course.events], "settled_ms": list(outcome.settled_ms), "generations": outcome.generations,
        "starts": outcome.starts, "moves": outcome.moves, "lost_ms": outcome.lost_ms, "overlap_ms": outcome.overlap_ms,
        "violations": list(outcome.violations),
    }  # fmt: skip


def compared(
    *, seeds: range, events: int, every_ms: int, stop_ms: int, cold_ms: int, warm_ms: int, as_json: bool, reading: str | None, **options: Any
) -> int:
    """Measure every policy on the same churn; 1 where a group did not settle."""
    check_reading(reading, options["profile"])
    times = TaskTimes(stop_ms=stop_ms, cold_start_ms=cold_ms, warm_start_ms=warm_ms)
    found = measured(WorkerRun(times=times, reading=reading, **options), seeds, events=events, every_ms=every_ms)
    if as_json:
        click.echo(json.dumps([measurement.to_json() for measurement in found], indent=1))
    else:
        _table(found)
    return BROKEN if any(measurement.violations for measurement in found) else 0


def _table(found: Sequence[PolicyCost]) -> None:
    click.echo(f"{found[0].runs} seeds, {found[0].events} things happened by each policy; for each of them on average")
    click.echo(f"{'assignor':12} {'hand-over':16} {'generations':>11} {'starts':>7} {'moves':>7} {'lost task-s':>12} {'less by':>8}")
    for measurement in found:
        policy = measurement.policy
        click.echo(
            f"{policy.assignor:12} {policy.hand_over:16} {measurement.generations / measurement.events:11.2f} {measurement.starts_per_event:7.1f} {measurement.moves_per_event:7.1f} "
            f"{measurement.lost_s_per_event:12.1f} {f'{measurement.factor:.2f} ×':>8}"
        )
    for violation in [violation for item in found for violation in item.violations]:
        click.echo(f"BROKEN {violation}")


# Over the wire -------------------------------------------------------------------------------------------------------------------


def switched(*, seed: int, seeds: range | None, output: Path | None, as_json: bool, reading: str | None, **options: Any) -> int:
    """Switch the Managers under load; 1 where not all is well afterwards."""
    check_reading(reading, options["profile"])
    if output is not None:
        check_output(output)
    found = []
    for number in seeds or [seed]:
        found.append(play(Switching(seed=number, reading=reading, before_s=_BEFORE_S[options["is_real"]], **options)))
        _tell_switch(found[-1], as_json=as_json)
    rows = [_switch_row(result) for result in found]
    if output is not None:
        (output / "switch.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        (output / "trace.ndjson").write_text("".join(f"{line}\n" for line in write_trace(found[-1].trace)), encoding="utf-8")
        click.echo(f"why each rebalance began: groupproof trace explain {output / 'trace.ndjson'}", err=True)
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    return 0 if all(result.is_well for result in found) else BROKEN


def _tell_switch(found: SwitchResult, *, as_json: bool) -> None:
    switching = found.switching
    settled = "never" if found.settled_ms is None else f"after {found.settled_ms / 1_000:.1f} s"
    lines = [
        f"seed {switching.seed}: {switching.workers} workers, {switching.tasks} tasks, {switching.assignor}, {switching.hand_over}, {'by the clock on the wall' if switching.is_real else 'in virtual time'}",
        f"  generation {found.generation_before} with the first Manager, {found.generation_after} with the second; {found.rejoined} of {switching.workers} workers are back, all well {settled}",
        f"  lost    {found.lost_ms} task-ms",
        f"  overlap {found.overlap_ms} task-ms in which a task ran on two workers, {found.longest_overlap_ms} ms at the longest; {found.items_doubled} of {found.items} items were done twice",
        *(f"BROKEN task {task} runs on {', '.join(workers) or 'nobody'}" for task, workers in found.wrong.items()),
    ]
    for line in [*lines, "  every task runs exactly once"][: len(lines) + (not found.wrong)]:
        click.echo(line, err=as_json)


def _switch_row(found: SwitchResult) -> dict[str, Any]:
    switching = found.switching
    return {
        "seed": switching.seed, "workers": switching.workers, "tasks": switching.tasks, "assignor": switching.assignor, "hand_over": switching.hand_over, "is_real": switching.is_real,
        "rejoined": found.rejoined, "settled_ms": found.settled_ms, "lost_ms": found.lost_ms, "overlap_ms": found.overlap_ms,
        "longest_overlap_ms": found.longest_overlap_ms, "items": found.items, "items_doubled": found.items_doubled,
        "overlaps": [{"task": overlap.task, "workers": list(overlap.workers), "ms": overlap.ms} for overlap in found.overlaps], "is_well": found.is_well,
    }  # fmt: skip


# One worker ----------------------------------------------------------------------------------------------------------------------


def ran(*, seed: int, group: str, bootstrap: str, tasks: tuple[str, ...], for_ms: int | None, **options: Any) -> int:
    """Run a worker until Ctrl-C, or for a while."""
    try:
        settings = WorkerSettings(group=group, bootstrap=tuple(map(_address, bootstrap.split(","))), **options)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    board = Board()
    board.add(group, *map(_task, tasks))
    failures: list[BaseException] = []
    try:
        trio.run(_run_worker, settings, board, seed, for_ms)
    except* WorkerFailed as failed:  # what is raised here, Python before 3.11.4 raises as a group
        failures.extend(failed.exceptions)
    if failures:
        raise BrokenEnvironment(f"{settings.name} cannot go on: {failures[0]}")
    return 0


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isdigit():
        raise WrongUsage(f"{text!r} is no address; write HOST:PORT")
    return host, int(port)


def _task(text: str) -> Task:
    name, equals, cost = text.partition("=")
    try:
        return Task(name=name, cost=float(cost) if equals else 1.0)
    except ValueError:
        raise WrongUsage(f"{text!r} is no task; write NAME, or NAME=COST with a number") from None


async def _run_worker(settings: WorkerSettings, board: Board, seed: int, for_ms: int | None) -> None:
    def report(change: str, task: str) -> None:
        click.echo(f"{settings.name} {change} {task} (generation {keeper.worker.generation})")

    keeper = WorkerMain(
        settings, connect=trio.open_tcp_stream, read=lambda: board.configs(settings.group), work=_work, random=random.Random(f"{seed}/{settings.name}"),
        report=report,
    )  # fmt: skip
    async with trio.open_nursery() as nursery:
        ended = trio.Event()
        nursery.start_soon(mind_signals, ended.set)
        nursery.start_soon(partial(_run_until_over, keeper, nursery))
        with trio.move_on_after(float("inf") if for_ms is None else for_ms / 1000):
            await ended.wait()
        await keeper.close()


async def _run_until_over(keeper: WorkerMain, nursery: trio.Nursery) -> None:
    await keeper.run()
    nursery.cancel_scope.cancel()


async def _work(task: Task) -> None:
    await trio.sleep_forever()
