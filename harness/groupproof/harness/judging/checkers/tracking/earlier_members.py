"""Which members a trace has from their beginning. What the others got is in no answer of the trace, so their requests cannot be judged. Pure.

A trace may begin in the middle of a group's life, and a capture may lack an answer. An earlier member is not judged until an answer lets it in
again: JoinGroup's, or the one to a heartbeat with epoch 0. If the coordinator records that it made the group, there were no earlier members.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.membership import joins_of
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis, naming_apis, readers_by_api
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["EarlierMembers"]

_SYNC, _COMMIT = Api.SYNC_GROUP.title, Api.OFFSET_COMMIT.title
_LOADED: Final = f"{ClassicEvent.LOADED.value}/"


@dataclass(slots=True)
class EarlierMembers:
    """Follows one group, whose clients have the names of their processes. A number here is a generation or a member epoch."""

    _is_whole: bool = False
    _newcomers: set[str] = field(default_factory=set)
    _earlier: set[str] = field(default_factory=set)
    _ids: set[tuple[str, str]] = field(default_factory=set)
    _newest: dict[str, int] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _open: dict[str, ExchangeId] = field(default_factory=dict)
    _syncing: dict[str, ExchangeId] = field(default_factory=dict)

    def is_judged(self, obs: Observation) -> bool:
        """Record the next observation. Return whether everything is known by which it must be judged."""
        if obs.kind == "transition" and _makes(obs):
            self._is_whole = True
            self._earlier.clear()
        client = obs.client
        if self._is_whole or client is None or obs.api not in membership_apis():
            return True
        if obs.kind == "request":
            self._asked(obs, client)
            return client not in self._earlier and not 0 <= _number(obs) < self._since.get(client, -1)
        if obs.kind == "response":
            self._answered(obs, client)
        return client not in self._earlier

    def is_settled(self, steady: Steady) -> bool:
        """Return whether a member's steady exchanges are judged and change nothing here."""
        client, number = steady.client, steady.generation
        is_known = client in self._newcomers and client not in self._earlier and self._since.get(client, -1) <= number
        was_given = (client, steady.member) in self._ids and number <= self._newest.get(client, -1)
        return self._is_whole or (is_known and client not in self._syncing and (client not in self._open or was_given))

    def _asked(self, obs: Observation, client: str) -> None:
        reader = readers_by_api().get(obs.api or "")
        joins = reader is not None and reader.is_join(obs)
        if reader is not None and joins and (not obs.member or reader.brings_id(obs)):
            self._newcomers.add(client)
            self._earlier.discard(client)
            self._since.pop(client, None)
        elif obs.member and (client not in self._newcomers or self._lacks_an_answer(obs, client, joins=joins)):
            self._earlier.add(client)
        if obs.api in naming_apis():
            self._open[client] = obs.exchange_id
            self._syncing.pop(client, None)
        elif obs.api == _SYNC:
            self._syncing[client] = obs.exchange_id

    def _lacks_an_answer(self, obs: Observation, client: str, *, joins: bool) -> bool:
        """Return whether an answer is missing: a client uses an id or a newer number than it got, or commits, while the answer that may give it is
        open.
        """
        if client in self._syncing and obs.api == _COMMIT:
            return True
        if client not in self._open:
            return False
        return (client, obs.member) not in self._ids or (not joins and _number(obs) > self._newest.get(client, -1))

    def _answered(self, obs: Observation, client: str) -> None:
        for asked in (self._open, self._syncing):
            if asked.get(client) == obs.exchange_id:
                del asked[client]
        if obs.api not in naming_apis():
            return
        if obs.member and error_of(obs) in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._ids.add((client, obs.member))
        if error_of(obs) or (number := _number(obs)) < 0:
            return
        self._newest[client] = max(number, self._newest.get(client, -1))
        if number < self._since.get(client, -1):
            del self._since[client]  # the group was created again
        if joins_of(obs) is not None:
            if client in self._earlier:
                self._since[client] = number
            self._newcomers.add(client)
            self._earlier.discard(client)


def _number(obs: Observation) -> int:
    number = obs.member_epoch if obs.generation is None else obs.generation
    return -1 if number is None else number


def _makes(transition: Observation) -> bool:
    """Return whether the coordinator makes a group under a name that had none. A log does not contain the rule."""
    rule = transition.rule or ""
    is_empty = transition.state_after == GroupState.EMPTY.value and not transition.generation
    return bool(rule) and not rule.startswith(_LOADED) and transition.state_before is None and is_empty
