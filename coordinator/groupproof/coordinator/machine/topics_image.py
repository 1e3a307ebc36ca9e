"""The cluster's topics in the coordinator's view. The assignments of a group with server-side assignors depend on it. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["NO_TOPICS", "MayDescribe", "TopicImage", "TopicsImage"]

MayDescribe = Callable[[str, str], bool]
"""Returns whether a client, by its client id, may describe a topic."""


class TopicImage(NamedTuple):
    """One topic. A topic that is deleted and created again has another id."""

    topic_id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """All topics by name. `version` counts the changes; `names_version` is the version of the last change with a new topic."""

    by_name: Mapping[str, TopicImage] = field(default_factory=dict)
    version: int = 0
    names_version: int = 0

    def changed_to(self, by_name: Mapping[str, TopicImage]) -> TopicsImage:
        """Return the next image, with these topics."""
        has_new = any(name not in self.by_name or self.by_name[name].topic_id != topic.topic_id for name, topic in by_name.items())
        version = self.version + 1
        return TopicsImage(dict(by_name), version, version if has_new else self.names_version)

    def changed_names(self, other: TopicsImage) -> frozenset[str]:
        """Return the names of the topics that differ between both images."""
        names = self.by_name.keys() | other.by_name.keys()
        return frozenset(name for name in names if self.by_name.get(name) != other.by_name.get(name))


NO_TOPICS: Final = TopicsImage()
