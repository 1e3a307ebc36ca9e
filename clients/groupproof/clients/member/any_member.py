"""The base of every member, for any group protocol: a pure machine whose parts find the coordinator, commit, fetch offsets and close."""

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
    """One member. Each input returns the outputs it caused. An input never raises because of a peer's message."""

    def __init__(self, core: Core, finder: Finder, offset_requests: OffsetRequests, clean_close: CleanClose) -> None:
        self._core, self._finder, self._offset_requests, self._clean_close = core, finder, offset_requests, clean_close
        self._has_reported_failure = False

    @abstractmethod
    def _react(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, now_ms: int) -> None:
        """Apply the table's reaction to an answer or to a missing answer."""

    @abstractmethod
    def _outcome(self, now_ms: int) -> list[Output]:
        """Let the parts continue after an input. Return the outputs to perform."""

    @abstractmethod
    def callback_done(self, now_ms: int) -> list[Output]:
        """Continue after the application's callback returned."""

    # The member's properties

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
        """The partitions that the application holds, according to the callbacks that ran."""
        return self._core.owned

    @property
    def calling(self) -> Callback | None:
        """The running callback. The application does not poll until it returns."""
        return self._core.calling

    @property
    def failure(self) -> Fail | None:
        return self._core.failure

    # Inputs

    def tick(self, now_ms: int) -> list[Output]:
        """Time out overdue requests and run the timers that are due."""
        requests = self._core.requests
        if requests.any_in_flight:
            for pending in requests.overdue(now_ms):
                self._react(pending, Lapse.TIMED_OUT, None, now_ms)
        return self._outcome(now_ms)

    def response(self, request_id: int, message: GroupResponse, now_ms: int) -> list[Output]:
        """Handle an answer. Ignore it if its request is no longer in flight."""
        pending = self._core.requests.take(request_id)
        if pending is not None:
            answer = error_of(message)
            if answer not in _ELSEWHERE and pending.to is not None:
                self._finder.proven()
            self._react(pending, answer, message, now_ms)
        return self._outcome(now_ms)

    def unanswered(self, request_id: int, now_ms: int) -> list[Output]:
        """Handle a request whose connection was lost, or could not be opened, before the answer came."""
        pending = self._core.requests.take(request_id)
        if pending is not None:
            self._react(pending, Lapse.DISCONNECTED, None, now_ms)
        return self._outcome(now_ms)

    def disconnected(self, to: Node, now_ms: int) -> list[Output]:
        """Handle the loss of a connection to `to`. Its requests got `unanswered` before (CLIENT-05)."""
        if to == self._core.coordinator:
            self._core.forget_coordinator()
        return self._outcome(now_ms)

    def commit(self, token: Hashable, offsets: Mapping[TopicPartition, int], now_ms: int, *, is_sync: bool) -> list[Output]:
        """Commit for the application. The commit ends in a `CommitResult` with this token."""
        policy = self._core.policy
        shifted = {partition: offset + policy.commit_shift for partition, offset in offsets.items()} if policy.commit_shift else offsets
        self._offset_requests.commit(token, shifted, now_ms, mode="sync" if is_sync else "async")
        return self._outcome(now_ms)

    def callback_failed(self, now_ms: int) -> list[Output]:
        """Continue after the application's callback raised an error. The driver raises that error.

        A classic member continues as after a callback that returned (Kafka's `ConsumerCoordinator`).
        """
        return self.callback_done(now_ms)

    def fail(self, error: str, message: str, now_ms: int) -> list[Output]:
        """End the membership for an error that the driver found. The application's poll would raise it."""
        self._core.fail(error, message)
        return self._outcome(now_ms)

    def fetch_offsets(self, token: Hashable, partitions: frozenset[TopicPartition], now_ms: int) -> list[Output]:
        """Request committed offsets. The fetch ends in an `OffsetFetchResult` with this token."""
        self._offset_requests.fetch(token, partitions, now_ms)
        return self._outcome(now_ms)

    def unsubscribe(self, now_ms: int, *, leave: bool | None = None) -> list[Output]:
        """Release all partitions and leave. This ends in `CloseResult(closed=False)`. `leave` forces leaving or staying (KIP-1092)."""
        self._clean_close.begin(now_ms, closes=False, forced=leave)
        return self._outcome(now_ms)

    def close(self, now_ms: int, *, leave: bool | None = None) -> list[Output]:
        """Close permanently. This ends in `CloseResult(closed=True)`."""
        self._clean_close.begin(now_ms, closes=True, forced=leave)
        return self._outcome(now_ms)

    # Internals

    def _report_failure(self) -> None:
        core = self._core
        if core.failure is not None and not self._has_reported_failure:
            self._has_reported_failure = True
            core.out.append(core.failure)
