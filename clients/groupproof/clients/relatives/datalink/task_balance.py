"""Balances costs over capacities, so that the highest load is small: minimal if the search completes, otherwise the best found. Pure.

First greedy: each task, the most expensive first, goes to the worker that it loads least. On equal capacities this is at most a third above the
minimum, and closer with more tasks. Then, for few tasks, branch and bound from there, within a limit of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["SEARCHED_MAX", "STEPS_MAX", "balanced", "heaviest"]

SEARCHED_MAX: Final = 64
"""With more tasks than this the greedy placement is final."""

STEPS_MAX: Final = 5_000
"""The maximum of tried placements of single tasks. A dozen tasks on four workers take far fewer."""


def balanced(capacities: Mapping[str, float], costs: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """Place every task so that the highest load (cost over capacity) is small. It needs a worker; capacities are above 0."""
    workers = sorted(capacities)
    tasks = sorted(costs, key=lambda name: (-costs[name], name))
    search = _Search([capacities[worker] for worker in workers], [costs[task] for task in tasks])
    chosen = search.best()
    return {worker: tuple(task for task, place in zip(tasks, chosen, strict=True) if place == index) for index, worker in enumerate(workers)}


def heaviest(placement: Mapping[str, Sequence[str]], capacities: Mapping[str, float], costs: Mapping[str, float]) -> float:
    """Return the highest load of a worker: its total cost over its capacity."""
    return max(sum(costs[task] for task in tasks) / capacities[worker] for worker, tasks in placement.items())


class _Search:
    """The search over workers and tasks by number. Tasks are sorted by cost, the most expensive first."""

    def __init__(self, capacities: Sequence[float], costs: Sequence[float]) -> None:
        self._capacities, self._costs = capacities, costs
        self._steps = 0
        self._least = max(sum(costs) / sum(capacities), max(costs, default=0.0) / max(capacities))
        self._chosen = self._greedy()
        self._bound = self._load_of(self._chosen)

    def best(self) -> list[int]:
        if len(self._costs) <= SEARCHED_MAX and len(set(self._costs)) > 1:  # for equal costs the greedy placement is optimal
            self._place([], [0.0] * len(self._capacities))
        return self._chosen

    def _greedy(self) -> list[int]:
        loads = [0.0] * len(self._capacities)
        chosen: list[int] = []
        for cost in self._costs:
            place = min(range(len(loads)), key=lambda index: (loads[index] + cost) / self._capacities[index])
            loads[place] += cost
            chosen.append(place)
        return chosen

    def _load_of(self, chosen: Sequence[int]) -> float:
        loads = [0.0] * len(self._capacities)
        for place, cost in zip(chosen, self._costs, strict=True):
            loads[place] += cost
        return max(load / capacity for load, capacity in zip(loads, self._capacities, strict=True))

    def _place(self, chosen: list[int], loads: list[float]) -> None:
        """Try every place of the next task that can improve the best placement. Equal workers count once."""
        if len(chosen) == len(self._costs):
            self._chosen, self._bound = list(chosen), self._load_of(chosen)
            return
        cost, tried = self._costs[len(chosen)], set[tuple[float, float]]()
        for index in sorted(range(len(loads)), key=lambda worker: (loads[worker] + cost) / self._capacities[worker]):
            alike = loads[index], self._capacities[index]
            if alike in tried or (loads[index] + cost) / self._capacities[index] >= self._bound or self._is_over():
                continue
            tried.add(alike)
            self._steps += 1
            loads[index] += cost
            chosen.append(index)
            self._place(chosen, loads)
            chosen.pop()
            loads[index] = alike[0]

    def _is_over(self) -> bool:
        return self._steps >= STEPS_MAX or self._bound <= self._least * (1 + 1e-9)
