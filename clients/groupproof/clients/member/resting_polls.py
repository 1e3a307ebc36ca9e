"""The application's poll of a member at rest, and the commit that it may begin, without the steps in which a member looks for more to do. Pure.

A poll at rest notes that it came, and commits the positions if the interval is over. Nothing else of the member changes, so that it rests on, and so does the answer
to that commit if it names no error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupproof.clients.member.answer_codes import error_of
from groupproof.protocol.vocabulary import MemberState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupproof.clients.member.heartbeat_timers import Heartbeats
    from groupproof.clients.member.member_close import CleanClose
    from groupproof.clients.member.member_core import Core
    from groupproof.clients.member.offset_requests import OffsetRequests
    from groupproof.clients.member.rebalance import Joining
    from groupproof.clients.member.resting_beats import RestingBeats
    from groupproof.clients.outputs import Send
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import OffsetCommitResponse

__all__ = ["RestingPolls"]


class RestingPolls:
    """Polls a member that `beats` says is at rest."""

    def __init__(
        self, core: Core, heartbeats: Heartbeats, offset_requests: OffsetRequests, joining: Joining, clean_close: CleanClose, beats: RestingBeats
    ) -> None:
        self._core, self._heartbeats, self._offset_requests, self._joining = core, heartbeats, offset_requests, joining
        self._clean_close, self.beats = clean_close, beats

    def is_at_rest(self, now_ms: int) -> bool:
        """Tell whether a poll finds nothing to do but to commit, and to send the heartbeat if that is due."""
        core = self._core
        if core.state is not MemberState.STABLE or (self.beats.message is None and core.requests.in_flight):
            return False
        session_ms = core.session_ms
        if (session_ms is not None and now_ms >= session_ms) or self._clean_close.stage is not None:
            return False
        return self._joining.is_idle and self._joining.only_waits() and self._offset_requests.may_rest and self.beats.is_resting()

    def is_beat_due(self, now_ms: int) -> bool:
        beats = self._heartbeats
        return now_ms >= beats.due_ms and beats.in_flight is None

    def poll(self, now_ms: int, positions: Mapping[TopicPartition, int]) -> Send | None:
        """Take note of the poll; return the commit to send, if one is due."""
        self._core.positions = positions
        self._heartbeats.polled(now_ms)
        return self._offset_requests.commit_at_rest(now_ms)

    def next_poll_ms(self) -> int | None:
        """Return when a poll has something to do, of a member that is at rest."""
        return self._offset_requests.next_poll_at_rest_ms()

    def committed(self, request_id: int, answer: OffsetCommitResponse, now_ms: int) -> bool:
        """Take the answer to the commit; return False, with nothing done, where the member may do more than to take note of it."""
        beats, core = self._heartbeats, self._core
        session_ms, poll_ms = core.session_ms, beats.poll_ends_ms
        if self.beats.message is None or self.is_beat_due(now_ms) or (session_ms is not None and now_ms >= session_ms):
            return False
        if (poll_ms is not None and now_ms >= poll_ms) or error_of(answer):
            return False
        return self._offset_requests.committed_at_rest(request_id)
