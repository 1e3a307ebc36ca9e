"""Who is who on the wire, where client ids do not tell: one name for each member process, from its connections and member ids. Pure.

A connection belongs to one process. A process is known again on a new connection by the member id that it names first there; one that is known already
and names another's id is not the other: that is for the checkers. Of a stream the first process of a client id keeps that, later ones are numbered, and
what comes before a connection has named a member is that connection's own, unless one process alone has that client id. Of a whole trace all are numbered
where there are several, and a connection has one name from its beginning.

An application's lines name no connection. Whose lines there are is known by its client id alone: a join without a member id on a new connection is
then the same process that comes back, not another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from groupproof.harness.judging.checkers.frame_facts import left_by
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["Naming", "told_apart"]

_JOIN, _LEAVE, _FIND = Api.JOIN_GROUP.title, Api.LEAVE_GROUP.title, Api.FIND_COORDINATOR.title
_NAMING = frozenset({_JOIN, Api.SYNC_GROUP.title, Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title})


@dataclass(slots=True)
class Naming:
    """Processes by name; each connection has one, and each member id the one that it was given to first. With `forgets` that of a closed one is forgotten."""

    forgets: bool = True
    _of_connection: dict[int, str] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _of_member: dict[tuple[str, str], str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def named(self, seen: Observation) -> Observation:
        """Return the observation with the name of its process for a client id.

        A LeaveGroup on a connection of nobody's is the member's whose id it names, if their client ids are the same; else it is an administrator's and has no name.
        """
        if self.forgets and seen.who == "link" and seen.body.get("name") == "closed" and seen.connection is not None:
            self._of_connection.pop(seen.connection, None)
        if seen.client is None:
            return seen
        if seen.connection is None:
            if seen.kind == "event":
                self._told.add(seen.client)
            return seen
        if seen.api in _NAMING:
            self._follow(seen, seen.client, seen.connection)
        elif seen.api == _LEAVE and seen.kind == "request" and seen.connection not in self._of_connection:
            own = [self._of_member[seen.client, each] for each in left_by(seen) if (seen.client, each) in self._of_member]
            if own:
                self._of_connection[seen.connection] = own[0]
        name = self._name(seen, seen.client, seen.connection)
        return seen if name == seen.client else replace(seen, client=name)

    def _follow(self, seen: Observation, client: str, connection: int) -> None:
        if seen.kind == "request" and connection not in self._of_connection and (seen.member or seen.api == _JOIN):
            self._of_connection[connection] = self._of_member.get((client, seen.member or "")) or self._new(client)
        elif seen.kind == "response" and seen.api == _JOIN and seen.member and connection in self._of_connection:
            self._of_member.setdefault((client, seen.member), self._of_connection[connection])

    def _new(self, client: str) -> str:
        if client in self._told:
            return client
        self._counts[client] = self._counts.get(client, 0) + 1
        return client if self._counts[client] == 1 else f"{client}#{self._counts[client]}"

    def _name(self, seen: Observation, client: str, connection: int) -> str | None:
        if (process := self._of_connection.get(connection)) is not None:
            return process
        if seen.client in self._told:
            return seen.client
        if seen.api == _LEAVE:
            return None
        return client if self._counts.get(client) == 1 and seen.api != _FIND else f"{client}@{connection}"

    def final_name(self, seen: Observation) -> str | None:
        """Return the name of the process of an observation, where all that happened is known."""
        if seen.client is None or seen.connection is None or seen.client in self._told:
            return seen.client
        if (process := self._of_connection.get(seen.connection)) is not None:
            return self.shown(process)
        if seen.api == _LEAVE:
            return None
        return f"{seen.client}@{seen.connection}" if self._counts.get(seen.client, 0) > 1 else seen.client

    def shown(self, name: str) -> str:
        """Return how a process is called where all are known: the first of several is numbered too."""
        return f"{name}#1" if self._counts.get(name, 0) > 1 else name


def told_apart(trace: Trace) -> Trace:
    """Return the trace of one group with client ids that each mean one process: `app` stays where it is alone, else `app#1`, `app#2`, …"""
    naming = Naming(forgets=False)
    for seen in trace:
        naming.named(seen)
    return [seen if (name := naming.final_name(seen)) == seen.client else replace(seen, client=name) for seen in trace]
