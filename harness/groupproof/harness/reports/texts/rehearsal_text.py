"""A rehearsal as text: a table of the exercises with their costs, and the settings that measured better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
from groupproof.harness.simulation.rehearsal.setting_advice import Advice, Rehearsal
from groupproof.harness.simulation.rehearsal.work_meter import Cost

__all__ = ["advice_lines", "exercise_lines", "heading"]

_NAME_WIDE: Final = 25
_COLUMNS: Final = f"{'exercise':<{_NAME_WIDE}} {'worst':>9} {'sum':>9} {'rebalances':>11} {'read again':>11}"


def heading(settings: RehearsedSettings, seed: int) -> str:
    members, partitions = settings.number("rehearse.members"), settings.number("rehearse.partitions")
    static = "static " if settings.is_static else ""
    by = settings.values["group.remote.assignor"] or "the broker's assignor" if settings.is_consumer else " then ".join(settings.assignors)
    return f"{settings.values['group.id']}: {members} {static}members, {partitions} partitions, {settings.dialect} protocol, {by}, {settings.profile}, seed {seed}"


def exercise_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """Yield the table, each line as soon as its exercise is done."""
    yield f"{'':<{_NAME_WIDE}} {'without owner':>19}"
    yield _COLUMNS
    for exercise in rehearsal.exercises:
        note = "" if exercise.is_as_set(rehearsal.settings) else "  (not as set)"
        yield f"{exercise.name:<{_NAME_WIDE}} {_row(rehearsal.cost(exercise))}{note}"


def _row(cost: Cost) -> str:
    return f"{_seconds(cost.unowned_worst_ms):>9} {_seconds(cost.unowned_ms):>9} {cost.rebalances:>11} {cost.reread:>11}"


def advice_lines(found: Sequence[Advice]) -> Iterator[str]:
    """Yield what to change, with the figures before and after."""
    if not found:
        yield "No other setting that was tried measures better."
    for exercise, advice in _first_of(found):
        if exercise is not None:
            yield f"{exercise}:"
        yield f"  {_changes(advice.changes)}"
        yield f"    {_compared(advice.before, advice.after)}"
        yield from (f"    {name}: {_compared(*pair)}" for name, pair in advice.elsewhere.items())


def _first_of(found: Sequence[Advice]) -> Iterator[tuple[str | None, Advice]]:
    """Yield each advice, with its exercise where it differs from that of the one before."""
    before = None
    for advice in found:
        yield (advice.exercise if advice.exercise != before else None), advice
        before = advice.exercise


def _changes(changes: Mapping[str, int | str | bool]) -> str:
    return ", ".join(f"{name}={value if value != '' else '(none)'}" for name, value in changes.items())


def _compared(before: Cost, after: Cost) -> str:
    """Return the figures that differ, before and after."""
    pairs = (
        ("worst", _seconds(before.unowned_worst_ms), _seconds(after.unowned_worst_ms)),
        ("sum", _seconds(before.unowned_ms), _seconds(after.unowned_ms)),
        ("rebalances", before.rebalances, after.rebalances),
        ("read again", before.reread, after.reread),
    )
    return ", ".join(f"{name} {old} -> {new}" for name, old, new in pairs if old != new)


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.1f} s"
