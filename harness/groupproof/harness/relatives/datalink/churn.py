"""What happens to a group of workers in a run: drawn from a seed, the same for every assignor and hand-over. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from groupproof.harness.simulation.random_streams import Streams

if TYPE_CHECKING:
    from random import Random

__all__ = ["KINDS", "Event", "drawn"]

KINDS: Final[Mapping[str, str]] = {
    "leave": "a worker leaves in good order, and starts again later",
    "kill": "a worker's process ends at once, and is started again later",
    "cut": "a worker's network to the Managers is gone for a while",
    "add": "a task is added",
    "delete": "a task is deleted",
    "update": "a task's configuration is changed",
    "force": "an operator forces a rebalance",
    "switch": "the active Manager ends, and the standby becomes active",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happens at `at_ms`; `who` is a worker's number or a task's, `for_ms` how long a worker or a Manager is away."""

    at_ms: int
    kind: str
    who: int = 0
    for_ms: int = 0


def drawn(seed: int, *, kinds: Sequence[str], events: int, every_ms: int, workers: int) -> tuple[Event, ...]:
    """Draw `events` of these kinds, about `every_ms` apart; who is away is back before the next one."""
    random = Streams(seed).named("churn")
    return tuple(_event(random, number, kinds, every_ms, workers) for number in range(events))


def _event(random: Random, number: int, kinds: Sequence[str], every_ms: int, workers: int) -> Event:
    at_ms = (number + 1) * every_ms + random.randrange(every_ms // 10)
    for_ms = random.randrange(every_ms // 4, every_ms // 2)
    return Event(at_ms=at_ms, kind=kinds[number % len(kinds)], who=random.randrange(workers), for_ms=for_ms)
