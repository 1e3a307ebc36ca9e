"""Groups of which each has one thing planted that the queries look for, beside some that have nothing; and a stream that arrived badly."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from tests.harness.judging.checkers.stories import PLANTED, Group, keeping

from groupproof.protocol.trace import Trace

__all__ = ["GROUPS", "arrived_badly", "planted_groups"]

_BEAT_MS: Final = 1_000


def _stormy() -> Group:
    story = Group()
    for generation in range(1, 8):
        story.rebalance(generation, generation * 2_000)
    return story


def _calm() -> Group:
    """Seven rebalances too, but with time to settle between them."""
    story = Group()
    for generation in range(1, 8):
        story.rebalance(generation, generation * 20_000)
    return story


def _zombie(error: int) -> Group:
    story = keeping()
    story.rebalance(3, 8_000)
    story.at(9_500)
    story.commit(("t", 1, 7), client="m1", member="m1-1", generation=2, error=error)
    return story


def _shared() -> Group:
    """For two seconds by the wire: m1 is given what m0 has."""
    story = keeping()
    story.at(8_000)
    story.enter("m0", "m0-1", 3, connection=1)
    story.enter("m1", "m1-1", 3, connection=2)
    story.assigned("m0", "m0-1", 3, ("t", 0), connection=1)
    story.assigned("m1", "m1-1", 3, ("t", 0), ("t", 1), connection=2)
    story.at(10_000)
    story.beat("m0", member="m0-1", generation=3)
    story.beat("m1", member="m1-1", generation=3, connection=2)
    return story


def _shared_as_told() -> Group:
    """For 1.5 s by the callbacks, as when a zombie has not heard yet; the wire shows nothing of it."""
    story = keeping()
    story.at(6_000).owns("m0", ("t", 0))
    story.at(7_000).owns("m1", ("t", 0))
    story.at(8_500).partitions("lost", ("t", 0), client="m0")
    story.at(9_000).partitions("revoked", ("t", 0), client="m1")
    return story


def _unowned() -> Group:
    story = keeping()
    story.at(6_000).owns("m0", ("t", 0), ("t", 1))
    story.at(7_000).partitions("revoked", ("t", 0), client="m0")
    story.at(10_000).owns("m1", ("t", 0))
    story.at(11_000).partitions("revoked", ("t", 0), client="m1")
    story.partitions("revoked", ("t", 1), client="m0")
    return story


def _formed(*generations: int, empties: bool = False) -> Group:
    story, before = Group(), 0
    story.moves(None, "Empty", 0)
    for number, generation in enumerate(generations):
        story.at(number * 30_000)
        if empties and number:
            story.moves("Stable", "PreparingRebalance", before)
            story.moves("PreparingRebalance", "Empty", before + 1)
        story.moves("Empty" if empties or not number else "Stable", "PreparingRebalance", before)
        story.at(number * 30_000 + 500)
        story.moves("PreparingRebalance", "CompletingRebalance", generation)
        story.at(number * 30_000 + 700)
        story.moves("CompletingRebalance", "Stable", generation)
        before = generation
    return story


def _expired() -> Group:
    story = keeping()
    story.moves(None, "Empty", 0)
    story.moves("Empty", "PreparingRebalance", 0)
    story.at(13_000).see("timer", group="g", member="m1-1", rule="SessionEnd/Stable/session-ends")
    story.see(
        "transition",
        group="g",
        state_before="Stable",
        state_after="PreparingRebalance",
        generation=2,
        detail="removing member on heartbeat expiration m1-1",
    )
    return story


def _missing() -> Group:
    """m1 is not in generation 3 and has not left."""
    story = keeping()
    story.at(20_000)
    story.enter("m0", "m0-1", 3, connection=1)
    story.assigned("m0", "m0-1", 3, ("t", 0), connection=1)
    return story


def _uneven() -> Group:
    story = keeping()
    for ms in (7_000, 8_000, 9_000, 19_000, 20_000):
        story.at(ms).beat("m0", member="m0-1", generation=2)
    return story


def _late_joiner() -> Group:
    story = keeping().at(8_000)
    story.enter("m0", "m0-1", 3, connection=1)
    story.at(13_000)
    story.enter("m1", "m1-1", 3, connection=2)
    return story


GROUPS: Final[Mapping[str, Callable[[], Group]]] = {
    "kept": keeping, "calm": _calm, "stormy": _stormy, "zombie": lambda: _zombie(0), "refused zombie": lambda: _zombie(22), "shared": _shared,
    "shared as told": _shared_as_told, "unowned": _unowned, "gap": lambda: _formed(1, 2, 5), "fall": lambda: _formed(3, 2), "emptied": lambda: _formed(1, 3, empties=True),
    "in turn": lambda: _formed(1, 2, 3), "expired": _expired, "missing": _missing, "uneven": _uneven, "late joiner": _late_joiner,
}  # fmt: skip


def planted_groups(run: str = "planted") -> Trace:
    """Return one run with all groups, and those whose laws are broken for the checkers."""
    stories = {**{name: make().trace for name, make in GROUPS.items()}, **{f"law {law}": make().trace for law, make in PLANTED.items()}}
    dealt = [
        [
            replace(obs, group=name, client=_own(obs.client, number), connection=None if obs.connection is None else obs.connection + 100 * number)
            for obs in trace
        ]
        for number, (name, trace) in enumerate(stories.items())
    ]
    return [replace(obs, seq=seq, run=run) for seq, obs in enumerate(heapq.merge(*dealt, key=lambda obs: obs.at_ns))]


def _own(client: str | None, group: int) -> str | None:
    return None if client is None else f"{client}.{group}"


def arrived_badly(trace: Trace) -> tuple[Trace, Mapping[str, int]]:
    """Return the trace as it may arrive, and what is wrong: three rows stand twice, one is out of its order, one comes late."""
    tail = [trace[-2], trace[-2], trace[-2], trace[-1]]
    early = replace(trace[0], seq=trace[-1].seq + 1, at_ns=0)
    swapped = [*trace[:10], trace[11], trace[10], *trace[12:-2]]
    return [*swapped, *tail, early], {"twice": 2, "displaced": 1, "late": 1}
