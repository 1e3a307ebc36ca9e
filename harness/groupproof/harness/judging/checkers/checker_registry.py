"""Routes a group's observations to the checkers of the dialect that its members speak. Each dialect's checkers are registered here. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.frame_facts import error_of, is_conversion
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.reader_registry import naming_apis, readers_by_api
from groupproof.harness.model.dialect_parts import PartRegistry, on_part_change
from groupproof.protocol.rules.dialect_registry import dialect_named, dialect_of_rule
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CHECKERS", "DialectRouter", "checkers_named", "checkers_spoken"]

CHECKERS: Final = PartRegistry(DialectCheckers, CLASSIC_CHECKERS, CONSUMER_CHECKERS)


def checkers_named(dialect: str) -> DialectCheckers | None:
    """Return the checkers of the dialect of that name, or None."""
    return CHECKERS.of(dialect_named(dialect))


@lru_cache(maxsize=1)
def _names() -> Mapping[str, str]:
    return {api: reader.dialect.name for api, reader in readers_by_api().items()}


on_part_change(_names.cache_clear)


@dataclass(slots=True)
class DialectRouter:
    """Returns for each observation of one group the dialect whose checkers need it. `spoken` are the names of the dialects so far, in order of
    appearance.

    A frame belongs to the dialect that has its request. A frame that all dialects share belongs to the dialect in which its member id was made. If
    it names no such id, it belongs to the dialect that was spoken last on its connection, or else to the only one that its client speaks, or else
    to the only one that the group speaks. A client commits on any connection: a reconnected one, or one of its own. A transition belongs to the
    dialect of its rule, an application's event to the one that its client spoke last. Any other observation is for all checkers, such as
    the transition of a group that is converted.
    """

    spoken: dict[str, None] = field(default_factory=dict)
    _of_member: dict[str, str] = field(default_factory=dict)
    _of_connection: dict[int | None, str] = field(default_factory=dict)
    _of_client: dict[str | None, dict[str, None]] = field(default_factory=dict)

    def route(self, obs: Observation) -> str | None:
        """Record the next observation. Return the name of its dialect, or None where it is for all."""
        if is_conversion(obs):
            return None
        if obs.kind in ("transition", "timer"):
            return dialect_of_rule(obs.rule).name if obs.rule else None
        dialect = _names().get(obs.api or "")
        if dialect is not None:
            self._follow(obs, dialect)
            return dialect
        if obs.who == "link":
            if obs.body.get("name") == "closed":
                self._of_connection.pop(obs.connection, None)
            return None
        of_client = self._of_client.get(obs.client) or {}
        if obs.api is None or obs.connection is None:
            return next(reversed(of_client), None)
        found = self._of_member.get(obs.member or "") or self._of_connection.get(obs.connection)
        return found or _only(of_client) or (None if of_client else _only(self.spoken))

    def _follow(self, obs: Observation, dialect: str) -> None:
        self.spoken[dialect] = None
        if obs.connection is not None:
            self._of_connection[obs.connection] = dialect
        of_client = self._of_client.setdefault(obs.client, {})
        if next(reversed(of_client), None) != dialect:
            of_client.pop(dialect, None)
            of_client[dialect] = None
        if obs.member and _makes_id(obs):
            self._of_member.setdefault(obs.member, dialect)

    def steady_dialect(self, steady: Steady) -> str | None:
        """Return the dialect of a member's steady exchanges, if its connection and its client spoke it last, and its id was made in it; None where
        the exchanges change that.
        """
        dialect = self._of_connection.get(steady.connection)
        is_spoken = dialect in self.spoken and next(reversed(self._of_client.get(steady.wire_client) or {}), None) == dialect
        of_member = self._of_member.get(steady.member)
        is_its_own = of_member == dialect if of_member is not None else naming_apis().isdisjoint(steady.apis)
        return dialect if is_spoken and is_its_own and all(_names().get(api, dialect) == dialect for api in steady.apis) else None


def _only(dialects: Mapping[str, None]) -> str | None:
    return next(iter(dialects)) if len(dialects) == 1 else None


def _makes_id(obs: Observation) -> bool:
    """Return whether the frame makes its member id: the answer that names a member, or the join of a client that chose the id itself."""
    if obs.kind == "request":
        reader = readers_by_api().get(obs.api or "")
        return reader is not None and reader.brings_id(obs)
    return obs.kind == "response" and obs.api in naming_apis() and error_of(obs) in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)


def checkers_spoken(story: Iterable[Observation]) -> list[tuple[DialectCheckers, list[Observation]]]:
    """Return the checkers of each dialect that a group speaks, with their observations. Return the classic ones for a group without any request of
    a dialect.
    """
    router, observations = DialectRouter(), list(story)
    routes = [router.route(obs) for obs in observations]
    found = [part for name in router.spoken if (part := checkers_named(name)) is not None]
    if len(router.spoken) < 2:
        return [(part, observations) for part in found or ([] if router.spoken else [CLASSIC_CHECKERS])]
    return [(part, [obs for obs, route in zip(observations, routes, strict=True) if route in (None, part.dialect.name)]) for part in found]
