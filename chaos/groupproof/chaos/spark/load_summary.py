"""What is left to say of a load when it is over: figures, and whether members and coordinator tell of the same rebalances."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from groupproof.chaos.spark.formed import Comparison, compared, formed_by_coordinator, formed_by_members
from groupproof.chaos.spark.load import Loaded
from groupproof.chaos.spark.load_order import LoadOrder
from groupproof.chaos.spark.sealing import folder_of
from groupproof.chaos.spark.sittings import COORDINATOR, MEMBERS, SUMMARY, TAP
from groupproof.harness.importing.reading import import_files
from groupproof.harness.troubles import WrongUsage
from groupproof.protocol.columns import parquet_files, read_parquet, write_parquet
from groupproof.protocol.trace import Observation

__all__ = ["both_sides", "summed_up", "told"]

_EPOCH: Final = datetime(1970, 1, 1)
_SINCE_START: Final = re.compile(r"(?P<ms>\d+) \[[^\]]*\] (?P<level>[A-Z]+) (?P<by>\S+) - (?P<said>.*)")


def summed_up(folder: Path, order: LoadOrder, loaded: Loaded) -> dict[str, Any]:
    """Return the load's summary; the logs of brokers that were started for it become the coordinator's trace in its folder."""
    _import(folder, order, loaded.logs)
    members, comparison = both_sides(folder)
    return {
        "schema": "groupproof.load-summary/1",
        "order": order.to_json(),
        "end": loaded.end,
        "figures": loaded.last.to_json(),
        "observations": {name: _size(folder / name) for name in (MEMBERS, TAP, COORDINATOR) if (folder / name).is_dir()},
        "rebalances": {"members": members, "compared": None if comparison is None else comparison.to_json()},
    }


def both_sides(folder: Path) -> tuple[int, Comparison | None]:
    """Return how many rebalances the members of the load in `folder` tell of, and how that compares to the coordinator's own; None where there is no trace of it.

    Members whose frames they do not tell themselves are those that the tap saw.
    """
    side = TAP if (folder / TAP).is_dir() else MEMBERS
    # Of members that show no frames the coordinator's own trace has what they were answered.
    members = formed_by_members(_read(folder / side)) or formed_by_members(_read(folder / COORDINATOR))
    if not (folder / COORDINATOR).is_dir():
        return len(members), None
    return len(members), compared(members, formed_by_coordinator(_read(folder / COORDINATOR)))


def told(summary: Mapping[str, Any]) -> list[str]:
    """Return the summary in lines for a person."""
    figures, rebalances = summary["figures"], summary["rebalances"]
    lines = [
        f"{figures['joins']} joins, {figures['heartbeats']} heartbeats, {figures['commits']} commits answered; "
        f"{sum(each['rows'] for each in summary['observations'].values())} observations",
        f"rebalances: members tell of {rebalances['members']}",
    ]
    if (both := rebalances["compared"]) is not None:
        apart = len(both["members_only"]) + len(both["coordinator_only"])
        lines[-1] += ", the coordinator of the same" if not apart else f", the coordinator of {both['both'] + len(both['coordinator_only'])}"
        lines += [f"  only members tell of generation {generation} of {group}" for group, generation in both["members_only"]]
        lines += [f"  only the coordinator tells of generation {generation} of {group}" for group, generation in both["coordinator_only"]]
    lines.append(f"{summary['end']}; trace and {SUMMARY}: groupproof trace check takes the folder of either side")
    return lines


def _import(folder: Path, order: LoadOrder, logs: Sequence[Path]) -> None:
    """Write what brokers logged of the load's groups where the reference would have written its trace."""
    groups = {order.group_of(number) for number in range(order.groups)}
    ours: dict[str, list[Observation]] = {}
    there = [path for path in logs if path.is_file() and path.stat().st_size]
    try:
        trace = import_files([_as_kafka_writes(path, folder / f"broker-{number}.log") for number, path in enumerate(there)]) if there else []
    except WrongUsage:
        return  # brokers that tell nothing of groups: then there is nothing to compare with
    for seen in trace:
        if seen.group in groups:
            ours.setdefault(seen.group, []).append(seen)
    for group, told_of in ours.items():
        place = folder / COORDINATOR / folder_of("log", group)
        place.mkdir(parents=True, exist_ok=True)
        write_parquet(place / "broker.parquet", told_of)


def _as_kafka_writes(log: Path, place: Path) -> Path:
    """Keep a broker's log beside the trace, in the form that Kafka's own configuration gives it: brokers that the kit starts log milliseconds since their start."""
    with log.open(encoding="utf-8", errors="replace") as lines, place.open("w", encoding="utf-8") as kept:
        kept.writelines(_line(line) for line in lines)
    return place


def _line(line: str) -> str:
    found = _SINCE_START.fullmatch(line.rstrip("\n"))
    if found is None:
        return line
    at = _EPOCH + timedelta(milliseconds=int(found["ms"]))
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] {found['level']} {found['said']} ({found['by']})\n"


def _read(folder: Path) -> Iterable[Observation]:
    # One file after the other: thousands of segments are not held open at once, and who counts generations needs no order between them.
    for file in parquet_files(folder) if folder.is_dir() else ():
        yield from read_parquet(file)


def _size(folder: Path) -> dict[str, int]:
    from pyarrow import parquet

    files = parquet_files(folder)
    return {
        "rows": sum(parquet.read_metadata(file).num_rows for file in files),
        "segments": len(files),
        "bytes": sum(file.stat().st_size for file in files),
    }
