"""The topics that the records of groups tell of: their names, ids and partitions, as far as they stand there. Pure.

The records of a consumer group have ids for what its members own, and names for what they subscribe to. Which belongs to which a record of 4.0 says, and a
commit of newer releases; of others it follows where only one name is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["RecordedTopic", "matched_ids"]


class RecordedTopic(NamedTuple):
    """A topic; `topic_id` is None where nothing tells it. `commits` are by partition the lowest and the highest offset that a group has committed."""

    name: str
    topic_id: str | None
    partitions: int
    commits: Mapping[int, tuple[int, int]]


def matched_ids(names_of_ids: Iterable[tuple[str, frozenset[str]]], names: Mapping[str, str]) -> dict[str, str]:
    """Return names by topic id: those that are sure already, and those to which it comes by exclusion. Each id comes with names one of which is its own, once or more often."""
    candidates: dict[str, frozenset[str]] = {}
    for topic_id, possible in names_of_ids:
        candidates[topic_id] = candidates.get(topic_id, possible) & possible
    found = dict(names)
    while True:
        open_names = {topic_id: possible - set(found.values()) for topic_id, possible in candidates.items() if topic_id not in found}
        sure = next(((topic_id, next(iter(possible))) for topic_id, possible in open_names.items() if len(possible) == 1), None)
        if sure is None:
            return found
        found[sure[0]] = sure[1]
