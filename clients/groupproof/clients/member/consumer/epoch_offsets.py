"""Commits and offset fetches of a `consumer` member. Every attempt carries its member id and newest epoch (CGP-01 to CGP-10)."""

from __future__ import annotations

from typing import Final

from groupproof.clients.member.consumer.epoch_core import EpochCore
from groupproof.clients.member.member_core import NO_GENERATION
from groupproof.clients.member.offset_requests import OffsetRequest, OffsetRequests
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Reaction
from groupproof.protocol.vocabulary import ErrorCode, error_named
from groupproof.protocol.wire.messages import FetchGroup, OffsetFetchRequest

__all__ = ["EpochOffsetRequests"]

_OWN: Final = ("rebalance", "close")


class EpochOffsetRequests(OffsetRequests):
    """The commits and fetches under way. Commits continue while the member reconciles. Without a membership, nothing is committed (CGP-15)."""

    def __init__(self, core: EpochCore) -> None:
        super().__init__(core)
        self._member = core

    def settled(self, pending: RequestInFlight, answer: Answer, response: object, reaction: Reaction, now_ms: int) -> None:
        if Effect.RETRY_OWN in reaction:
            request = self.request_in_flight(pending.request_id)
            is_own = request is not None and request.mode in _OWN and self._member.is_member
            reaction = Reaction((Effect.BACK_OFF, Effect.RETRY) if is_own else (Effect.FAIL,), reaction.requirements)
        super().settled(pending, answer, response, reaction, now_ms)

    def _pause_ms(self, request: OffsetRequest) -> int:
        """Return a pause that grows with each failure in a row (`RetriableRequestState` is a `RequestState`)."""
        return self._core.backoff_ms(request.failures)

    def _auto_failed(self, request: OffsetRequest, now_ms: int) -> None:
        """Wait for the next interval.

        Java intends a retry after a pause. But it checks for a `RetriableCommitFailedException`, and an auto-commit ends with the plain error
        (`CommitRequestManager.maybeResetTimerWithBackoff`, 4.1.0).
        """

    def _is_held(self, request: OffsetRequest) -> bool:
        return False

    def _refusal(self) -> str | None:
        core = self._member
        if core.is_member or not core.is_managed or core.policy.commits_when_unstable:
            return None
        return error_named(ErrorCode.UNKNOWN_MEMBER_ID)

    def _committer(self) -> tuple[int, str, str | None]:
        core, kind = self._member, self._member.choices.commit_epoch
        epoch = core.generation
        if kind != "newest":
            epoch = {"first": core.first_generation, "none": NO_GENERATION, "previous": core.previous_generation}[kind]
        if not core.is_member or epoch == NO_GENERATION:
            return NO_GENERATION, "", None
        _, member_id, instance_id = super()._committer()
        return epoch, member_id, instance_id

    def _fetch_request(self, request: OffsetRequest) -> OffsetFetchRequest:
        core = self._member
        made = super()._fetch_request(request)
        if not core.is_member or core.choices.fetches_as == "nobody":
            return made
        groups = tuple(
            FetchGroup(group_id=group.group_id, member_id=core.member_id, member_epoch=core.epoch, topics=group.topics) for group in made.groups
        )
        return OffsetFetchRequest(groups=groups, require_stable=made.require_stable)
