"""The summary of a load: figures, and whether members and coordinator recorded the same rebalances."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from groupproof.chaos.spark.load.load_run import LoadResult
from groupproof.chaos.spark.load.rebalance_counts import Comparison, compared, formed_by_coordinator, formed_by_members
from groupproof.chaos.spark.load.resume import COORDINATOR, MEMBERS, SUMMARY, TAP
from groupproof.chaos.spark.members.load_dialect import steps_of
from groupproof.chaos.spark.members.load_order import LoadOrder
from groupproof.chaos.spark.traces.trace_segments import folder_of
from groupproof.chaos.spark.traces.trace_storage import Place
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.importing.import_files import import_files
from groupproof.protocol.trace import Observation

__all__ = ["both_sides", "summary_lines", "summed_up"]

_EPOCH: Final = datetime(1970, 1, 1)
_SINCE_START: Final = re.compile(r"(?P<ms>\d+) \[[^\]]*\] (?P<level>[A-Z]+) (?P<by>\S+) - (?P<said>.*)")


def summed_up(output: Path | Place, order: LoadOrder, loaded: LoadResult) -> dict[str, Any]:
    """Return the load's summary. Logs of the load's own brokers become the coordinator's trace in its folder."""
    folder = _place(output)
    _import(folder, order, loaded.logs)
    members, comparison = both_sides(folder)
    return {
        "schema": "groupproof.load-summary/1",
        "order": msgspec.json.decode(msgspec.json.encode(order)),
        "end": loaded.end,
        "figures": loaded.last.to_json(),
        "observations": {name: _size(folder / name) for name in (MEMBERS, TAP, COORDINATOR) if (folder / name).is_folder()},
        "rebalances": {"members": members, "compared": None if comparison is None else msgspec.json.decode(msgspec.json.encode(comparison))},
    }


def both_sides(output: Path | Place) -> tuple[int, Comparison | None]:
    """Return the members' number of rebalances in `output`, and their comparison with the coordinator's; None without the coordinator's trace.

    If members do not record their own frames, the tap's trace replaces theirs.
    """
    folder = _place(output)
    side = TAP if (folder / TAP).is_folder() else MEMBERS
    # For members without frames, the coordinator's own trace has their answers.
    members = formed_by_members(_read(folder / side)) or formed_by_members(_read(folder / COORDINATOR))
    if not (folder / COORDINATOR).is_folder():
        return len(members), None
    return len(members), compared(members, formed_by_coordinator(_read(folder / COORDINATOR)))


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the summary as lines for a person."""
    figures, rebalances, steps = summary["figures"], summary["rebalances"], steps_of(summary["order"]["dialect"])
    lines = [
        f"{figures['joins']} joins, {figures['heartbeats']} heartbeats, {figures['commits']} commits answered; "
        f"{sum(item['rows'] for item in summary['observations'].values())} observations",
        f"{steps}: members report {rebalances['members']}",
    ]
    if (both := rebalances["compared"]) is not None:
        apart = len(both["members_only"]) + len(both["coordinator_only"])
        lines[-1] += ", the coordinator of the same" if not apart else f", the coordinator of {both['both'] + len(both['coordinator_only'])}"
        step = "epoch" if steps == "epochs" else "generation"
        lines += [f"  only members report {step} {number} of {group}" for group, number in both["members_only"]]
        lines += [f"  only the coordinator reports {step} {number} of {group}" for group, number in both["coordinator_only"]]
    lines.append(f"{summary['end']}; trace and {SUMMARY}: groupproof trace check takes the folder of either side")
    return lines


def _place(output: Path | Place) -> Place:
    return output if isinstance(output, Place) else Place.of(output)


def _import(folder: Place, order: LoadOrder, logs: Sequence[Path]) -> None:
    """Write the brokers' logs of the load's groups where the reference would have written its trace."""
    groups = {order.group_of(number) for number in range(order.groups)}
    ours: dict[str, list[Observation]] = {}
    there = [path for path in logs if path.is_file() and path.stat().st_size]
    try:
        trace = _imported(folder, there) if there else []
    except WrongUsage:
        return  # the brokers log nothing about groups: there is nothing to compare
    for obs in trace:
        if obs.group in groups:
            ours.setdefault(obs.group, []).append(obs)
    for group, reported in ours.items():
        place = folder / COORDINATOR / folder_of("log", group)
        place.make()
        (place / "broker.parquet").write_parquet(reported)


def _imported(folder: Place, logs: Sequence[Path]) -> list[Observation]:
    """Keep brokers' logs beside the trace, in the format of Kafka's own configuration, and return their observations."""
    with TemporaryDirectory() as scratch:
        kept = [Path(scratch, f"broker-{number}.log") for number in range(len(logs))]
        for log, place in zip(logs, kept, strict=True):
            _as_kafka_writes(log, place)
            (folder / place.name).write_text(place.read_text("utf-8"))
        return import_files(kept)


def _as_kafka_writes(log: Path, place: Path) -> None:
    """Write a log in the format of Kafka's own configuration: brokers started by the kit log milliseconds since their start."""
    with log.open(encoding="utf-8", errors="replace") as lines, place.open("w", encoding="utf-8") as kept:
        kept.writelines(_line(line) for line in lines)


def _line(line: str) -> str:
    found = _SINCE_START.fullmatch(line.rstrip("\n"))
    if found is None:
        return line
    at = _EPOCH + timedelta(milliseconds=int(found["ms"]))
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] {found['level']} {found['said']} ({found['by']})\n"


def _read(folder: Place) -> Iterable[Observation]:
    # Counting generations needs no order between files.
    return folder.observations() if folder.is_folder() else ()


def _size(folder: Place) -> dict[str, int]:
    sizes = folder.sizes()
    return {"rows": sum(rows for rows, _ in sizes), "segments": len(sizes), "bytes": sum(size for _, size in sizes)}
