"""A consumer's registration in ZooKeeper: topics and threads (kafka.consumer.TopicCount, TopicFilter)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from groupproof.clients.relatives.zookeeper.group_settings import WhiteList
from groupproof.clients.relatives.zookeeper.paths import Unreadable

__all__ = ["INTERNAL_TOPICS", "Registration", "read_registration", "thread_id", "thread_ids", "threads_of_all"]

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets"})
_STATIC: Final = "static"
_WHITE: Final = "white_list"
_BLACK: Final = "black_list"


def thread_id(consumer: str, thread: int) -> str:
    """Return a consumer thread's id. Threads count from 0 (ZK-10, DISC-46)."""
    return f"{consumer}-{thread}"


def thread_ids(consumer: str, threads: int) -> tuple[str, ...]:
    return tuple(thread_id(consumer, thread) for thread in range(threads))


@dataclass(frozen=True, slots=True)
class Registration:
    """A consumer's subscription: `topics` to threads. If `pattern` is not `static`, it is one regular expression to threads."""

    topics: tuple[tuple[str, int], ...]
    pattern: str = _STATIC

    @classmethod
    def of(cls, topics: Mapping[str, int] | WhiteList) -> Registration:
        """Return the registration of a consumer of these topics. Raise `ValueError` if the pattern is no regular expression."""
        if not isinstance(topics, WhiteList):
            return cls(tuple(topics.items()))
        regex = _tidied(topics.pattern)
        _compiled(regex)
        return cls(((regex, topics.threads),), _BLACK if topics.is_black else _WHITE)

    @property
    def is_by_pattern(self) -> bool:
        """Return whether a pattern selects the topics, so that the list of all topics is needed."""
        return self.pattern in (_WHITE, _BLACK) and bool(self.topics)

    def to_data(self, now_ms: int) -> bytes:
        """Return the content of the registration node (ZK-23, TIMER-37)."""
        subscription = dict(self.topics)
        return json.dumps(
            {"version": 1, "subscription": subscription, "pattern": self.pattern, "timestamp": str(now_ms)}, separators=(",", ":")
        ).encode()

    def threads(self, all_topics: Iterable[str], *, is_internal_excluded: bool) -> dict[str, int]:
        """Return the threads per topic. A pattern selects from `all_topics`, without internal ones if they are excluded (ZK-58)."""
        if not self.is_by_pattern:
            return dict(self.topics)
        regex, threads = self.topics[0]
        matches = _compiled(regex).fullmatch
        allowed = [topic for topic in all_topics if (matches(topic) is not None) == (self.pattern == _WHITE)]
        return {topic: threads for topic in allowed if not (is_internal_excluded and topic in INTERNAL_TOPICS)}


@lru_cache(maxsize=65_536)  # each member of a group reads the others' registrations
def read_registration(path: str, data: bytes) -> Registration:
    """Decode the content of a registration node. Raise `Unreadable`."""
    try:
        found = json.loads(data)
        pattern, subscription = found["pattern"], found["subscription"]
        return Registration(tuple((topic, int(threads)) for topic, threads in subscription.items()), pattern)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"error constructing TopicCount: {path} holds {data[:200]!r}") from error


def threads_of_all(registered: Mapping[str, Mapping[str, int]]) -> dict[str, tuple[str, ...]]:
    """Return each topic's threads in the whole group, sorted as strings (ZK-46). `registered` is consumer to topic to threads."""
    found: dict[str, list[str]] = {}
    for consumer, topics in registered.items():
        for topic, threads in topics.items():
            found.setdefault(topic, []).extend(thread_ids(consumer, threads))
    return {topic: tuple(sorted(ids)) for topic, ids in found.items()}


def _tidied(pattern: str) -> str:
    # TopicFilter: commas are alternatives; property files may add quotes and blanks
    return pattern.strip().replace(",", "|").replace(" ", "").lstrip("\"'").rstrip("\"'")


@lru_cache(maxsize=256)
def _compiled(regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex)
    except re.error as error:
        raise ValueError(f"{regex} is an invalid regex") from error
