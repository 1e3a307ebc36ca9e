"""The brokers' topics during a replay: which topics exist, their ids, and when they were created or grew. Pure.

In the consumer protocol (KIP-848) assignments depend on the topics that the group's coordinator knows. Commits for unknown partitions are refused
before any group is asked, by the broker's metadata, which learn of a change first: `BrokerMetadataPublisher.onMetadataUpdate` begins with the cache
that `KafkaApis` uses, and ends with the coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from groupproof.coordinator.broker.topics import Topics
from groupproof.coordinator.broker.unknown_partitions import OFFSET_REQUESTS, OffsetRequest, existing_part, refused_wholly, with_unknown
from groupproof.coordinator.machine.topics_image import TopicImage

if TYPE_CHECKING:
    from groupproof.harness.judging.oracle.exchanges import History, TopicChange
    from groupproof.harness.judging.oracle.tolerance import Tolerance
    from groupproof.protocol.rules import Profile
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["TopicsSeen"]


class TopicsSeen:
    """The topics at one point of a replay. If the trace does not contain them, none is known and nothing is refused for them.

    `is_late`: at the last request the coordinator did not know a change that it should have known (CGX-16).
    """

    def __init__(self, history: History, profile: Profile, tolerance: Tolerance) -> None:
        self._topics = None if history.topics is None else _topics_with(history.topics)
        self._changes = list(history.topic_changes)
        self._changes_of_broker = list(history.topic_changes)
        self._fields = profile.fields
        self._known_after_ms, self._late_after_ms = tolerance.topics_ms + tolerance.late_topics_ms, tolerance.topics_ms
        self._is_put_off = False
        self.is_late = False
        self.images: Mapping[str, TopicImage] = history.topic_images

    def changes_until(
        self, ready_ms: float, seq: int, way: Callable[[int, int], int], next_due_ms: Callable[[], int | None] = lambda: None
    ) -> Iterator[int]:
        """Apply the changes that the coordinator knows at `ready_ms`, for a request that was answered as `seq`, and yield the time of each.

        Where the time is open, `way` chooses for each change: it receives the number of ways and the number of changes still to come.
        `next_due_ms` returns when the group's next timer fires: the timer uses the topics of that time.
        """
        self.is_late = False
        while self._changes and self._changes[0].begun_ms <= ready_ms and self._changes[0].begun_seq <= seq:
            change = self._changes[0]
            moments = self._moments(change, ready_ms, next_due_ms())
            known_ms = moments[way(len(moments), len(self._changes)) if len(moments) > 1 else 0]
            self._is_put_off = known_ms is None and ready_ms >= change.done_ms
            self.is_late = known_ms is None and ready_ms >= change.done_ms + self._late_after_ms
            if known_ms is None:
                return
            self._changes.pop(0)
            self.images = {name: image for name, image in {**self.images, **change.images}.items() if image.partitions}
            self._tell_broker(max(0, len(self._changes_of_broker) - len(self._changes)))
            yield known_ms

    def _moments(self, change: TopicChange, ready_ms: float, due_ms: int | None) -> list[int | None]:
        """Return when the coordinator can have learnt of the change, the likeliest first; None is later than the request.

        A coordinator that did not know it at one request probably does not know it at the next.
        """
        known_ms = int(min(change.done_ms, ready_ms))
        moments: list[int | None] = [known_ms]
        if ready_ms < change.done_ms + self._known_after_ms:
            moments.insert(0 if self._is_put_off or ready_ms < change.done_ms else 1, None)
        if due_ms is not None and change.begun_ms < due_ms <= known_ms:
            moments.append(
                int(change.begun_ms)
            )  # before the timer: a fenced member makes the coordinator count the topics anew (`consumerGroupFenceMembers`)
        return moments

    def asked_of_group(
        self, message: GroupRequest, ready_ms: float, seq: int, way: Callable[[int, int], int]
    ) -> tuple[GroupRequest, GroupResponse | None]:
        """Return the part of a request that the group is asked, and the whole answer where that is nothing.

        `way` chooses whether the broker knows a change of these topics that the coordinator does not know.
        """
        if self._topics is None or not isinstance(message, OFFSET_REQUESTS) or not all(topic.name for topic in message.topics):
            return message, None
        self._hear_first({topic.name for topic in message.topics}, ready_ms, seq, way)
        existing = self._existing(message)
        return existing, refused_wholly(message, existing)

    def _hear_first(self, names: AbstractSet[str], ready_ms: float, seq: int, way: Callable[[int, int], int]) -> None:
        """Let the broker learn of changes of the topics before the coordinator does, each with the changes before it."""
        heard = 0
        for count, change in enumerate(self._changes_of_broker, 1):
            if change.begun_ms > ready_ms or change.begun_seq > seq:
                break
            if names & change.images.keys():
                is_likely = ready_ms >= change.done_ms  # the brokers report it
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
        """Return a group's answer together with the results for unknown partitions."""
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
    topics = Topics(0)
    for name, count in partitions.items():
        topics.grow(name, count)
    return topics
