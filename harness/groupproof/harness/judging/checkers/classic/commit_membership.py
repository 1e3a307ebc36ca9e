"""Checks that a member commits with its generation and member id (CLIENT-66)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of, instance_of, is_unmanaged
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import TrackingChecker
from groupproof.harness.judging.checkers.tracking.membership import joins_of
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CommitsNameMembership"]

_JOIN, _COMMIT, _LEAVE = Api.JOIN_GROUP.title, Api.OFFSET_COMMIT.title, Api.LEAVE_GROUP.title
_TITLES: Final = frozenset(api.title for api in GROUP_REQUESTS)
_OUT: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})


@dataclass(slots=True)
class _Joined:
    """A client's membership: its newest id, its session timeout, and its last frame as a member."""

    member: str
    session_ms: float | None
    last_ms: float


class CommitsNameMembership(TrackingChecker):
    """No member commits without a generation. An empty group accepts that, so nothing stops a stale commit (CLIENT-66).

    An application may end its membership and then use the group with assign() (Java: `unsubscribe`, `assign`). The kit knows what an application that
    it drives does: there a membership ends only with a LeaveGroup. Of other applications it knows only frames. Their membership also ends with
    UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, and with their session. A static member leaves without a LeaveGroup, so it is not judged.
    """

    listens = frozenset((kind, title) for kind in ("request", "response") for title in _TITLES)

    def __init__(self) -> None:
        super().__init__()
        self._members: dict[str, _Joined] = {}
        self._left: set[str] = set()
        self._sessions: UnderWay[float | None] = UnderWay()
        self._asked: UnderWay[Observation] = UnderWay()

    def look(self, obs: Observation) -> Iterator[Finding]:
        self._sessions.closed(obs)
        for request in self._asked.closed(obs):
            yield _nameless(request, is_accepted=False)
        if obs.kind == "response" and obs.api == _COMMIT and (asked := self._asked.answered(obs)) is not None:
            yield _nameless(asked, is_accepted=not error_of(obs))
        if obs.client is None or obs.api not in _TITLES:
            return
        if obs.kind == "request":
            self._request(obs, obs.client)
        elif obs.kind == "response":
            self._response(obs, obs.client)

    def _request(self, obs: Observation, client: str) -> None:
        mine = self._members.get(client)
        if obs.api == _LEAVE:
            self._left.add(client)
        elif obs.api == _JOIN:
            self._left.discard(client)
            self._sessions.ask(obs, None if instance_of(obs) else obs.body.get("session_timeout_ms"))
        elif obs.api == _COMMIT and is_unmanaged(obs) and mine is not None and client not in self._left and self._is_member(obs, client, mine):
            self._asked.ask(obs, obs)
        if mine is not None and obs.member == mine.member:
            mine.last_ms = obs.at_ms

    def _is_member(self, commit: Observation, client: str, mine: _Joined) -> bool:
        if client in self._group.driven:
            return True
        return mine.session_ms is not None and commit.at_ms - mine.last_ms <= mine.session_ms

    def _response(self, obs: Observation, client: str) -> None:
        session_ms = self._sessions.answered(obs)
        if (grant := joins_of(obs)) is not None:
            self._members[client] = _Joined(grant.member, session_ms, obs.at_ms)
        elif (mine := self._members.get(client)) is not None and obs.member == mine.member:
            mine.last_ms = obs.at_ms
            if error_of(obs) in _OUT and client not in self._group.driven:
                del self._members[client]

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS if self._asked.is_apart(steady) and self._sessions.is_apart(steady) else ALL_ROWS  # each names a generation

    def absorb(self, steady: Steady) -> None:
        if (mine := self._members.get(steady.client)) is not None and steady.member == mine.member and steady.asked:
            mine.last_ms = steady.last_ms

    def end(self) -> Iterator[Finding]:
        for request in self._asked.rest():
            yield _nameless(request, is_accepted=False)


def _nameless(request: Observation, *, is_accepted: bool) -> Finding:
    claim = Claim(requirement="CLIENT-66", expected="Every OffsetCommit of a member carries its generation and member id.")
    verdict = Verdict.FAILED if is_accepted else Verdict.NON_STRICT
    lack = "its member id and no generation" if request.member else "neither generation nor member id"
    return claim.found(verdict, f"OffsetCommit of a member carried {lack}.", request)
