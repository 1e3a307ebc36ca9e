"""Whether a client keeps the other members out of its group, because its shim cannot set its assignors and it has none of theirs. Pure.

The coordinator then refuses one of them with INCONSISTENT_GROUP_PROTOCOL (JOIN-09), and no case with both can go on. The driver that ends the
steps and the judge that says why use the same values.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupproof.harness.model.client_timeouts import Terms, TermsReader
from groupproof.harness.model.plan import DEFAULT_ASSIGNORS, Member, Plan
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["ForeignAssignors", "assignors_offered", "shared_assignors"]

_JOIN = Api.JOIN_GROUP.title


def shared_assignors(plan: Plan) -> dict[str, frozenset[str]]:
    """Return for each subject the assignors that it shall share with reference members. A subject that shall share none is left out."""
    theirs = {name for member in plan.members if member.kind != "subject" for name in _assignors_of(member)}
    shared = {member.name: theirs & set(_assignors_of(member)) for member in plan.members if member.kind == "subject"}
    return {subject: frozenset(names) for subject, names in shared.items() if names}


def _assignors_of(member: Member) -> tuple[str, ...]:
    return tuple(member.settings.get("assignors", DEFAULT_ASSIGNORS))


def assignors_offered(join: Observation) -> list[str]:
    """Return the names of the protocols in a JoinGroup."""
    return [protocol["name"] for protocol in join.body.get("protocols") or ()]


class ForeignAssignors:
    """Takes every observation of a trace in order. `shared` are the assignors that clients shall share with others."""

    def __init__(self, shared: Mapping[str, frozenset[str]]) -> None:
        self._shared = shared
        self._terms = TermsReader()
        self._made_up: set[ExchangeId] = set()
        self._is_refused = False

    def feed(self, obs: Observation) -> str:
        """Return in words which client keeps others out of its group; "" as long as none does."""
        self._terms.feed(obs)
        if obs.kind == "fault" and obs.detail == "triggered":
            self._made_up.add(obs.exchange_id)
        elif obs.kind == "response" and obs.api == _JOIN and obs.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            self._is_refused = self._is_refused or obs.exchange_id not in self._made_up
        if not self._is_refused:
            return ""
        found = (client for client, names in self._shared.items() if _lacks(self._terms.of(client), names))
        return next((_describe(client, self._shared[client]) for client in found), "")


def _lacks(terms: Terms, names: frozenset[str]) -> bool:
    return "assignors" in terms.ignored and terms.join is not None and names.isdisjoint(assignors_offered(terms.join))


def _describe(client: str, names: frozenset[str]) -> str:
    theirs = " or ".join(sorted(names))
    return f"the shim of {client} does not set assignors, and {client} does not offer {theirs}, which others in its group have"
