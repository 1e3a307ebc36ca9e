"""One name for each member process, from its connections and member ids, where client ids are not unique. Pure.

A connection belongs to one process. On a new connection, a process is recognised by the first member id that it names there. A recognised process
that later names another's id stays itself; the checkers judge that. In a stream the first process of a client id keeps that name, and later ones
are numbered. Frames before a connection has named a member get a name of the connection, unless only one process has that client id. A commit
without a member id on such a connection always gets it: a tool, or a process that uses assign(), has the same client id too. In a whole
trace all processes are numbered where there are several, and a connection has one name from its beginning. An application's events name no
connection. A client id with such events is one process: a join without a member id on a new connection is then the same process that comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from groupproof.harness.judging.checkers.frame_facts import left_by
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis, naming_apis
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["Naming", "with_process_names"]

_LEAVE, _FIND, _COMMIT = Api.LEAVE_GROUP.title, Api.FIND_COORDINATOR.title, Api.OFFSET_COMMIT.title
_NO_ID: Final = "(no client id)"
"""The name of a process whose client id is null or empty."""


@dataclass(slots=True)
class Naming:
    """The names of processes. Each connection has one, and each member id that of its first process. With `forgets`, the name of a closed
    connection is dropped.
    """

    forgets: bool = True
    _of_connection: dict[int, str] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    _of_member: dict[tuple[str, str], str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def named(self, obs: Observation) -> Observation:
        """Return the observation with the name of its process as the client id.

        A LeaveGroup on a connection without a process belongs to the member whose id it names, if their client ids match. Otherwise an
        administrator sent it, and it has no name.
        """
        if self.forgets and obs.who == "link" and obs.body.get("name") == "closed" and obs.connection is not None:
            self._of_connection.pop(obs.connection, None)
        client = _client_of(obs)
        if client is None:
            return obs
        if obs.connection is None:
            if obs.kind == "event":
                self._named.add(client)
            return obs
        if obs.api != _LEAVE and obs.api in membership_apis():
            self._follow(obs, client, obs.connection)
        elif obs.api == _LEAVE and obs.kind == "request" and obs.connection not in self._of_connection:
            own = [self._of_member[client, name] for name in left_by(obs) if (client, name) in self._of_member]
            if own:
                self._of_connection[obs.connection] = own[0]
        name = self._name(obs, client, obs.connection)
        return obs if name == obs.client else replace(obs, client=name)

    def steady_name(self, steady: Steady) -> str | None:
        """Return the name of the process on whose connection a member has spoken. Return None where its requests, none of them a leave, would give
        a name.
        """
        is_named = (steady.wire_client or _NO_ID, steady.member) in self._of_member or naming_apis().isdisjoint(steady.apis)
        return self._of_connection.get(steady.connection) if is_named else None

    def _follow(self, obs: Observation, client: str, connection: int) -> None:
        if obs.kind == "request" and connection not in self._of_connection and (obs.member or obs.api in naming_apis()):
            self._of_connection[connection] = self._of_member.get((client, obs.member or "")) or self._new(client)
        elif obs.kind == "response" and obs.api in naming_apis() and obs.member and connection in self._of_connection:
            self._of_member.setdefault((client, obs.member), self._of_connection[connection])

    def _new(self, client: str) -> str:
        if client in self._named:
            return client
        self._counts[client] = self._counts.get(client, 0) + 1
        return client if self._counts[client] == 1 else f"{client}#{self._counts[client]}"

    def _name(self, obs: Observation, client: str, connection: int) -> str | None:
        if (process := self._of_connection.get(connection)) is not None:
            return process
        if client in self._named:
            return client
        if obs.api == _LEAVE:
            return None
        is_of_process = self._counts.get(client) == 1 and obs.api != _FIND and not _is_nameless(obs)
        return client if is_of_process else f"{client}@{connection}"

    def final_name(self, obs: Observation) -> str | None:
        """Return the name of the process of an observation, once the whole trace is known."""
        client = _client_of(obs)
        if client is None or obs.connection is None or client in self._named:
            return obs.client
        if (process := self._of_connection.get(obs.connection)) is not None:
            return self.label_of(process)
        if obs.api == _LEAVE:
            return None
        is_apart = self._counts.get(client, 0) > 1 or (self._counts.get(client) and _is_nameless(obs))
        return f"{client}@{obs.connection}" if is_apart else client

    def label_of(self, name: str) -> str:
        """Return the name of a process once all are known: the first of several is then numbered too."""
        return f"{name}#1" if self._counts.get(name, 0) > 1 else name


def _client_of(obs: Observation) -> str | None:
    """Return the client id of an observation. Only a frame may lack it: null is legal in a request's header, and brokers read it as "" (Kafka's
    `RequestHeader`).
    """
    return obs.client or (_NO_ID if obs.kind in ("request", "response") else None)


def _is_nameless(obs: Observation) -> bool:
    return obs.api == _COMMIT and not obs.member


def with_process_names(trace: Trace) -> Trace:
    """Return the trace of one group with client ids that each mean one process: a single `app` keeps its name; several become `app#1`, `app#2`, …"""
    naming = Naming(forgets=False)
    for obs in trace:
        naming.named(obs)
    return [
        observation if (name := naming.final_name(observation)) == observation.client else replace(observation, client=name) for observation in trace
    ]
