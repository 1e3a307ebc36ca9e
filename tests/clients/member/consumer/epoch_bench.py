"""One member machine of the `consumer` protocol, and a scripted coordinator that answers what the test says, at the time it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import Callback, Drop, Fail, Output, Send
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    Coordinator,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FindCoordinatorResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
)

__all__ = ["BEAT", "COMMIT", "FETCH", "FIND", "INTERVAL_MS", "NODE", "TOPIC_ID", "EpochBench", "assignment", "parts"]

BEAT, COMMIT, FETCH, FIND = Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR
INTERVAL_MS = 1_000
NODE = Coordinator(key="g", node_id=1, host="broker-1", port=9092)
TOPIC_ID, OTHER_ID = "id-of-t", "id-of-u"
TOPICS = Cluster(partitions={"t": 4, "u": 2}, names={TOPIC_ID: "t", OTHER_ID: "u"})


class EpochBench:
    """`settings` are the member's; what it asks for waits until the test answers it."""

    def __init__(self, policy: Policy = REFERENCE, *, topics_known: Cluster = TOPICS, **settings: Any) -> None:
        wanted: dict[str, Any] = {"group": "g", "topics": ("t",), "by_epochs": True, "max_poll_interval_ms": 30_000, "auto_commit": False}
        self.member = EpochMember(MemberSettings(**(wanted | settings)), policy=policy)
        self.now = 0
        self.positions: dict[TopicPartition, int] = {}
        self.waiting: list[Send] = []
        self.sent: list[tuple[int, Any]] = []
        self.callbacks: list[Callback] = []
        self.course: list[str] = []
        self.others: list[Output] = []
        self.do(self.member.metadata(topics_known, 0))

    # Driving

    def do(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.waiting.append(output)
                self.sent.append((self.now, output.message))
                self.course.append(output.message.api.title)
            elif isinstance(output, Callback):
                self.callbacks.append(output)
                self.course.append(output.kind.value)
            else:
                self.others.append(output)
                if isinstance(output, Drop):
                    self.waiting = [send for send in self.waiting if send.to != output.to]

    def poll(self) -> None:
        self.do(self.member.poll(self.now, self.positions))

    def called(self) -> Callback:
        """Let the application's callback return."""
        callback = self.callbacks.pop(0)
        self.do(self.member.callback_done(self.now))
        return callback

    def poll_through(self) -> list[Callback]:
        """Poll, and let every callback return, until nothing more happens."""
        done = []
        while True:
            before = len(self.course)
            self.poll()
            while self.callbacks:
                done.append(self.called())
            if len(self.course) == before:
                return done

    def advance(self, ms: int, *, polling: bool = False) -> None:
        """Let time pass, ticking at each deadline (and polling, for an application that does)."""
        end = self.now + ms
        while True:
            due = min((at for at in (self.member.next_deadline_ms(), self.member.next_poll_ms() if polling else None) if at is not None), default=end)
            if due > end:
                break
            self.now = max(self.now, due)
            self.do(self.member.tick(self.now))
            if polling:
                self.poll_through()
            deadline = self.member.next_deadline_ms()
            assert deadline is None or deadline > self.now, "a tick that leaves something due would spin"
            if self.now == end:
                break
        self.now = end

    # Requests

    def take(self, api: Api) -> Send:
        found = next((send for send in self.waiting if send.message.api is api), None)
        assert found is not None, f"no {api.title} waits for an answer; {[send.message.api.title for send in self.waiting]} do"
        self.waiting.remove(found)
        return found

    def waits(self, api: Api) -> bool:
        return any(send.message.api is api for send in self.waiting)

    def messages(self, api: Api) -> list[Any]:
        return [message for _, message in self.sent if message.api is api]

    def message(self, api: Api) -> Any:
        """Return the newest request of this API."""
        return self.messages(api)[-1]

    def times(self, api: Api) -> list[int]:
        return [at for at, message in self.sent if message.api is api]

    def count(self, api: Api) -> int:
        return len(self.times(api))

    @property
    def beat(self) -> ConsumerGroupHeartbeatRequest:
        """The newest heartbeat."""
        found: ConsumerGroupHeartbeatRequest = self.message(BEAT)
        return found

    @property
    def beats(self) -> list[ConsumerGroupHeartbeatRequest]:
        return self.messages(BEAT)

    @property
    def failures(self) -> list[Fail]:
        return [output for output in self.others if isinstance(output, Fail)]

    def of(self, kind: type[Any]) -> list[Any]:
        return [output for output in self.others if isinstance(output, kind)]

    # Answers

    def answer(self, api: Api, error: int = 0, **fields: Any) -> None:
        """Answer the oldest request of this API that waits."""
        sent = self.take(api)
        self.do(self.member.response(sent.request_id, _answer(sent.message, error, fields), self.now))

    def beaten(self, epoch: int | None = None, *partitions: int, error: int = 0, **fields: Any) -> None:
        """Answer the heartbeat under way, with the partitions of `t` where some are named."""
        if partitions:
            fields["assignment"] = assignment(*partitions)
        self.answer(BEAT, error, member_epoch=(self.member.generation if epoch is None else epoch) if not error else 0, **fields)

    def lose(self, api: Api) -> None:
        """Lose the connection with the oldest request of this API on it."""
        sent = self.take(api)
        self.do(self.member.unanswered(sent.request_id, self.now))
        if sent.to is not None:
            self.do(self.member.disconnected(sent.to, self.now))

    # Ways to a state

    def joining(self) -> None:
        """The first heartbeat is sent."""
        self.poll()
        self.answer(FIND)
        assert self.waits(BEAT)

    def joined(self, *partitions: int, epoch: int = 1) -> None:
        """The member owns these partitions of `t`, and has acknowledged them."""
        self.joining()
        self.answer(BEAT, member_epoch=epoch, assignment=assignment(*partitions))
        self.poll_through()
        if self.waits(BEAT):
            self.beaten(epoch)

    def next_beat(self) -> ConsumerGroupHeartbeatRequest:
        """Wait for the next heartbeat."""
        self.advance(INTERVAL_MS)
        assert self.waits(BEAT)
        return self.beat


def parts(*indexes: int) -> frozenset[TopicPartition]:
    """Return these partitions of `t`."""
    return frozenset(("t", index) for index in indexes)


def assignment(*partitions: int, topic_id: str = TOPIC_ID) -> ConsumerAssignment:
    """Return an assignment of these partitions, of none where there are none."""
    return ConsumerAssignment(topic_partitions=(TopicPartitions(topic_id=topic_id, partitions=partitions),) if partitions else ())


def _answer(request: Any, error: int, fields: dict[str, Any]) -> Any:
    """Return an answer with `error` where its API puts it; a commit's goes to every partition."""
    if request.api is BEAT:
        success = {} if error else {"heartbeat_interval_ms": INTERVAL_MS, "member_id": request.member_id}
        return ConsumerGroupHeartbeatResponse(**({"error_code": error} | success | fields))
    if request.api is FIND:
        return FindCoordinatorResponse(coordinators=(replace(NODE, error_code=error),))
    if request.api is COMMIT:
        topics = (
            (topic.name, tuple(CommittedPartition(partition_index=part.partition_index, error_code=error) for part in topic.partitions))
            for topic in request.topics
        )
        return OffsetCommitResponse(topics=tuple(CommittedTopic(name=name, partitions=partitions) for name, partitions in topics))
    (group,) = request.groups
    found = tuple(FetchedTopic(name=topic.name, partitions=tuple(FetchedPartition(partition_index=index, committed_offset=7) for index in topic.partition_indexes))
                  for topic in group.topics)  # fmt: skip
    return OffsetFetchResponse(groups=(FetchedGroup(group_id="g", error_code=error, topics=() if error else found),))
