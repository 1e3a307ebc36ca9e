"""Results of an analysis, made by hand: one group that came to no rest, shared a partition and let a zombie commit."""

from __future__ import annotations

from typing import Any

from groupproof.chaos.spark.analysis.analysis import QueryResult, Results
from groupproof.chaos.spark.analysis.queries import QUERIES

__all__ = ["results"]

WHERE = {"run": "r", "case": "", "group": "g"}
REBALANCES: list[dict[str, Any]] = [
    {
        **WHERE, "generation": number, "cause": cause, "member": f"m{number}-1", "client": f"m{number}", "release": "own 1", "outcome": "settled",
        "started_ns": number * 2_000_000_000, "join_ms": 100.0 * number, "sync_ms": 10.0, "lasted_ms": 100.0 * number + 10, "members": 2, "by_coordinator": True,
        "by_members": True,
    }
    for number, cause in enumerate(("first-member", "new-member", "heartbeat-timeout", "coordinator-moved", "client-change-untold", "left"), 1)
]  # fmt: skip
FACTS: dict[str, list[dict[str, Any]]] = {
    "rebalances": REBALANCES,
    "storms": [{**WHERE, "started_ns": 2_000_000_000, "lasted_ms": 10_610.0, "rebalances": 6, "rebalancing_ms": 2_160.0, "causes": "left"}],
    "two-owners": [
        {**WHERE, "client": "m<1>", "member": "m1-1", "topic": "t", "partition": 0, "owners": 2, "since_ns": 5_000_000_000, "shared_ms": 300.0, "share_ms": 150.0,
         "release": "own 1"}
    ],
    "zombie-commits": [
        {**WHERE, "client": "m1", "release": "own 1", "member": "m1-1", "generation": 2, "newest": 3, "asked_ns": 1, "error": 0, "offsets": 1, "outcome": "accepted"}
    ],
    "generation-gaps": [{**WHERE, "at_ns": 1, "before": 1, "generation": 4, "missing": 2, "emptied": 0, "kind": "gap"}],
    "session-expiries": [
        {**WHERE, "member": "m2-1", "at_ns": 6_000_000_000, "known_by": "timer", "silent_ms": 6_000.0, "client": None, "release": None}
    ],
}  # fmt: skip
KEYS: dict[str, dict[str, Any]] = {
    "zombie-commits": {"outcome": "accepted"}, "generation-gaps": {"kind": "gap"}, "session-expiries": {"known_by": "timer"}, "stream": {"side": ""},
    "requests": {"api": "Heartbeat", "error": 27},
}  # fmt: skip


def results(*, is_empty: bool = False) -> Results:
    found = {}
    for query in QUERIES:
        figures: list[dict[str, Any]] = []
        keyed = [{"cause": row["cause"]} for row in REBALANCES] if query.name == "rebalances" else [KEYS.get(query.name, {})]
        for keys in [] if is_empty else keyed:
            measures = {measure.name: 1 if measure.kind in ("count", "distinct") else 2.5 for measure in query.measures}
            if query.name == "rebalances":
                measures |= {"formed": 1, "members_only": 0, "coordinator_only": 0}
            figures.append({"dimension": "all", "value": None, "run": None, "case": None, **keys, **measures})
            figures += [{"dimension": name, "value": "x" * 40, "run": "r", "case": "", **keys, **measures} for name in query.by]
        kept = FACTS.get(query.name, []) if query.is_kept else None
        found[query.name] = QueryResult(query=query, figures=figures, facts=[] if is_empty and kept else kept)
    return Results(inputs=("load",), found=found)
