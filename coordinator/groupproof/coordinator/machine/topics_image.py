"""The topics of the cluster as a coordinator knows them: a group that assigns partitions itself is a function of this, too. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["NO_TOPICS", "MayDescribe", "TopicImage", "TopicsImage"]

MayDescribe = Callable[[str, str], bool]
"""Tells whether a client, by its client id, may see a topic."""


class TopicImage(NamedTuple):
    """One topic; a topic that is deleted and made again has another id."""

    topic_id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """All topics by name. `version` counts the changes, `names_version` is that of the last change that brought a new name."""

    by_name: Mapping[str, TopicImage] = field(default_factory=dict)
    version: int = 0
    names_version: int = 0

    def changed_to(self, by_name: Mapping[str, TopicImage]) -> TopicsImage:
        """Return the image after this one."""
        has_new = any(name not in self.by_name or self.by_name[name].topic_id != topic.topic_id for name, topic in by_name.items())
        version = self.version + 1
        return TopicsImage(dict(by_name), version, version if has_new else self.names_version)

    def changed_names(self, other: TopicsImage) -> frozenset[str]:
        """Return the names of the topics that are not the same in both."""
        names = self.by_name.keys() | other.by_name.keys()
        return frozenset(name for name in names if self.by_name.get(name) != other.by_name.get(name))


NO_TOPICS: Final = TopicsImage()
