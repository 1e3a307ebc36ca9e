"""The clients that spoke in a group, and how each of them left it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.frame_facts import error_of, is_unmanaged
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis, readers_by_api
from groupproof.harness.model.verdicts import Goodbye
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import MEMBERSHIP_ENDS, Api, ErrorCode
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR

__all__ = ["Departures", "has_nobody_left"]

_BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT.title
_COMMIT: Final = Api.OFFSET_COMMIT.title
_UNREACHABLE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_AUTHORIZATION_FAILED})
"""After these errors a member has no coordinator to leave."""
_PASSING: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.TOPIC_AUTHORIZATION_FAILED})
"""KIP-848: after these errors to its heartbeat a member stays a member (AbstractHeartbeatRequestManager.onErrorResponse). Any other error ends it."""


def has_nobody_left(answer: Observation) -> bool:
    """Return whether a member with this answer has no coordinator, or no membership, to leave (decision 32)."""
    error = error_of(answer)
    return error in _UNREACHABLE or (answer.api == _BEAT and bool(error) and error not in _PASSING)


@dataclass(slots=True)
class _LastFrame:
    """One client in the group, by its last frame. `asked_to_join`: it sent a join. `is_member`: an answer let it in, and none ended that.
    `is_reachable`: it knows a coordinator. `is_gone`: it closed the connection of its last frame. `has_epoch`: it is a member by KIP-848, whose
    membership no refused commit ends (CGP-07).
    """

    connection: int | None
    member: str | None = None
    has_left: bool = False
    may_stay: bool = False
    asked_to_join: bool = False
    is_member: bool = False
    is_reachable: bool = True
    is_gone: bool = False
    has_epoch: bool = False

    @property
    def owes_leave(self) -> bool:
        return self.is_member and self.is_reachable and not self.has_left and not self.may_stay


@dataclass(slots=True)
class Departures:
    """The clients that spoke in a group, and how each left it. `requests` counts their requests. `names_members`: a request asked to join, or named a
    member of the group. Commits of consumers that assign partitions themselves (`assign`), and of tools, do neither.

    A client owes a LeaveGroup once an answer has let it in, and until an answer ends its membership. Only a client that closes its connection by
    itself has gone: a connection that the broker or a tap ends says nothing about it.
    """

    requests: int = 0
    names_members: bool = False
    of: dict[str, _LastFrame] = field(default_factory=dict)
    _joining: UnderWay[str] = field(default_factory=UnderWay)
    _by_connection: dict[int | None, set[str]] = field(default_factory=dict)

    def follow(self, obs: Observation) -> None:
        if obs.kind == "request" and obs.api in membership_apis():
            self.requests += 1
            self.names_members = self.names_members or _names_member(obs)
            if obs.client is not None:
                self._asked(obs, obs.client)
        elif obs.kind == "response" and obs.api in membership_apis():
            self._answered(obs)
        elif obs.who == "link" and obs.body.get("name") == "closed":
            self._joining.closed(obs)
            if obs.body.get("by", "client") == "client":
                self._close(obs.connection)

    def _close(self, connection: int | None) -> None:
        for last in map(self.of.__getitem__, self._by_connection.pop(connection, ())):
            last.is_gone |= last.connection == connection

    def _asked(self, obs: Observation, client: str) -> None:
        reader = readers_by_api().get(obs.api or "")
        last = self.of.get(client)
        if last is None or last.is_gone or last.connection != obs.connection:
            self._by_connection.setdefault(obs.connection, set()).add(client)
        if last is None:
            last = self.of[client] = _LastFrame(obs.connection)
        last.connection, last.is_gone = obs.connection, False
        last.may_stay |= bool(obs.instance) or _is_thread(obs)
        if reader is not None and reader.is_leave(obs):
            last.has_left = True
        elif reader is not None and reader.is_join(obs):
            last.asked_to_join = True
            self._joining.ask(obs, client)

    def _answered(self, obs: Observation) -> None:
        joining = self._joining.answered(obs)
        last = self.of.get(obs.client or "")
        if last is None:
            return
        error = error_of(obs)
        if not error or has_nobody_left(obs):
            last.is_reachable = not error
        if joining is not None and not error:
            last.member, last.is_member, last.has_left, last.has_epoch = obs.member, True, False, obs.member_epoch is not None
        elif obs.member == last.member and (has_nobody_left(obs) if obs.api == _BEAT else error in MEMBERSHIP_ENDS and not last.has_epoch):
            last.is_member = False

    def is_steady(self, steady: Steady) -> bool:
        """Return whether exchanges on a client's connection leave its last frame as it is. `absorb` counts them."""
        last = self.of.get(steady.client)
        is_same = last is not None and last.connection == steady.connection and (last.may_stay or not steady.instance)
        return is_same and last is not None and last.is_reachable and not last.is_gone

    def absorb(self, steady: Steady) -> None:
        self.requests += sum(len(requests.seqs) for api, requests in steady.asked.items() if api in membership_apis())

    @property
    def has_members(self) -> bool:
        return any(last.asked_to_join for last in self.of.values())

    def clean_close(self, name_of: Callable[[str], str] = str) -> tuple[Goodbye, str]:
        """Return UNCLEAN where a member closed its last connection without the LeaveGroup that it owed. A connected member has still time to leave."""
        members = {client: last for client, last in self.of.items() if last.asked_to_join}
        for client, last in members.items():
            if last.is_gone and last.owes_leave:
                return Goodbye.UNCLEAN, f"{name_of(client)} went without a LeaveGroup"
        return (Goodbye.CLEAN if any(last.has_left for last in members.values()) else Goodbye.NONE), ""


def _names_member(obs: Observation) -> bool:
    return obs.api != _COMMIT or bool(obs.member or obs.instance) or not is_unmanaged(obs)


def _is_thread(obs: Observation) -> bool:
    """Return whether a JoinGroup is of Kafka Streams, which stays a member when it closes (KAFKA-8399)."""
    return any(protocol.get("name") == ASSIGNOR for protocol in obs.body.get("protocols") or ())
