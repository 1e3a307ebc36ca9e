"""Who is who on the wire, where client ids do not tell: one name for each member process, from its connections and member ids. Pure.

A connection belongs to one process. A process is known again on a new connection by the member id that it names first there; one that is
known already and names another's id is not the other: that is for the judges. An application's lines name no connection: whose lines there are is
known by its client id alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from groupproof.harness.judging.checkers.frame_facts import left_by
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["told_apart"]

_NAMING = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT))


@dataclass(slots=True)
class _Processes:
    """Processes by number; each connection has one, and each member id the one that it was given to first."""

    of_connection: dict[int, int] = field(default_factory=dict)
    of_member: dict[tuple[str, str], int] = field(default_factory=dict)
    clients: list[str] = field(default_factory=list)

    def follow(self, seen: Observation) -> None:
        if seen.connection is None or seen.client is None:
            return
        if seen.kind == "request" and seen.api == Api.LEAVE_GROUP.title and seen.connection not in self.of_connection:
            own = [self.of_member[seen.client, each] for each in left_by(seen) if (seen.client, each) in self.of_member]
            if own:
                self.of_connection[seen.connection] = own[0]
        if seen.api not in _NAMING:
            return
        if seen.kind == "request" and (seen.member or seen.api == Api.JOIN_GROUP.title):
            self._settle(seen.connection, seen.client, seen.member or "")
        elif seen.kind == "response" and seen.api == Api.JOIN_GROUP.title and seen.member:
            self.of_member.setdefault((seen.client, seen.member), self.of_connection[seen.connection])

    def _settle(self, connection: int, client: str, member: str) -> None:
        if connection in self.of_connection:
            return
        known = self.of_member.get((client, member))
        if known is None:
            known = len(self.clients)
            self.clients.append(client)
        self.of_connection[connection] = known


def told_apart(trace: Trace) -> Trace:
    """Return the trace of one group with client ids that each mean one process: `app` stays where it is alone, else `app#1`, `app#2`, …

    A connection on which nobody joined is a process of its own. A LeaveGroup there is the member's whose id it names, if their client ids are the same, or
    else an administrator's and no client's. A client id of which an
    application's lines tell is one process.
    """
    lines = {seen.client for seen in trace if seen.kind == "event" and seen.connection is None}
    processes = _Processes()
    for seen in trace:
        processes.follow(seen)
    names = _names(processes.clients)
    return [seen if seen.client in lines else replace(seen, client=_name(seen, processes, names)) for seen in trace]


def _names(clients: list[str]) -> Mapping[int, str]:
    """Return the name of each process, numbered within its client id."""
    seen: dict[str, int] = {}
    names: dict[int, str] = {}
    for number, client in enumerate(clients):
        seen[client] = seen.get(client, 0) + 1
        names[number] = f"{client}#{seen[client]}" if clients.count(client) > 1 else client
    return names


def _name(seen: Observation, processes: _Processes, names: Mapping[int, str]) -> str | None:
    if seen.client is None or seen.connection is None:
        return seen.client
    process = processes.of_connection.get(seen.connection)
    if process is not None:
        return names[process]
    if seen.api == Api.LEAVE_GROUP.title:
        return None
    return f"{seen.client}@{seen.connection}" if processes.clients.count(seen.client) > 1 else seen.client
