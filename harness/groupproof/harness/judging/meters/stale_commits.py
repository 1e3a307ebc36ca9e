"""Counts commits for revoked partitions, by which a zombie damages the progress of the new owner."""

from __future__ import annotations

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.tracking.ownership_tracker import OwnershipTracker
from groupproof.harness.judging.meters.meter import Figures
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["Commits"]


class Commits:
    """Counts `commits`, `commits_after_revocation` (for a partition that the application had already lost) and, of those,
    `commits_after_revocation_accepted`. A commit within the callback is in time: a partition is gone once the callback has ended."""

    def __init__(self) -> None:
        self._hands = OwnershipTracker()
        self._late: UnderWay[Observation] = UnderWay()
        self._figures = Figures()

    def feed(self, obs: Observation) -> None:
        self._hands.follow(obs)
        if obs.client is None or obs.api != Api.OFFSET_COMMIT.title:
            return
        if obs.kind == "request":
            self._asks(obs, obs.client)
        elif obs.kind == "response" and self._late.answered(obs) and not obs.error:
            self._figures.add("commits_after_revocation_accepted", 1, obs.client)

    def _asks(self, obs: Observation, client: str) -> None:
        self._figures.add("commits", 1, client)
        if any(self._hands.is_away(client, (topic, partition)) for topic, partition, _ in obs.offsets):
            self._figures.add("commits_after_revocation", 1, client)
            self._late.ask(obs, obs)

    def result(self) -> Figures:
        return self._figures
