"""Commits and offset fetches: requests that are retried until they succeed, fail, or time out.

Kafka's ConsumerCoordinator: sync commits and fetches retry after 14, 15, 16, 7 and a lost connection. Async commits are sent once (CLIENT-66 to
CLIENT-70, CLIENT-79).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from groupproof.clients.member.member_core import NO_GENERATION, Core, answer_named
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.outputs import CommitResult, OffsetFetchResult
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Reaction
from groupproof.protocol.vocabulary import Api, ErrorCode, MemberState, TopicPartition, error_named
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

__all__ = ["OFFSET_REQUESTS_MAX", "OffsetRequest", "OffsetRequests"]

OFFSET_REQUESTS_MAX: Final = 2_000
"""The maximum of commits and fetches under way. One more ends with an error."""

_MANAGED: Final = ("sync", "async", "auto", "rebalance", "close")
_INTERNAL_MODES: Final = ("rebalance", "close")


@dataclass(slots=True, kw_only=True)
class OffsetRequest:
    """A commit or an offset fetch, until it ends."""

    token: Hashable
    mode: str  # sync, async, auto, rebalance, close; fetch
    offsets: Mapping[TopicPartition, int]
    deadline_ms: int
    not_before_ms: int = 0
    request_id: int | None = None
    failures: int = 0

    @property
    def api(self) -> Api:
        return Api.OFFSET_FETCH if self.mode == "fetch" else Api.OFFSET_COMMIT

    @property
    def is_persistent(self) -> bool:
        return self.mode not in ("async", "auto")


class OffsetRequests:
    """The commits and fetches under way, in the order of the calls."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.under_way: list[OffsetRequest] = []
        self._auto_ms: int | None = None
        self._auto_committed: dict[TopicPartition, int] = {}
        self._commits = 0

    @property
    def is_idle(self) -> bool:
        return not self.under_way

    def is_committing(self, token: Hashable) -> bool:
        return bool(self.under_way) and any(request.token == token and request.mode != "fetch" for request in self.under_way)

    @property
    def has_commit_in_flight(self) -> bool:
        return any(request.request_id is not None and request.mode in _MANAGED for request in self.under_way)

    def own_positions(self) -> dict[TopicPartition, int]:
        """Return the positions of the owned partitions. A client that also commits released partitions gets every known position."""
        core = self._core
        shift = core.policy.commit_shift
        if core.policy.commit_wavers:
            self._commits += 1
            shift -= self._commits % 2
        return {partition: offset + shift for partition, offset in core.positions.items() if partition in core.owned or core.policy.commits_unowned}

    def commit(self, token: Hashable, offsets: Mapping[TopicPartition, int], now_ms: int, *, mode: str, timeout_ms: int | None = None) -> None:
        """Commit `offsets`. The commit ends in a `CommitResult`; modes rebalance and close are internal and have no result.

        Empty `offsets` succeed at once without a request (ConsumerCoordinator.commitOffsetsSync: `if (offsets.isEmpty())`).
        """
        if offsets:
            self._add(token, offsets, now_ms, mode, timeout_ms)
        else:
            self._report(OffsetRequest(token=token, mode=mode, offsets={}, deadline_ms=now_ms), None)

    def fetch(self, token: Hashable, partitions: frozenset[TopicPartition], now_ms: int) -> None:
        """Request committed offsets. The fetch ends in an `OffsetFetchResult`."""
        self._add(token, dict.fromkeys(partitions, NO_GENERATION), now_ms, "fetch", None)

    def _add(self, token: Hashable, offsets: Mapping[TopicPartition, int], now_ms: int, mode: str, timeout_ms: int | None) -> None:
        timeout_ms = self._core.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        request = OffsetRequest(token=token, mode=mode, offsets=dict(offsets), deadline_ms=now_ms + timeout_ms)
        if len(self.under_way) >= OFFSET_REQUESTS_MAX:
            self._report(request, f"TOO_MANY_REQUESTS ({OFFSET_REQUESTS_MAX} are under way)")
            return
        self.under_way.append(request)

    def auto_commit(self, now_ms: int) -> None:
        """Commit the positions if auto.commit.interval.ms has passed and no auto-commit is under way. Only polls call this."""
        core = self._core
        if not core.settings.auto_commit or core.state is not MemberState.STABLE:
            return
        if self._auto_ms is None:
            self._auto_ms = now_ms + self._auto_interval_ms
        if now_ms < self._auto_ms or self.is_committing("auto"):
            return
        self._auto_ms = now_ms + self._auto_interval_ms
        positions = self.own_positions()
        if positions and not (core.policy.commits_each_batch and positions == self._auto_committed):
            self._auto_committed = positions
            self.commit("auto", positions, now_ms, mode="auto")

    @property
    def _auto_interval_ms(self) -> int:
        return 0 if self._core.policy.commits_each_batch else self._core.settings.auto_commit_interval_ms

    def step(self, now_ms: int) -> None:
        """Send the requests that can be sent, and end those that timed out."""
        for request in tuple(self.under_way):
            if request.request_id is None:
                self._try(request, now_ms)

    def next_ms(self) -> int | None:
        """Return when `step` has something to do, apart from answers and a new coordinator."""
        if not self.under_way:
            return None
        has_coordinator = self._core.has_coordinator
        waiting = [request for request in self.under_way if request.request_id is None and not self._is_held(request)]
        return min((request.not_before_ms if has_coordinator else request.deadline_ms for request in waiting), default=None)

    def next_poll_ms(self) -> int | None:
        """Return when a poll makes the next auto-commit."""
        is_waiting = self._core.settings.auto_commit and not self.is_committing("auto") and not self._core.policy.commits_each_batch
        return self._auto_ms if is_waiting and self._core.state is MemberState.STABLE else None

    def settled(self, pending: RequestInFlight, answer: Answer, response: object, reaction: Reaction, now_ms: int) -> None:
        request = self.request_in_flight(pending.request_id)
        if request is None or Effect.IGNORE in reaction:  # ignored: keep waiting for the answer
            return
        request.request_id = None
        if Effect.ACCEPT in reaction:
            self._end(request, None, response)
        elif Effect.RETRY in reaction and (request.is_persistent or self._core.policy.commits_outlive_membership):
            request.failures += 1
            request.not_before_ms = now_ms + (self._pause_ms(request) if Effect.BACK_OFF in reaction else 0)
        else:
            self._end(request, answer_named(answer))
            self._auto_failed(request, now_ms)

    def request_in_flight(self, request_id: int) -> OffsetRequest | None:
        """Return the commit or fetch that this request in flight belongs to."""
        return next((request for request in self.under_way if request.request_id == request_id), None)

    def _try(self, request: OffsetRequest, now_ms: int) -> None:
        core = self._core
        if core.failure is not None:
            self._end(request, core.failure.error)
        elif now_ms >= request.deadline_ms:
            self._end(request, "REQUEST_TIMED_OUT")
        elif self._is_held(request):
            return
        elif request.mode in _MANAGED and (refusal := self._refusal()) is not None:
            if core.policy.commits_outlive_membership:
                request.not_before_ms = now_ms + core.backoff_ms()
            else:
                self._end(request, refusal)
        elif core.has_coordinator and now_ms >= request.not_before_ms:
            message = self._commit_request(request) if request.api is Api.OFFSET_COMMIT else self._fetch_request(request)
            timeout_ms = min(core.settings.request_timeout_ms, request.deadline_ms - now_ms)
            request.request_id = core.send(message, now_ms, timeout_ms=timeout_ms)
            if core.policy.commit_reported == "sent" and request.api is Api.OFFSET_COMMIT:
                self._end(request, None)

    def _is_held(self, request: OffsetRequest) -> bool:
        core = self._core
        is_joining = core.is_managed and core.state in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)
        return is_joining and core.policy.commits_while_joining == "held" and request.mode in _MANAGED

    def _refusal(self) -> str | None:
        """Return why a commit must not be sent. It fails locally if the member is not STABLE (CLIENT-70)."""
        core = self._core
        if core.policy.commits_when_unstable or core.state is MemberState.STABLE or not core.is_managed:
            return None
        if core.state is not MemberState.UNJOINED:
            return error_named(ErrorCode.REBALANCE_IN_PROGRESS)
        return error_named(ErrorCode.ILLEGAL_GENERATION if core.member_id else ErrorCode.UNKNOWN_MEMBER_ID)

    def _commit_request(self, request: OffsetRequest) -> OffsetCommitRequest:
        generation_id, member_id, instance_id = self._committer()
        by_topic = groupby(sorted(request.offsets.items()), key=lambda item: item[0][0])
        return OffsetCommitRequest(
            group_id=self._core.settings.group,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=tuple(
                CommitTopic(
                    name=topic,
                    partitions=tuple(CommitPartition(partition_index=index, committed_offset=at) for (_, index), at in offsets),
                )
                for topic, offsets in by_topic
            ),
        )

    def _committer(self) -> tuple[int, str, str | None]:
        """Return the generation, member id and instance id of the commit."""
        core, kind = self._core, self._core.policy.commit_generation
        if kind == "current":
            return core.generation, core.member_id, core.instance_id if core.member_id else None
        generation_id = {"previous": core.previous_generation, "none": NO_GENERATION}[kind]
        return generation_id, core.member_id if kind != "none" else "", core.instance_id if core.member_id else None

    def _fetch_request(self, request: OffsetRequest) -> OffsetFetchRequest:
        by_topic = groupby(sorted(request.offsets), key=lambda partition: partition[0])
        topics = tuple(FetchTopic(name=topic, partition_indexes=tuple(index for _, index in item)) for topic, item in by_topic)
        group = FetchGroup(group_id=self._core.settings.group, topics=topics)
        # KIP-447; ConsumerCoordinator.sendOffsetFetchRequest always requires them.
        return OffsetFetchRequest(groups=(group,), require_stable=self._core.policy.requires_stable_offsets)

    def _pause_ms(self, request: OffsetRequest) -> int:
        """Return the pause in ms before a failed request is sent again."""
        return self._core.backoff_ms()

    def _auto_failed(self, request: OffsetRequest, now_ms: int) -> None:
        """Retry a failed auto-commit after the backoff, not after its interval."""
        if request.mode == "auto":
            self._auto_ms = now_ms + self._core.backoff_ms()

    def _end(self, request: OffsetRequest, error: str | None, response: object = None) -> None:
        self.under_way.remove(request)
        self._report(request, error, response)

    def _report(self, request: OffsetRequest, error: str | None, response: object = None) -> None:
        core = self._core
        if request.mode == "fetch":
            core.out.append(OffsetFetchResult(token=request.token, offsets=_fetched(response), error=error))
        elif request.mode not in _INTERNAL_MODES:
            error_name = None if core.policy.swallows_commit_errors == request.mode else error
            core.out.append(CommitResult(token=request.token, mode=request.mode, offsets=request.offsets, error=error_name))
        if request.mode != "fetch" and error is None and core.policy.rejoins_after_commit:
            core.request_rejoin("a commit was done")


def _fetched(response: object) -> dict[TopicPartition, int]:
    if not isinstance(response, OffsetFetchResponse):
        return {}
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for group in response.groups
        for topic in group.topics
        for partition in topic.partitions
    }
