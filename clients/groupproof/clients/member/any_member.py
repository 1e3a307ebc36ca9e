"""What every member of a group is, whichever protocol it speaks: a pure machine whose parts find the coordinator, commit, fetch and close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.clients.member.answer_codes import error_of
from groupproof.protocol.rules.classic.member_reactions import Lapse

if TYPE_CHECKING:
    from groupproof.clients.member.consumer_settings import MemberSettings
    from groupproof.clients.member.coordinator_lookup import Finder
    from groupproof.clients.member.member_close import CleanClose
    from groupproof.clients.member.member_core import Core
    from groupproof.clients.member.offset_requests import OffsetRequests
    from groupproof.clients.member.pending_requests import RequestInFlight
    from groupproof.clients.member.policy import Policy
    from groupproof.clients.outputs import Callback, Fail, Node, Output
    from groupproof.protocol.rules.classic.member_reactions import Answer
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["AnyMember"]

_ELSEWHERE: Final = (15, 16)


class AnyMember(ABC):
    """One member. Every input returns the outputs it caused; inputs never raise for what a peer sent."""

    def __init__(self, core: Core, finder: Finder, offset_requests: OffsetRequests, clean_close: CleanClose) -> None:
        self._core, self._finder, self._offset_requests, self._clean_close = core, finder, offset_requests, clean_close
        self._has_reported_failure = False

    @abstractmethod
    def _react(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, now_ms: int) -> None:
        """Do what the table says of an answer, or of its absence."""

    @abstractmethod
    def _outcome(self, now_ms: int) -> list[Output]:
        """Let the parts go on after an input, and return what is to be done."""

    @abstractmethod
    def callback_done(self, now_ms: int) -> list[Output]:
        """Go on: the application's callback returned."""

    # What the member is

    @property
    def settings(self) -> MemberSettings:
        return self._core.settings

    @property
    def policy(self) -> Policy:
        return self._core.policy

    @property
    def member_id(self) -> str:
        return self._core.member_id

    @property
    def coordinator(self) -> Node | None:
        return self._core.coordinator

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """The partitions that the application holds, by the callbacks it was given."""
        return self._core.owned

    @property
    def calling(self) -> Callback | None:
        """The callback that runs now; the application polls nothing meanwhile."""
        return self._core.calling

    @property
    def failure(self) -> Fail | None:
        return self._core.failure

    # Inputs

    def tick(self, now_ms: int) -> list[Output]:
        """Give up what is overdue, and do what the timers ask for."""
        requests = self._core.requests
        if requests.any_in_flight:
            for pending in requests.overdue(now_ms):
                self._react(pending, Lapse.TIMED_OUT, None, now_ms)
        return self._outcome(now_ms)

    def response(self, request_id: int, message: GroupResponse, now_ms: int) -> list[Output]:
        """Take an answer; one to a request that is no longer in flight is ignored."""
        pending = self._core.requests.take(request_id)
        if pending is not None:
            answer = error_of(message)
            if answer not in _ELSEWHERE and pending.to is not None:
                self._finder.proven()
            self._react(pending, answer, message, now_ms)
        return self._outcome(now_ms)

    def unanswered(self, request_id: int, now_ms: int) -> list[Output]:
        """Take it that a request's connection is gone, or could not be made, before the answer came."""
        pending = self._core.requests.take(request_id)
        if pending is not None:
            self._react(pending, Lapse.DISCONNECTED, None, now_ms)
        return self._outcome(now_ms)

    def disconnected(self, to: Node, now_ms: int) -> list[Output]:
        """Take it that a connection to `to` is gone, after its requests got `unanswered` (CLIENT-05)."""
        if to == self._core.coordinator:
            self._core.forget_coordinator()
        return self._outcome(now_ms)

    def commit(self, token: Hashable, offsets: Mapping[TopicPartition, int], now_ms: int, *, is_sync: bool) -> list[Output]:
        """Commit for the application; ends in `Committed` with this token."""
        policy = self._core.policy
        shifted = {partition: offset + policy.commit_shift for partition, offset in offsets.items()} if policy.commit_shift else offsets
        self._offset_requests.commit(token, shifted, now_ms, mode="sync" if is_sync else "async")
        return self._outcome(now_ms)

    def callback_failed(self, now_ms: int) -> list[Output]:
        """Go on: the application's callback raised an error, which is the driver's to raise. A classic member goes on as after one that returned (Kafka's `ConsumerCoordinator`)."""
        return self.callback_done(now_ms)

    def fail(self, error: str, message: str, now_ms: int) -> list[Output]:
        """End the member's part for a reason of the driver's own: what the application's poll would raise."""
        self._core.fail(error, message)
        return self._outcome(now_ms)

    def fetch_offsets(self, token: Hashable, partitions: frozenset[TopicPartition], now_ms: int) -> list[Output]:
        """Ask for committed offsets; ends in `Fetched` with this token."""
        self._offset_requests.fetch(token, partitions, now_ms)
        return self._outcome(now_ms)

    def unsubscribe(self, now_ms: int, *, leave: bool | None = None) -> list[Output]:
        """Give everything back and leave; ends in `Closed(closed=False)`. `leave` forces it either way (KIP-1092)."""
        self._clean_close.begin(now_ms, closes=False, forced=leave)
        return self._outcome(now_ms)

    def close(self, now_ms: int, *, leave: bool | None = None) -> list[Output]:
        """Close for good; ends in `Closed(closed=True)`."""
        self._clean_close.begin(now_ms, closes=True, forced=leave)
        return self._outcome(now_ms)

    # Within

    def _tell_failure(self) -> None:
        core = self._core
        if core.failure is not None and not self._has_reported_failure:
            self._has_reported_failure = True
            core.out.append(core.failure)
