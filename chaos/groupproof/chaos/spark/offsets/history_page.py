"""`history.html`: the history of all groups from the offsets topic, on a page that opens from the disk and loads nothing."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final

from groupproof.chaos.spark.analysis.page import Tile
from groupproof.chaos.spark.analysis.plots import bars, timeline
from groupproof.chaos.spark.offsets.record_fold import COMMIT_GAP, FLAPPING, REBALANCE, STORMING, TALLY, UNOWNED, Fact, newest_of
from groupproof.harness.judging.diagnosis.causes import SORTED, Cause
from groupproof.harness.reports.pages.template_engine import environment
from groupproof.harness.reports.pictures.svg import time_label

__all__ = ["HistorySummary", "page_of", "summary_of"]

_ROWS_MAX: Final = 20
_KINDS: Final = (REBALANCE, STORMING, FLAPPING, UNOWNED, COMMIT_GAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySummary:
    """Facts by kind, each with its group, number and time, the newest last; `unreadable` counts unreadable records by reason."""

    source: str
    records: int
    unreadable: Mapping[str, int]
    facts: Mapping[str, Sequence[Mapping[str, Any]]]

    def to_json(self) -> dict[str, Any]:
        groups = {row["group"] for rows in self.facts.values() for row in rows}
        facts = {kind: self.facts.get(kind, ()) for kind in _KINDS}
        return {
            "source": self.source, "records": self.records, "unreadable": dict(sorted(self.unreadable.items())), "groups": len(groups),
            "rebalances": len(facts[REBALANCE]), "causes": dict(Counter(row["cause"] for row in facts[REBALANCE]).most_common()),
            "certain": sum(row["certain"] for row in facts[REBALANCE]),
            "storms": [dict(row) for row in facts[STORMING]], "flapping": [dict(row) for row in facts[FLAPPING]],
            "without_owner_ms": sum(row["spent_ms"] for row in facts[UNOWNED]), "commit_gaps": [dict(row) for row in facts[COMMIT_GAP]],
        }  # fmt: skip


def summary_of(facts: Iterable[Fact], *, source: str) -> HistorySummary:
    """Sort facts by kind; of a fact that grew, the last version counts."""
    sorted_facts: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for fact in sorted(newest_of(facts), key=lambda fact: (fact.at_ms, fact.group, fact.number)):
        sorted_facts[fact.kind].append({**json.loads(fact.text), "group": fact.group, "number": fact.number, "at_ms": fact.at_ms})
    tallies = sorted_facts.pop(TALLY, [])
    unreadable = sum((Counter(tally["unreadable"]) for tally in tallies), Counter[str]())
    records = sum(sum(tally["records"].values()) for tally in tallies) + unreadable.total()
    return HistorySummary(source=source, records=records, unreadable=unreadable, facts=sorted_facts)


def page_of(summary: HistorySummary) -> str:
    """Return the page."""
    facts = {kind: summary.facts.get(kind, ()) for kind in _KINDS}
    begins_ms = min((row["at_ms"] for rows in facts.values() for row in rows), default=0)
    template = (resources.files("groupproof.chaos.spark.offsets") / "history.html.j2").read_text(encoding="utf-8")
    unowned: Counter[str] = Counter()
    for row in facts[UNOWNED]:
        unowned[row["group"]] += row["spent_ms"]
    causes = Counter(row["cause"] for row in facts[REBALANCE]).most_common()
    pictures = {
        "timeline": timeline([_lane(row, begins_ms) for row in facts[REBALANCE]], [_storm(row, begins_ms) for row in facts[STORMING]], (), ()),
        "causes": bars(
            [(cause, count, SORTED[Cause(cause)].words.format(member="a member")) for cause, count in causes], says=lambda count: f"{count:,.0f}"
        ),
        "unowned": bars([(group, spent, "summed over partitions") for group, spent in unowned.most_common(_ROWS_MAX)]),
    }
    return environment().from_string(template).render(
        summary=summary, tiles=_tiles(summary, facts), pictures=pictures, groups=_groups(facts)[:_ROWS_MAX], storms=facts[STORMING][-_ROWS_MAX:],
        flapping=_worst(facts[FLAPPING]), gaps=sorted(facts[COMMIT_GAP], key=lambda row: -row["lasted_ms"])[:_ROWS_MAX],
        newest=list(reversed(facts[REBALANCE][-_ROWS_MAX:])), clock=_clock, span=time_label,
    )  # fmt: skip


def _tiles(summary: HistorySummary, facts: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Tile]:
    certain = sum(row["certain"] for row in facts[REBALANCE])
    spent = sum(row["spent_ms"] for row in facts[UNOWNED])
    unreadable = ", ".join(f"{count} unreadable: {reason}" for reason, count in sorted(summary.unreadable.items()))
    return [
        Tile(name="records", figure=f"{summary.records:,}", says=unreadable or "of the offsets topic", colour=_bad(len(summary.unreadable))),
        Tile(name="rebalances", figure=f"{len(facts[REBALANCE]):,}", says=f"of {certain:,} the records leave no other cause"),
        Tile(name="storms", figure=f"{len(facts[STORMING])}", says="five rebalances within ten minutes", colour=_bad(len(facts[STORMING]))),
        Tile(name="flapping", figure=f"{len(_worst(facts[FLAPPING]))}", says="members lost three times within an hour", colour=_bad(len(facts[FLAPPING]))),
        Tile(name="without owner", figure=time_label(spent), says="summed over partitions"),
        Tile(name="commit gaps", figure=f"{len(facts[COMMIT_GAP])}", says="partitions that stood still for five minutes", colour=_bad(len(facts[COMMIT_GAP]))),
    ]  # fmt: skip


def _groups(facts: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return a line for each group, those with the most rebalances first."""
    rows: dict[str, dict[str, Any]] = {}
    for row in facts[REBALANCE]:
        line = rows.setdefault(
            row["group"], {"group": row["group"], "protocol": row["protocol"], "rebalances": 0, "members_max": 0, "causes": Counter()}
        )
        line["rebalances"] += 1
        line["causes"][row["cause"]] += 1
        line |= {"members": row["members"], "members_max": max(line["members_max"], row["members"]), "generation": row["generation"]}
    return sorted(rows.values(), key=lambda line: (-line["rebalances"], line["group"]))


def _worst(flapping: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return each flapping member once, in its last version."""
    return list({(row["group"], row["member"], row["host"]): row for row in flapping}.values())[:_ROWS_MAX]


def _lane(row: Mapping[str, Any], begins_ms: int) -> dict[str, Any]:
    return {
        "run": "", "case": "", "group": row["group"], "started_ns": (row["at_ms"] - begins_ms) * 1_000_000, "lasted_ms": row["lasted_ms"],
        "cause": row["cause"], "generation": row["generation"], "client": row["member"], "outcome": "certain" if row["certain"] else "likely",
    }  # fmt: skip


def _storm(row: Mapping[str, Any], begins_ms: int) -> dict[str, Any]:
    since_ms = row["at_ms"] - begins_ms
    return {
        "run": "", "case": "", "group": row["group"], "since_ns": since_ms * 1_000_000, "lasted_ms": row["until_ms"] - row["at_ms"],
        "rebalances": row["rebalances"],
    }  # fmt: skip


def _bad(figure: float) -> str:
    return "bad" if figure else "ink"


def _clock(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M:%S}"
