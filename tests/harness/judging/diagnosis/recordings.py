"""What was recorded of provoked rebalances on real brokers (`provoked.py`, `trimming.py`), read once for all tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from tests.harness.judging.diagnosis.trimming import RECORDED

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.diagnosis.rebalances import Rebalance
from groupproof.harness.running.importing.import_files import import_files, read_any
from groupproof.protocol.trace import Trace

__all__ = ["by_group", "causes", "explained", "recorded"]


@cache
def recorded(release: str, source: str) -> Trace:
    """Return a release's trace: of its server logs (`info`), of these with its request logs (`all`), or of the `wire`."""
    folder = RECORDED / release
    if source == "wire":
        return read_any([folder / "wire.ndjson.gz"])[0]
    patterns = ("server-*.log", "debug-*.log.gz") if source == "all" else ("server-*.log",)
    return import_files([file for pattern in patterns for file in sorted(folder.glob(pattern))])


@cache
def explained(release: str, source: str) -> tuple[Rebalance, ...]:
    return tuple(rebalances_of(recorded(release, source)))


def by_group(rebalances: Iterable[Rebalance]) -> dict[str, list[Rebalance]]:
    groups: dict[str, list[Rebalance]] = {}
    for rebalance in rebalances:
        groups.setdefault(rebalance.group, []).append(rebalance)
    return groups


def causes(rebalances: Iterable[Rebalance]) -> dict[str, list[Cause]]:
    return {group: [rebalance.cause for rebalance in mine] for group, mine in by_group(rebalances).items()}
