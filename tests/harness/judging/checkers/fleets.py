"""Fleets of groups as one stream, made as it is read: some keep the rules, some have a violation planted."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from tests.harness.judging.checkers.stories import PLANTED, keeping

from groupproof.protocol.trace import Observation, Trace

__all__ = ["long_stream", "planted_fleet"]


def planted_fleet(run: str = "r") -> Trace:
    """Return one run with a group for each planted violation, named by its requirement, and two that keep the rules; a link that breaks between."""
    stories = {**{law: make().trace for law, make in PLANTED.items()}, "kept": keeping().trace, "kept too": keeping().trace}
    dealt = []
    for number, (name, trace) in enumerate(stories.items()):
        mine = [replace(obs, group=None if obs.group is None else name, connection=_own(obs, number)) for obs in trace]
        last = replace(
            mine[-1], kind="event", who="link", group=None, client=None, api=None, body={"name": "closed", "by": "client"}, correlation=None
        )
        dealt.append([*mine, *([last] if name == "kept" else [])])
    mixed = heapq.merge(*dealt, key=lambda obs: obs.at_ns)
    return [replace(obs, seq=seq, run=run) for seq, obs in enumerate(mixed)]


def _own(obs: Observation, number: int) -> int | None:
    return None if obs.connection is None else obs.connection + 100 * number


def long_stream(rows: int) -> Iterator[Observation]:
    """Yield a group of two members that beat, commit, and rebalance now and then, `rows` observations long; nothing is kept."""
    numbers, opening = count(), keeping()
    yield from (replace(obs, seq=next(numbers)) for obs in opening.trace)
    generation, ms = 2, 7_000
    while True:
        story = keeping()
        story.trace.clear()
        generation, ms = generation + 1, ms + 1_000
        story._correlation = 10 * generation
        story.at(ms)
        story.rebalance(generation, ms)
        for _ in range(20):
            ms += 500
            story.at(ms)
            story.beat("m0", member="m0-1", generation=generation, connection=1)
            story.beat("m1", member="m1-1", generation=generation, connection=2)
            story.commit(("t", 0, ms), client="m0", member="m0-1", generation=generation)
        for observation in story.trace:
            if (seq := next(numbers)) >= rows:
                return
            yield replace(observation, seq=seq)
