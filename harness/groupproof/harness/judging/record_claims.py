"""Records that a shim reports, compared with the client's next Fetch: after a record, a client asks for the next offset. Pure.

If a client reports records up to an offset, and its later Fetch requests never ask beyond that, it did not get them. The shim made the offsets up,
or counted wrongly, and what rests on them proves nothing about the client.

A single Fetch from the same offset as before proves nothing. A client that fetches in another thread than it polls may have sent it before the
records reached the application (Java's `AsyncKafkaConsumer`, which drops duplicates).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["refuted_records"]

_FETCH, _JOIN = Api.FETCH.title, Api.JOIN_GROUP.title
_FETCHES_MIN: Final = 2
"""The number of requests after a reported record that must ask for an older one, if none of them goes beyond earlier requests."""


@dataclass(slots=True)
class _Position:
    """One partition: the newest reported record, the largest offset asked for (before the assignment was reported, at all, before the report,
    since it), and the number of requests since it.
    """

    reported: int = -1
    asked_unassigned: int = -1
    asked: int = -1
    asked_before: int = -1
    asked_since: int = -1
    fetches_since: int = 0

    @property
    def is_refuted(self) -> bool:
        has_gone_on = self.asked_since > self.asked_before or self.fetches_since >= _FETCHES_MIN
        return self.reported >= 0 and has_gone_on and 0 <= self.asked_since <= self.reported and self.asked <= self.reported


def refuted_records(trace: Trace) -> Iterator[str]:
    """Yield a sentence for each client and partition whose reported records contradict the client's own Fetch requests.

    A rejoin starts afresh, after what was refuted before is reported: a member may then start at an older committed offset. So does an assignment,
    because the shim may report earlier records after the JoinGroup. But the client may have fetched before its assignment is reported (kafka-node).
    """
    positions: dict[tuple[str, str, int], _Position] = {}
    for obs in trace:
        if obs.client is None:
            continue
        is_assigned = obs.who == "shim" and obs.body.get("name") == "partitions_assigned"
        if is_assigned or (obs.kind == "request" and obs.api == _JOIN):
            before = {key: positions.pop(key) for key in list(positions) if key[0] == obs.client}
            yield from _sentences(before)
            if is_assigned:
                positions |= {key: _Position(asked_unassigned=position.asked) for key, position in before.items()}
        elif obs.kind == "request" and obs.api == _FETCH:
            _follow_fetch(positions, obs, obs.client)
        elif obs.who == "shim" and obs.body.get("name") == "records_consumed":
            _follow_records(positions, obs, obs.client)
    yield from _sentences(positions)


def _sentences(positions: Mapping[tuple[str, str, int], _Position]) -> Iterator[str]:
    for (client, topic, partition), position in positions.items():
        if position.is_refuted:
            yield (
                f"records of {topic}-{partition} were told up to offset {position.reported}, yet {client} never asked for one beyond {position.asked_since}"
            )


def _follow_fetch(positions: dict[tuple[str, str, int], _Position], fetch: Observation, client: str) -> None:
    for topic, partition, offset in fetch.offsets:
        position = positions.setdefault((client, topic, partition), _Position())
        position.asked = max(position.asked, offset)
        position.asked_since = max(position.asked_since, offset)
        position.fetches_since += 1


def _follow_records(positions: dict[tuple[str, str, int], _Position], event: Observation, client: str) -> None:
    for partition in event.body.get("partitions") or ():
        position = positions.setdefault((client, partition["topic"], partition["partition"]), _Position())
        if partition.get("maxOffset", -1) > position.reported:
            position.reported, position.asked_before = partition["maxOffset"], max(position.asked, position.asked_unassigned)
            position.asked_since, position.fetches_since = -1, 0
