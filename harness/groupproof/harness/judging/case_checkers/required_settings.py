"""The settings that a case requires. If a client's shim cannot set one and the wire does not show it either, the case is UNIMPLEMENTED."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from groupproof.harness.judging.foreign_assignors import ForeignAssignors, assignors_offered
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import CaseNotOffered, Evidence
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["SCALED", "insists_on", "not_on_the_wire", "offers"]

SCALED: Final = frozenset({"session_timeout_ms", "heartbeat_interval_ms", "poll_timeout_ms"})
"""Settings that scale judges and waits. The client's actual values are read from the wire (`client_timeouts.py`)."""


def insists_on(settings: Mapping[str, Mapping[str, Any]], shared: Mapping[str, frozenset[str]] = MappingProxyType({})) -> Judge:
    """Return a judge that makes a case UNIMPLEMENTED for a client whose shim ignores one of these settings, by member, or that keeps others out of
    its group, because it has none of the assignors in `shared`. It finds nothing on any other client."""

    def judge(ev: Evidence) -> Iterable[Finding]:
        for client, wanted in settings.items():
            terms = ev.terms(client)
            ignored = sorted(name for name in terms.ignored & set(wanted) if not _shows(terms.join, name, wanted[name]))
            if ignored:
                raise CaseNotOffered(f"the shim of {client} does not set {' and '.join(ignored)}, which the case is about")
        foreign = ForeignAssignors(shared)
        for obs in ev.trace if any("assignors" in ev.terms(client).ignored for client in shared) else ():
            if lack := foreign.feed(obs):
                raise CaseNotOffered(lack)
        return ()

    return judge


def not_on_the_wire(settings: Iterable[str]) -> frozenset[str]:
    """Return the settings that no request shows. A shim that ignores one of them has decided the case."""
    return frozenset(settings) - _ON_THE_WIRE.keys()


def offers(client: str, assignor: str) -> Judge:
    """Return a judge that makes a case about an assignor UNIMPLEMENTED for a client that joined only with others. It finds nothing on any other
    client."""

    def judge(ev: Evidence) -> Iterable[Finding]:
        join = ev.terms(client).join
        if join is not None and assignor not in assignors_offered(join):
            raise CaseNotOffered(f"{client} does not offer {assignor}, which the case is about")
        return ()

    return judge


def _shows(join: Observation | None, name: str, wanted: Any) -> bool:
    """Return whether the client's JoinGroup has the wanted value, although its shim cannot set it."""
    return join is not None and name in _ON_THE_WIRE and _ON_THE_WIRE[name](join) == wanted


_ON_THE_WIRE: Final[Mapping[str, Callable[[Observation], Any]]] = {
    "session_timeout_ms": lambda join: join.body.get("session_timeout_ms"),
    "max_poll_interval_ms": lambda join: join.body.get("rebalance_timeout_ms"),
    "instance_id": lambda join: join.body.get("group_instance_id") or join.instance,
    "assignors": assignors_offered,
}
