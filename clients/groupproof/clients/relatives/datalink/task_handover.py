"""The incremental hand-over: a moving task stops in one generation and starts in the next; no other task stops (PLAN-02). Pure.

As in Kafka's incremental cooperative rebalancing (KIP-415, KIP-429), a task that another worker still runs stays unassigned in this
generation. A worker that stopped a task joins again at once, and then the task is free.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupproof.clients.relatives.datalink.placement import Candidate, Placement

__all__ = ["in_this_generation"]


def in_this_generation(target: Placement, workers: Iterable[Candidate]) -> Placement:
    """Return the part of the target that can start now: tasks that their worker runs already, and tasks that nobody runs."""
    runners: dict[str, set[str]] = {}
    for worker in workers:
        for task in worker.status.running:
            runners.setdefault(task, set()).add(worker.member_id)
    return {member_id: tuple(task for task in tasks if runners.get(task, set()) <= {member_id}) for member_id, tasks in target.items()}
