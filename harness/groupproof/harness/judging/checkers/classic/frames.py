"""Checks that frames are legal in any case: they name member ids, generations and instance ids that this client really has."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from groupproof.harness.judging.checkers.checker import Numbers, UnderWay, Waiting
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, IN_FLIGHT_MS, SLACK_MS, error_of, instance_of, is_unmanaged
from groupproof.harness.judging.checkers.late_requests import LateRequests
from groupproof.harness.judging.checkers.listening_checker import ANY_API, ListeningChecker, WaitingChecker
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import TrackingChecker
from groupproof.harness.judging.checkers.tracking.heartbeats_after_end import HeartbeatsAfterEnd
from groupproof.harness.judging.checkers.tracking.membership import joins_of
from groupproof.harness.judging.lag import is_lag, lost_ms
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import INSTANCE_ID_SINCE, Api, api_named

__all__ = ["GenerationsGiven", "InstanceIdsStay", "MemberIdsGiven", "NothingAfterLeaving"]

_LAGS_KEPT: Final = 100
"""The number of the newest lags that are kept."""

_ID_RULE: Final = {
    Api.JOIN_GROUP: "CLIENT-10", Api.SYNC_GROUP: "CLIENT-11", Api.HEARTBEAT: "CLIENT-11", Api.OFFSET_COMMIT: "CLIENT-66",
    Api.LEAVE_GROUP: "CLIENT-72",
}  # fmt: skip
_REFUSED_WITHOUT_ID: Final = {Api.HEARTBEAT, Api.OFFSET_COMMIT}
_GROUP_TITLES: Final = frozenset(api.title for api in GROUP_REQUESTS)
_GROUP_REQUESTS: Final = frozenset(("request", title) for title in _GROUP_TITLES)
_WITH_GENERATION: Final = frozenset({Api.SYNC_GROUP.title, Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title})
_JOIN, _SYNC, _COMMIT, _LEAVE = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title, Api.OFFSET_COMMIT.title, Api.LEAVE_GROUP.title


class MemberIdsGiven(WaitingChecker[tuple[Observation, bool]], TrackingChecker):
    """A request names the empty member id, where that is legal, or an id that the coordinator gave this client before.

    A Heartbeat or OffsetCommit with a generation and no id is only refused (UNKNOWN_MEMBER_ID): needless, but harmless. The first Heartbeat after
    the end of a membership is no fault. A LeaveGroup without an id is refused too. From a current member it leaves a ghost, which keeps its
    partitions until its session ends (CLIENT-73).
    """

    listens = frozenset({*_GROUP_REQUESTS, *(("response", title) for title in _GROUP_TITLES)})
    wait_ms = SLACK_MS

    def __init__(self) -> None:
        super().__init__()
        self._ids: dict[str, set[str]] = {}
        self._heartbeats_after_end = HeartbeatsAfterEnd()

    def look(self, obs: Observation) -> Iterable[Finding]:
        if self._heartbeats_after_end.follow(obs) or obs.client is None:
            return ()
        if (grant := joins_of(obs)) is not None:
            self._ids.setdefault(obs.client, set()).add(grant.member)
        elif obs.kind == "request" and obs.api in _GROUP_TITLES:
            member = self._group.members.get(obs.client)
            self._waiting.add(obs.at_ms, (obs, member is not None and member.is_member))
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS if steady.member in self._ids.get(steady.client, ()) else ALL_ROWS

    def _judge(self, item: tuple[Observation, bool]) -> Iterator[Finding]:
        request, is_member = item
        ids = self._ids.get(request.client or "", ())
        if request.member and request.member in ids and request.api != _LEAVE:
            return  # as in nearly all requests
        api = api_named(request.api or "")
        claim = Claim(requirement=_ID_RULE[api], expected="Every request names a member id that the coordinator gave this client.")
        for member in _named_members(request):
            if member == "" and _may_be_empty(api, request):
                continue
            if member == "" and api is Api.LEAVE_GROUP:
                yield _leaves_nobody(request, is_member=is_member)
            elif member == "":
                verdict = Verdict.NON_STRICT if api in _REFUSED_WITHOUT_ID else Verdict.FAILED
                yield claim.found(verdict, f"{api.title} named no member id.", request)
            elif member not in ids:
                yield claim.failed(f"{api.title} named a member id that the client was never given.", request)


def _leaves_nobody(request: Observation, *, is_member: bool) -> Finding:
    if is_member:
        claim = Claim(requirement="CLIENT-73", expected="A member's LeaveGroup names its member id.")
        return claim.tolerated("LeaveGroup named no member id, and left a ghost behind.", request)
    claim = Claim(requirement="CLIENT-72", expected="A client that is no member sends no LeaveGroup.")
    return claim.found(Verdict.INFORMATIONAL, "LeaveGroup named no member id.", request)


def _named_members(request: Observation) -> list[str]:
    if request.api == _LEAVE:
        return [member.get("member_id") or "" for member in request.body.get("members") or ()]
    return [request.member or ""]


def _may_be_empty(api: Api, request: Observation) -> bool:
    """Return whether an empty id is legal: in a first join (CLIENT-10), an unmanaged commit (COMMIT-02), and a leave by instance id (LEAVE-53)."""
    if api is Api.LEAVE_GROUP:
        return instance_of(request) is not None
    return api is Api.JOIN_GROUP or (api is Api.OFFSET_COMMIT and is_unmanaged(request))


class GenerationsGiven(ListeningChecker):
    """SyncGroup, Heartbeat and OffsetCommit carry a generation that the member had. An old one long after a new one is a relapse.

    A new member id with an earlier generation, or an older id with a newer generation, never existed together: one thread read two fields while
    another wrote them. That is refused and costs an answer: NON_STRICT. So does a Heartbeat without a generation, unless its client has left. The
    first one after the end of a membership is no fault. `CommitsNameMembership` (`commit_membership.py`) judges a commit without a generation.
    """

    listens = frozenset({("request", ANY_API), ("response", ANY_API)})

    def __init__(self) -> None:
        self._generations: dict[tuple[str, str], Numbers] = {}
        self._of_client: dict[str, Numbers] = {}
        self._between: UnderWay[int] = UnderWay()
        self._mixed: dict[int, str] = {}
        self._mixers: set[tuple[str, str, str]] = set()
        self._heartbeats_after_end = HeartbeatsAfterEnd()
        self._after_end: set[int] = set()
        self._left: set[str] = set()
        self._joined: set[tuple[str, str]] = set()
        self._adopted: dict[tuple[str, str], _MemberGenerations] = {}
        self._waiting: Waiting[Observation] = Waiting(SLACK_MS)
        self._late = LateRequests()

    def queues(self) -> tuple[Waiting[Any], ...]:
        return self._waiting, self._late.queue

    def due(self, at_ms: float) -> Iterator[Finding]:
        for request in self._waiting.due(at_ms):
            yield from self._judge(request)
        for request in self._late.due(at_ms):
            yield from self._older_generation(request)

    def look(self, obs: Observation) -> Iterable[Finding]:
        self._late.follow(obs)
        self._follow_between(obs)
        if obs.client is None:
            return ()
        if (grant := joins_of(obs)) is not None:
            self._generations.setdefault((obs.client, grant.member), Numbers()).add(grant.generation)
            if grant.generation >= 0:  # an id from error 79 is in no generation yet
                self._of_client.setdefault(obs.client, Numbers()).add(grant.generation)
                self._joined.add((obs.client, grant.member))
        elif obs.kind == "response" and obs.api == _SYNC and not error_of(obs):
            self._adopted.setdefault((obs.client, obs.member or ""), _MemberGenerations()).follow(obs)
        elif obs.kind == "request" and obs.api in _WITH_GENERATION and obs.member and not (obs.api == _COMMIT and is_unmanaged(obs)):
            self._waiting.add(obs.at_ms, obs)
            if self._is_old(obs):
                self._late.add(obs)
        return ()

    def _follow_between(self, obs: Observation) -> None:
        """Record the requests that name one of the client's ids with the generation of another. Remove those that are accepted."""
        self._between.closed(obs)
        if self._heartbeats_after_end.follow(obs) and obs.member:
            self._after_end.add(obs.seq)
        if obs.kind == "request" and obs.api in (_JOIN, _LEAVE):
            (self._left.add if obs.api == _LEAVE else self._left.discard)(obs.client or "")
        if obs.kind == "response" and (asked := self._between.answered(obs)) is not None and not error_of(obs):
            self._mixed.pop(asked, None)
        elif obs.kind == "request" and obs.api in _WITH_GENERATION and (mixed := self._how_mixed(obs)):
            self._between.ask(obs, obs.seq)
            self._mixed[obs.seq] = mixed

    def _how_mixed(self, request: Observation) -> str:
        """Return what a request mixes of the client's memberships; "" where it mixes nothing."""
        client, member, api = request.client or "", request.member or "", request.api or ""
        if request.generation == -1:
            return "no generation" if member and api == Api.HEARTBEAT.title and client not in self._left else ""
        is_own = request.generation in self._generations.get((client, member), ())
        if not member or is_own or request.generation not in self._of_client.get(client, ()) or (client, member, api) in self._mixers:
            return ""
        if (client, member) not in self._joined:
            return "a new member id with the generation of the one before"
        self._mixers.add((client, member, api))
        return "a member id with the generation of another"

    def _is_old(self, request: Observation) -> bool:
        adopted = self._adopted.get((request.client or "", request.member or ""))
        return adopted is not None and (request.generation or 0) < adopted.by(request.at_ms - IN_FLIGHT_MS)

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need nothing of a generation that the member has, if it has adopted no newer one."""
        key = (steady.client, steady.member)
        adopted = self._adopted.get(key)
        is_given = key in self._joined and steady.generation in self._generations.get(key, ())
        is_newest = adopted is None or adopted.newest <= steady.generation
        is_apart = self._between.is_apart(steady) and self._late.is_apart(steady)
        return NO_ROWS if is_given and is_newest and is_apart else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        self._late.absorb(steady)
        if (adopted := self._adopted.get((steady.client, steady.member))) is not None and steady.asked:
            adopted.by(max(requests.at_ms[-1] for requests in steady.asked.values()) - IN_FLIGHT_MS)

    def end(self) -> Iterator[Finding]:
        for request in self._waiting.rest():
            yield from self._judge(request)
        for request in self._late.rest():
            yield from self._older_generation(request)

    def _judge(self, request: Observation) -> Iterator[Finding]:
        mixed, is_after_end = self._mixed.pop(request.seq, ""), request.seq in self._after_end
        self._after_end.discard(request.seq)
        is_foreign = self._is_foreign(request)
        if is_foreign and not mixed:
            sentence = f"{request.api} carried a generation that the member was never given."
            yield _generations(request).failed(sentence, request, detail=f"generation {request.generation}")
        elif is_foreign and not is_after_end:
            yield _generations(request).tolerated(f"{request.api} carried {mixed}.", request)

    def _older_generation(self, request: Observation) -> Iterator[Finding]:
        if not self._is_foreign(request):
            yield _generations(request).tolerated(f"{request.api} carried an older generation than the one the member had adopted.", request)

    def _is_foreign(self, request: Observation) -> bool:
        own_generations = self._generations.get((request.client or "", request.member or ""))
        return own_generations is not None and (request.generation == -1 or request.generation not in own_generations)


def _generations(request: Observation) -> Claim:
    return Claim(
        requirement="CLIENT-66" if request.api == _COMMIT else "CLIENT-11",
        expected="Every request carries the generation that the coordinator gave this member.",
    )


class _MemberGenerations:
    """The generations in which a member was assigned, with times: the newest of the past, and all recent ones."""

    def __init__(self) -> None:
        self._settled = -1
        self._recent: deque[tuple[float, int]] = deque()

    def follow(self, answer: Observation) -> None:
        self.by(answer.at_ms - IN_FLIGHT_MS)
        self._recent.append((answer.at_ms, answer.generation or 0))

    @property
    def newest(self) -> int:
        return max(self._settled, *(generation for _, generation in self._recent), -1)

    def by(self, at_ms: float) -> int:
        """Return the newest generation that was adopted before an instant. Instants must be asked in order."""
        while self._recent and self._recent[0][0] < at_ms:
            self._settled = max(self._settled, self._recent.popleft()[1])
        return self._settled


class NothingAfterLeaving(ListeningChecker):
    """No heartbeat, sync or commit names a membership whose LeaveGroup was answered (LEAVE-55).

    Time that the kit's computer lost since does not count. On a busy one, kafka-python's heartbeat thread is a second behind its application.
    """

    listens = frozenset({("request", ANY_API), ("response", ANY_API)})

    def __init__(self) -> None:
        self._lags: deque[Observation] = deque(maxlen=_LAGS_KEPT)
        self._leaving: UnderWay[frozenset[str]] = UnderWay()
        self._gone_ms: dict[tuple[str, str], float] = {}
        self._late = LateRequests()

    def queues(self) -> tuple[Waiting[Any], ...]:
        return (self._late.queue,)

    def due(self, at_ms: float) -> Iterator[Finding]:
        return (_after_leaving(request) for request in self._late.due(at_ms))

    def look(self, obs: Observation) -> Iterable[Finding]:
        self._leaving.closed(obs)
        self._late.follow(obs)
        if is_lag(obs):
            self._lags.append(obs)
        if obs.client is None:
            return ()
        if obs.api == _LEAVE:
            self._leave(obs, obs.client)
        elif obs.kind == "request" and obs.api in _WITH_GENERATION:
            gone_ms = self._gone_ms.get((obs.client, obs.member or ""))
            if gone_ms is not None and obs.at_ms - gone_ms - lost_ms(self._lags, gone_ms, obs.at_ms) > IN_FLIGHT_MS:
                self._late.add(obs)
        return ()

    def _leave(self, obs: Observation, client: str) -> None:
        if obs.kind == "request":
            self._leaving.ask(obs, frozenset(_named_members(obs)) - {""})
        elif obs.kind == "response":
            for member in self._leaving.answered(obs) or ():
                if not error_of(obs):
                    self._gone_ms.setdefault((client, member), obs.at_ms)

    def wants(self, steady: Steady) -> Collection[int] | None:
        has_left = (steady.client, steady.member) in self._gone_ms
        return NO_ROWS if not has_left and self._late.is_apart(steady) else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        self._late.absorb(steady)

    def end(self) -> Iterator[Finding]:
        return (_after_leaving(request) for request in self._late.rest())


def _after_leaving(request: Observation) -> Finding:
    claim = Claim(requirement="LEAVE-55", expected="After its LeaveGroup a client sends nothing more as that member.")
    return claim.tolerated(f"{request.api} named the membership that had ended.", request)


class InstanceIdsStay(ListeningChecker):
    """A static member sends its instance id in every request that has its member id, so that a replaced member is fenced (STATIC-10)."""

    listens = _GROUP_REQUESTS

    def __init__(self) -> None:
        self._instances: dict[str, set[str]] = {}

    def look(self, obs: Observation) -> Iterable[Finding]:
        if obs.kind != "request" or obs.client is None or obs.api not in _GROUP_TITLES:
            return ()
        instance = instance_of(obs)
        if obs.api == _JOIN and instance is not None:
            self._instances.setdefault(obs.client, set()).add(instance)
        ids = self._instances.get(obs.client)
        if ids and obs.member and instance not in ids and (obs.version is None or obs.version >= INSTANCE_ID_SINCE[api_named(obs.api or "")]):
            claim = Claim(requirement="STATIC-10", expected="A static member names its instance id in every request.")
            return (claim.tolerated(f"{obs.api} of a static member carried no instance id, or another.", obs),)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        ids = self._instances.get(steady.client)
        return NO_ROWS if not ids or steady.instance in ids else ALL_ROWS

    def end(self) -> Iterator[Finding]:
        return iter(())
