"""The topics of the upstream by its responses: their names by id, and which of them are new or changed.

Requests of KIP-848 name partitions by topic id; commits and records may use names. A trace must call each partition by one name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from groupproof.protocol.vocabulary import Api

__all__ = ["TopicNames", "topics_in"]

Body = Mapping[str, Any]
Topics = Mapping[str, tuple[str, int]]

_NO_ID: Final = frozenset({None, "", "00000000-0000-0000-0000-000000000000", "AAAAAAAAAAAAAAAAAAAAAA"})


def topics_in(api: Api, body: Body) -> dict[str, tuple[str, int]]:
    """Return the topics in a response, each with its id and its number of partitions."""
    if api is Api.METADATA:
        found = ((topic, len(topic["partitions"])) for topic in body.get("topics") or ())
    elif api is Api.CREATE_TOPICS:
        found = ((topic, topic.get("num_partitions", -1)) for topic in body.get("topics") or ())
    else:
        return {}
    named = ((topic, count) for topic, count in found if not topic.get("error_code") and topic.get("name"))
    return {topic["name"]: (str(topic["topic_id"]), count) for topic, count in named if topic.get("topic_id") not in _NO_ID and count >= 0}


class TopicNames:
    """The known topics. A partition keeps the name by which it was first called."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._topics: dict[str, tuple[str, int]] = {}

    def begin(self, topics: Topics) -> None:
        """Record the topics that exist when the tap begins."""
        self._topics |= topics
        self._learn(topics)

    def name_of(self, topic_id: str) -> str:
        """Return the name of a topic, or its id, which then stays its name: partitions already recorded under the id must keep it."""
        return self._names.setdefault(topic_id, topic_id)

    def learn(self, api: Api, body: Body) -> Topics:
        """Record a response. Return the topics that are new or changed."""
        topics = topics_in(api, body)
        self._learn(topics)
        for topic_id, name in _described(api, body):
            self._names.setdefault(topic_id, name)
        changed = {name: topic for name, topic in topics.items() if self._topics.get(name) != topic}
        self._topics |= changed
        return changed

    def _learn(self, topics: Topics) -> None:
        for name, (topic_id, _) in topics.items():
            self._names.setdefault(topic_id, name)


def _described(api: Api, body: Body) -> Iterator[tuple[str, str]]:
    """Yield the ids and names of the topics in a description of consumer groups."""
    if api is not Api.CONSUMER_GROUP_DESCRIBE:
        return
    members = (member for group in body.get("groups") or () for member in group.get("members") or ())
    for assignment in (member.get(kind) or {} for member in members for kind in ("assignment", "target_assignment")):
        for topic in assignment.get("topic_partitions") or ():
            if topic.get("topic_name"):
                yield str(topic["topic_id"]), topic["topic_name"]
