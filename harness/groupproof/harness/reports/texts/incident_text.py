"""An incident as text: what happened, what its trace and its offsets topic show, and the result with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from groupproof.harness.simulation.rehearsal.incident_run import IncidentRun

__all__ = ["incident_lines", "incident_to_json"]

_FIGURES: Final = {
    "rebalances": "{} rebalances", "unowned_ms": "{} partition-seconds without an owner", "unowned_worst_ms": "a partition {} s without an owner",
    "reread": "{} records read again", "uncommitted_ms": "{} s without any commit", "stalled": "{} partitions without new commits",
    "longest_ms": "a rebalance of {} s",
}  # fmt: skip


def incident_lines(run: IncidentRun, remedied: IncidentRun) -> Iterator[str]:
    """Yield the lines about an incident."""
    incident = run.incident
    yield f"{incident.name}  {incident.url}"
    yield f"  happened  {incident.happened}"
    yield f"  modelled  {incident.modelled}"
    yield f"  settings  {', '.join(f'{name}={value}' for name, value in incident.settings.items())}"
    yield f"  cost      {_figure(run)}"
    yield f"  explain   {_explained(run)}"
    yield f"  watch     {_watched(run)}"
    if incident.unseen:
        yield f"  unseen    {incident.unseen}"
    yield f"  remedy    {incident.remedy.words}"
    yield f"  with it   {_figure(remedied)}"


def _figure(run: IncidentRun) -> str:
    value, name = run.figures[run.incident.figure], run.incident.figure
    return _FIGURES[name].format(round(value / 1_000) if name.endswith("_ms") else value)


def _explained(run: IncidentRun) -> str:
    if not run.rebalances:
        return "no rebalance began"
    counts = ", ".join(f"{count} {cause.value}" for cause, count in run.causes.most_common())
    first = next(rebalance for rebalance in run.rebalances if rebalance.cause is run.cause)
    return f"{counts}; {first.words}"


def _watched(run: IncidentRun) -> str:
    causes = ", ".join(f"{count} {cause.value}" for cause, count in run.health.causes.items())
    return f"{'; '.join(run.health.problems) or 'no problem'} (generations: {causes})"


def incident_to_json(run: IncidentRun, remedied: IncidentRun) -> dict[str, Any]:
    incident = run.incident
    return {
        "incident": incident.name, "url": incident.url, "happened": incident.happened, "modelled": incident.modelled, "settings": dict(incident.settings),
        "remedy": incident.remedy.words, "figure": incident.figure, "before": _seen_by(run), "with_remedy": _seen_by(remedied),
    }  # fmt: skip


def _seen_by(run: IncidentRun) -> dict[str, Any]:
    return {
        "occurs": run.occurs, "figures": run.figures, "causes": {cause.value: count for cause, count in run.causes.items()},
        "problems": run.health.problems,
    }  # fmt: skip
