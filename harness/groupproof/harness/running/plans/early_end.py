"""Why the steps of a plan end before their time: nothing new can come of them."""

from __future__ import annotations

from collections.abc import Callable

from groupproof.harness.judging.foreign_assignors import ForeignAssignors, shared_assignors
from groupproof.harness.model.plan import Plan
from groupproof.protocol.trace import Observation

__all__ = ["EarlyEnd"]


class EarlyEnd:
    """Takes each observation of a run, and calls `stop` once there is a `reason` to end it: a flood, or members that cannot be in one group."""

    def __init__(self, plan: Plan, *, observations_max: int, stop: Callable[[], None]) -> None:
        self.reason = ""
        self._observations_max, self._stop = observations_max, stop
        self._assignors = ForeignAssignors(shared_assignors(plan))

    def feed(self, obs: Observation) -> None:
        self.reason = self.reason or self._found(obs)
        if self.reason:
            self._stop()

    def _found(self, obs: Observation) -> str:
        if obs.seq >= self._observations_max:
            return f"the end of a flood of more than {self._observations_max} observations"
        lack = self._assignors.feed(obs)
        return f"members that can be in one group: {lack}" if lack else ""
