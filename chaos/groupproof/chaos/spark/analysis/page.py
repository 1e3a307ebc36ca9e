"""`analysis.html`: the page that a person reads first. It opens from the disk and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from groupproof.chaos.spark.analysis.plots import bars, colour_of, curves, timeline
from groupproof.harness.reports.pages.template_engine import environment
from groupproof.harness.reports.pictures.svg import time_label
from groupproof.protocol.vocabulary import error_named

if TYPE_CHECKING:
    from groupproof.chaos.spark.analysis.analysis import QueryResult, Results

__all__ = ["Tile", "page_of", "tiles_of"]

_ROWS_MAX: Final = 12
_PHASES: Final = {"join phase": "join_ms", "sync phase": "sync_ms", "in all": "lasted_ms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure at the top of the page; `colour` is bad if it should be 0 but is not."""

    name: str
    figure: str
    says: str
    colour: str = "ink"


def tiles_of(results: Results) -> list[Tile]:
    """Return the figures at the top."""
    found = results.found
    rebalances, stream = found["rebalances"], found["stream"]
    formed, count = int(rebalances.sum("formed")), int(rebalances.sum("rebalances"))
    apart = int(rebalances.sum("members_only") + rebalances.sum("coordinator_only"))
    lasted = sorted(row["lasted_ms"] for row in rebalances.facts or () if row["lasted_ms"] is not None)
    unowned, shared = found["without-owner"].sum("unowned_ms_sum"), found["two-owners"].sum("share_ms_sum")
    accepted, refused = (int(found["zombie-commits"].sum("commits", outcome=outcome)) for outcome in ("accepted", "refused"))
    odd = sum(int(found["generation-gaps"].sum("gaps", kind=kind)) for kind in ("gap", "fall"))
    defects = [f"{int(stream.sum(name))} {words}" for name, words in (("twice", "twice"), ("displaced", "out of order"), ("late", "late"))]
    return [
        Tile(name="rebalances", figure=f"{count:,}", says=f"{formed:,} formed a generation" + (f"; {apart} reported by one side only" if apart else ""),
             colour="bad" if apart else "ink"),
        Tile(name="duration", figure=_at(lasted, 0.5), says=f"in the middle; 99 % within {_at(lasted, 0.99)}"),
        Tile(name="storms", figure=str(int(found["storms"].sum("storms"))), says="groups that came to no rest", colour=_bad(found["storms"].sum("storms"))),
        Tile(name="without owner", figure=time_label(unowned), says="summed over partitions"),
        Tile(name="two owners", figure=time_label(shared), says="summed over partitions", colour=_bad(shared)),
        Tile(name="zombie commits", figure=str(accepted), says=f"accepted; {refused} refused", colour=_bad(accepted)),
        Tile(name="generations", figure=str(odd), says="left out or gone back to", colour=_bad(odd)),
        Tile(name="sessions ended", figure=str(int(found["session-expiries"].sum("expiries"))), says="members lost for their silence"),
        Tile(name="observations", figure=f"{int(stream.sum('rows')):,}", says=", ".join(defects)),
    ]  # fmt: skip


def page_of(results: Results) -> str:
    """Return the page."""
    found = results.found
    facts = {name: value.facts or [] for name, value in found.items()}
    template = (resources.files("groupproof.chaos.spark.analysis") / "analysis.html.j2").read_text(encoding="utf-8")
    pictures = {
        "timeline": timeline(facts["rebalances"], facts["storms"], facts["two-owners"], facts["session-expiries"]),
        "curves": curves({name: [row[phase] for row in facts["rebalances"] if row[phase] is not None] for name, phase in _PHASES.items()}),
        "unowned": bars([(_whose(row), row["unowned_ms_sum"], f"{row['stretches']} stretches") for row in found["without-owner"].by("group")[:_ROWS_MAX]]),
        "joiners": bars([(_whose(row), row["after_ms_max"], f"last {row['last']} times of {row['joins']}") for row in _named_clients(found["slowest-joiners"])]),
        "jitter": bars([(_whose(row), row["interval_ms_spread"] or 0.0, _beats(row)) for row in _jitter(found["heartbeat-jitter"])], colour="preparing"),
        "errors": bars(_errors(found["requests"]), says=lambda count: f"{count:,.0f}", colour="bad"),
        "causes": bars([(row["cause"] or "unknown", row["rebalances"], f"p99 {time_label(row['lasted_ms_p99'] or 0)}") for row in _causes(found)],
                       says=lambda count: f"{count:,.0f}"),
    }  # fmt: skip
    return environment().from_string(template).render(
        inputs=results.inputs, tiles=tiles_of(results), pictures=pictures, found=found.values(), shown=_ROWS_MAX, cell=_cell,
        longest=_longest(facts["rebalances"]), shared=facts["two-owners"][:_ROWS_MAX], zombies=facts["zombie-commits"][:_ROWS_MAX],
        gaps=[row for row in facts["generation-gaps"] if row["kind"] in ("gap", "fall")][:_ROWS_MAX], colour_of=colour_of,
    )  # fmt: skip


def _bad(figure: float) -> str:
    return "bad" if figure else "ink"


def _at(values: Sequence[float], share: float) -> str:
    return time_label(values[min(len(values) - 1, int(len(values) * share))]) if values else "–"


def _whose(row: Mapping[str, Any]) -> str:
    return " ".join(str(part) for part in (row["value"], row["case"]) if part) or "unknown"


def _named_clients(found: QueryResult) -> list[dict[str, Any]]:
    return [row for row in found.by("client") if row["value"] is not None][:_ROWS_MAX]


def _jitter(found: QueryResult) -> list[dict[str, Any]]:
    return sorted(found.by("client"), key=lambda row: -(row["interval_ms_spread"] or 0))[:_ROWS_MAX]


def _beats(row: Mapping[str, Any]) -> str:
    return f"{row['intervals']} intervals, half within {row['interval_ms_p50']:.0f} ms, 99 % within {row['interval_ms_p99']:.0f} ms"


def _errors(found: QueryResult) -> list[tuple[str, float, str]]:
    rows = [row for row in found.by("all") if row["error"]]
    return [(f"{row['api']} {error_named(row['error'])}", row["requests"], f"answered {error_named(row['error'])}") for row in rows[:_ROWS_MAX]]


def _causes(found: Mapping[str, QueryResult]) -> list[dict[str, Any]]:
    return sorted(found["rebalances"].by("all"), key=lambda row: -row["rebalances"])


def _longest(rebalances: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rebalances, key=lambda row: -(row["lasted_ms"] or 0))[:_ROWS_MAX]


def _cell(name: str, value: Any) -> str:
    """Return a figure as the text of a table cell."""
    if value is None:
        return "–"
    if isinstance(value, int | float) and "_ms" in name:
        return time_label(float(value))
    return f"{value:,.1f}".removesuffix(".0") if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
