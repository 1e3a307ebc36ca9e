"""The clients that spoke in a group, and how each of them left it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis, readers_by_api
from groupproof.harness.model.verdicts import Goodbye
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR

__all__ = ["Departures"]

_COMMIT: Final = Api.OFFSET_COMMIT.title


@dataclass(slots=True)
class _LastFrame:
    """The last frame of one client in the group."""

    connection: int | None
    has_left: bool
    may_stay: bool
    joined: bool
    is_gone: bool = False


@dataclass(slots=True)
class Departures:
    """The clients that spoke in a group, and how each left it. `requests` counts their requests. `names_members`: a request asked to join, or named a
    member of the group. Commits of consumers that assign partitions themselves (`assign`), and of tools, do neither.
    """

    requests: int = 0
    names_members: bool = False
    of: dict[str, _LastFrame] = field(default_factory=dict)

    def follow(self, obs: Observation) -> None:
        if obs.kind == "request" and obs.api in membership_apis():
            self.requests += 1
            self.names_members = self.names_members or _names_member(obs)
            if obs.client is not None:
                reader, before = readers_by_api().get(obs.api or ""), self.of.get(obs.client)
                self.of[obs.client] = _LastFrame(
                    connection=obs.connection,
                    has_left=reader is not None and reader.is_leave(obs),
                    may_stay=bool(obs.instance) or _is_thread(obs) or (before is not None and before.may_stay),
                    joined=(reader is not None and reader.is_join(obs)) or (before is not None and before.joined),
                )
        elif obs.who == "link" and obs.body.get("name") == "closed":
            for end in self.of.values():
                end.is_gone |= end.connection == obs.connection

    def is_steady(self, steady: Steady) -> bool:
        """Return whether exchanges on a client's connection leave its last frame as it is. `absorb` counts them."""
        last = self.of.get(steady.client)
        is_same = last is not None and last.connection == steady.connection and (last.may_stay or not steady.instance)
        return is_same and last is not None and not last.has_left and not last.is_gone

    def absorb(self, steady: Steady) -> None:
        self.requests += sum(len(requests.seqs) for api, requests in steady.asked.items() if api in membership_apis())

    @property
    def has_members(self) -> bool:
        return any(end.joined for end in self.of.values())

    def clean_close(self, name_of: Callable[[str], str] = str) -> tuple[Goodbye, str]:
        """Return UNCLEAN where a member's last connection closed without the LeaveGroup that it owed. A connected member has still time to leave."""
        joined = {client: end for client, end in self.of.items() if end.joined}
        for client, value in joined.items():
            if value.is_gone and not value.has_left and not value.may_stay:
                return Goodbye.UNCLEAN, f"{name_of(client)} went without a LeaveGroup"
        return (Goodbye.CLEAN if any(end.has_left for end in joined.values()) else Goodbye.NONE), ""


def _names_member(obs: Observation) -> bool:
    return obs.api != _COMMIT or bool(obs.member or obs.instance) or (obs.generation is not None and obs.generation >= 0)


def _is_thread(obs: Observation) -> bool:
    """Return whether a JoinGroup is of Kafka Streams, which stays a member when it closes (KAFKA-8399)."""
    return any(protocol.get("name") == ASSIGNOR for protocol in obs.body.get("protocols") or ())
