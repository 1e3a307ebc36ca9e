"""Commits for partitions that were taken away before: what a zombie does to the progress of the new owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from groupproof.harness.folds.holding import TOLD_BY
from groupproof.harness.meters.meter import Figures, named_in
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["Commits"]

_TAKES = ("partitions_revoked", "partitions_lost")


class Commits:
    """Counts `commits`, `commits_after_revocation` (a partition in it was taken away, as the application was told before) and of those
    `commits_after_revocation_accepted`. What is committed within the callback is in time: a partition is away once the callback is done."""

    def __init__(self) -> None:
        self._going: dict[str, set[TopicPartition]] = {}
        self._away: dict[str, set[TopicPartition]] = {}
        self._late: set[ExchangeId] = set()
        self._figures = Figures()

    def feed(self, seen: Observation) -> None:
        if seen.client is None:
            return
        if seen.kind == "event" and seen.who in TOLD_BY:
            self._told(seen, seen.client, str(seen.body.get("name")))
        elif seen.api == Api.OFFSET_COMMIT.title and seen.kind == "request":
            self._asks(seen, seen.client)
        elif seen.api == Api.OFFSET_COMMIT.title and seen.kind == "response":
            self._hears(seen, seen.client)

    def _told(self, seen: Observation, client: str, name: str) -> None:
        if name in _TAKES:
            self._going.setdefault(client, set()).update(named_in(seen))
        elif name == "callback_done":
            self._away.setdefault(client, set()).update(self._going.pop(client, ()))
        elif name == "partitions_assigned":
            self._away.get(client, set()).difference_update(named_in(seen))

    def _asks(self, seen: Observation, client: str) -> None:
        self._figures.add("commits", 1, client)
        if {(topic, partition) for topic, partition, _ in seen.offsets} & self._away.get(client, set()):
            self._figures.add("commits_after_revocation", 1, client)
            self._late.add(seen.exchange_id)

    def _hears(self, seen: Observation, client: str) -> None:
        if seen.exchange_id in self._late:
            self._late.discard(seen.exchange_id)
            if not seen.error:
                self._figures.add("commits_after_revocation_accepted", 1, client)

    def result(self) -> Figures:
        return self._figures

    def state(self) -> dict[str, Any]:
        return {
            "going": {client: sorted(map(list, mine)) for client, mine in self._going.items()},
            "away": {client: sorted(map(list, mine)) for client, mine in self._away.items()},
            "late": sorted(map(list, self._late)), "figures": self._figures.to_json(),
        }  # fmt: skip

    @classmethod
    def resumed(cls, state: Mapping[str, Any]) -> Self:
        made = cls()
        made._going = {client: {(topic, partition) for topic, partition in mine} for client, mine in state["going"].items()}
        made._away = {client: {(topic, partition) for topic, partition in mine} for client, mine in state["away"].items()}
        made._late = {(connection, correlation) for connection, correlation in state["late"]}
        made._figures = Figures.from_json(state["figures"])
        return made
