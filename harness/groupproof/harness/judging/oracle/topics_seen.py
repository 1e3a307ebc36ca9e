"""The topics of the brokers as a walk through a group's history knows them: which there were, with their ids, and when they came or grew. Pure.

Groups that assign partitions themselves (KIP-848) are a function of the topics, as the group's coordinator knows them. Commits of partitions that there are
not are refused beside any group, by the metadata of the broker, which hear of a change first: `BrokerMetadataPublisher.onMetadataUpdate` begins with the
cache that `KafkaApis` looks into, and ends with the coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.broker.topics import Topics
from groupproof.coordinator.broker.unknown_partitions import OFFSET_REQUESTS, OffsetRequest, existing_part, refused_wholly, with_unknown
from groupproof.coordinator.machine.topics_image import TopicImage

if TYPE_CHECKING:
    from groupproof.harness.judging.oracle.exchanges import History, TopicChange
    from groupproof.protocol.rules import Profile
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["SPREAD_MS", "TopicsSeen"]

SPREAD_MS: Final = 1_000.0
"""How long a group's coordinator may know nothing of a topic that its broker tells of already: measured were 0.1 to 0.5 s (CGX-16)."""


class TopicsSeen:
    """The topics at one place of a walk; without a word of them in the trace, nothing is known and nothing is refused for them."""

    def __init__(self, history: History, profile: Profile) -> None:
        self._topics = None if history.topics is None else _topics_with(history.topics)
        self._changes = list(history.topic_changes)
        self._changes_of_broker = list(history.topic_changes)
        self._fields = profile.fields
        self._is_put_off = False
        self.images: Mapping[str, TopicImage] = history.topic_images

    def changes_until(
        self, ready_ms: float, seq: int, way: Callable[[int, int], int], next_due_ms: Callable[[], int | None] = lambda: None
    ) -> Iterator[int]:
        """Take up, one after the other, the changes that the coordinator knows of at `ready_ms`, for a request that was answered as `seq`, and yield when each can have come.

        Where that is open, `way` decides, for each change anew: it is asked with the number of ways and that of changes that are still to come.
        `next_due_ms` says when the group's next timer goes off: it finds the topics as they are by then.
        """
        while self._changes and self._changes[0].begun_ms <= ready_ms and self._changes[0].begun_seq <= seq:
            change = self._changes[0]
            moments = self._moments(change, ready_ms, next_due_ms())
            known_ms = moments[way(len(moments), len(self._changes)) if len(moments) > 1 else 0]
            self._is_put_off = known_ms is None and ready_ms >= change.done_ms
            if known_ms is None:
                return
            self._changes.pop(0)
            self.images = {name: image for name, image in {**self.images, **change.images}.items() if image.partitions}
            self._tell_broker(max(0, len(self._changes_of_broker) - len(self._changes)))
            yield known_ms

    def _moments(self, change: TopicChange, ready_ms: float, due_ms: int | None) -> list[int | None]:
        """Return when a request's coordinator can have heard of the change, the likeliest first; None is later than the request.

        Who knew nothing of it at one request is likely to know as little at the next.
        """
        known_ms = int(min(change.done_ms, ready_ms))
        moments: list[int | None] = [known_ms]
        if ready_ms < change.done_ms + SPREAD_MS:
            moments.insert(0 if self._is_put_off or ready_ms < change.done_ms else 1, None)
        if due_ms is not None and change.begun_ms < due_ms <= known_ms:
            moments.append(int(change.begun_ms))  # before the timer: who is fenced has the topics counted anew (`consumerGroupFenceMembers`)
        return moments

    def asked_of_group(
        self, message: GroupRequest, ready_ms: float, seq: int, way: Callable[[int, int], int]
    ) -> tuple[GroupRequest, GroupResponse | None]:
        """Return what of a request its group is asked, and the whole answer where it is asked nothing.

        `way` decides whether the broker has heard of a change of these topics that the coordinator knows nothing of.
        """
        if self._topics is None or not isinstance(message, OFFSET_REQUESTS) or not all(topic.name for topic in message.topics):
            return message, None
        self._hear_first({topic.name for topic in message.topics}, ready_ms, seq, way)
        existing = self._existing(message)
        return existing, refused_wholly(message, existing)

    def _hear_first(self, names: AbstractSet[str], ready_ms: float, seq: int, way: Callable[[int, int], int]) -> None:
        """Let the broker hear of changes of the topics before the coordinator does, each of them with those before it."""
        heard = 0
        for count, change in enumerate(self._changes_of_broker, 1):
            if change.begun_ms > ready_ms or change.begun_seq > seq:
                break
            if names & change.images.keys():
                is_likely = ready_ms >= change.done_ms  # the brokers tell of it
                if (way(2, count) == 0) is not is_likely:
                    break
                heard = count
        self._tell_broker(heard)

    def _tell_broker(self, changes: int) -> None:
        for change in self._changes_of_broker[:changes]:
            if self._topics is not None:
                _change(self._topics, change.images)
        del self._changes_of_broker[:changes]

    def completed(self, asked: GroupRequest, answer: GroupResponse) -> GroupResponse:
        """Return a group's answer with what is said of partitions that there are not."""
        if self._topics is None or not isinstance(asked, OFFSET_REQUESTS):
            return answer
        return with_unknown(asked, answer, existing=self._existing(asked), repeats_topics=bool(self._fields["deletions_repeat_topics"]))

    def _existing(self, message: OffsetRequest) -> OffsetRequest:
        assert self._topics is not None, "without topics nothing is refused"
        return existing_part(message, self._topics, by_partition=bool(self._fields["commits_check_partitions"]))


def _change(topics: Topics, images: Mapping[str, TopicImage]) -> None:
    for name, image in images.items():
        if image.partitions:
            topics.grow(name, image.partitions)
        else:
            topics.delete(name)


def _topics_with(partitions: Mapping[str, int]) -> Topics:
    """Return the topics that the broker has."""
    topics = Topics(0)
    for name, count in partitions.items():
        topics.grow(name, count)
    return topics
