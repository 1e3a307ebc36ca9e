"""The third-party consumers of one task, with a thread each: librdkafka by confluent-kafka, and kafka-python.

They report an application's view: callbacks, commits, errors. The tap before the brokers records their frames.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import MemberOrder, TaskOrder, after
from groupproof.chaos.spark.members.member_api import MemberEvent, ThirdPartyConsumer
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["UNPLAYABLE", "ThreadHost"]

UNPLAYABLE: Final = frozenset({Action.FREEZE})
"""A single thread of a library cannot be frozen."""

_POLL_S: Final = 0.2
_STACK_BYTES: Final = 1 << 20
_END_S: Final = 30.0


class _Member(threading.Thread):
    """One member's thread: its actions at their times, and its poll loop in between."""

    def __init__(self, member: MemberOrder, host: ThreadHost) -> None:
        super().__init__(daemon=True, name=member.client)
        self._member, self._host, self._recorder = member, host, host.recorder
        self._consumer: ThirdPartyConsumer | None = None
        self._due_s = 0.0
        self._still_until_s = 0.0
        self.trouble: BaseException | None = None

    def run(self) -> None:
        try:
            actions = after(self._member.actions, self._host.order.skip_s) if self._host.order.skip_s else self._member.actions
            for action in actions:
                self._poll_until(action.at_s)
                if self._host.is_over:
                    break
                self._do(action)
            self._poll_until(float("inf"))
            self._end("left")
        except BaseException as error:  # the host raises it in the task's thread
            self.trouble = error

    def _poll_until(self, at_s: float) -> None:
        while not self._host.is_over and (left_s := at_s - self._host.elapsed_s()) > 0:
            if self._consumer is None or self._host.elapsed_s() < self._still_until_s:
                self._host.over.wait(min(left_s, _POLL_S))
            else:
                self._turn(self._consumer, min(left_s, _POLL_S))

    def _turn(self, consumer: ThirdPartyConsumer, timeout_s: float) -> None:
        try:
            consumer.poll(timeout_s)
            if self._host.order.rate and self._host.elapsed_s() >= self._due_s:
                self._due_s = self._host.elapsed_s() + 1 / self._host.order.rate
                self._recorder.committed(consumer.commit())
        except Exception as error:  # an application would end here, so its member is gone
            self._recorder.erred(type(error).__name__)
            self._recorder.event(self._member, "failed", is_up=False, detail=str(error))
            self._consumer = None
            consumer.die()

    def _do(self, action: MemberAction) -> None:
        if action.action in (Action.LEAVE, Action.RESTART):
            self._end("left")
        elif action.action in (Action.DIE, Action.CRASH):
            self._end("died")
        elif action.action is Action.STALL:
            self._still_until_s = self._host.elapsed_s() + action.lasts_s
            self._recorder.event(self._member, "stalled")
        if action.action in (Action.RESTART, Action.CRASH):
            self._host.over.wait(action.lasts_s)
        if action.action in (Action.START, Action.RESTART, Action.CRASH) and not self._host.is_over:
            self._recorder.event(self._member, "started", is_up=True)
            self._consumer = self._host.made(self._member, self._record_callback)

    def _end(self, name: str) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.leave() if name == "left" else consumer.die()
            self._recorder.event(self._member, name, is_up=False)

    def _record_callback(self, name: str, partitions: Sequence[TopicPartition], member_id: str | None) -> None:
        self._recorder.called(self._member, name, partitions)
        self._recorder.event(self._member, name, partitions=tuple(sorted(partitions)), member=member_id)


class ThreadHost:
    """All members of a task, as threads; `tick` is called every second, and returns whether the run continues."""

    def __init__(self, order: TaskOrder, recorder: TaskRecorder, elapsed_s: Callable[[], float], tick: Callable[[], bool]) -> None:
        self.order, self.recorder, self.elapsed_s, self._tick = order, recorder, elapsed_s, tick
        self.over = threading.Event()
        self._make = _maker(order)

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    def made(self, member: MemberOrder, tell: MemberEvent) -> ThirdPartyConsumer:
        """Return a new consumer for a member."""
        return self._make(member, tell)

    def run(self) -> None:
        """Run until the plan's end, or until the driver stops it; raise `NoRoom`, and errors of a member's thread that are not the client's."""
        threading.stack_size(_STACK_BYTES)
        members = [_Member(thread, self) for thread in self.order.members]
        for member in members:
            member.start()
        while self._tick() and self.elapsed_s() < self.order.duration_s and not any(thread.trouble for thread in members):
            time.sleep(self.order.seal_s)
        self.over.set()
        until = time.monotonic() + _END_S
        for member in members:
            member.join(max(0.0, until - time.monotonic()))
        for member in members:
            if member.trouble is not None:
                raise member.trouble


def _maker(order: TaskOrder) -> Callable[[MemberOrder, MemberEvent], ThirdPartyConsumer]:
    """Return the function that makes a consumer. The client's release is imported from its own folder, before any other package of its name."""
    if order.client.site is not None and order.client.site not in sys.path:
        sys.path.insert(0, order.client.site)
    settings: Mapping[str, Any] = order.settings
    if order.client.kind == "librdkafka":
        from groupproof.chaos.spark.members.librdkafka_member import LibrdkafkaMember

        return lambda member, tell: LibrdkafkaMember(member, order.topics, order.bootstrap, settings, tell)
    from groupproof.chaos.spark.members.kafka_python_member import KafkaPythonMember

    return lambda member, tell: KafkaPythonMember(member, order.topics, order.bootstrap, settings, tell)
