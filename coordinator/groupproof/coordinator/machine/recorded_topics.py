"""The topics in the records of groups: their names, ids and partitions, as far as the records contain them. Pure.

The records of a consumer group have ids for owned partitions and names for subscriptions. A record of 4.0, or a commit of a newer release, gives the
name of an id. For other ids the name follows by exclusion, where only one name is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["RecordedTopic", "matched_ids"]


class RecordedTopic(NamedTuple):
    """A topic. `topic_id` is None where no record gives it. `commits` are by partition the lowest and the highest committed offset."""

    name: str
    topic_id: str | None
    partitions: int
    commits: Mapping[int, tuple[int, int]]


def matched_ids(names_of_ids: Iterable[tuple[str, frozenset[str]]], names: Mapping[str, str]) -> dict[str, str]:
    """Return names by topic id: `names`, and the names found by exclusion.

    An id can occur several times, each time with candidates that include its name.
    """
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
