"""The generations that a member led: its SyncGroups, and its assignments in the form of any dialect. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["generations_of", "syncs_of_leader"]

Generation = TypeVar("Generation")


def syncs_of_leader(
    ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None
) -> Iterator[tuple[Observation, Observation]]:
    """Yield the SyncGroups of `client` in generations that it led, each with the JoinGroup response that made it leader."""
    joins = [obs for obs in ev.responses(Api.JOIN_GROUP, client) if error_of(obs) == 0 and obs.body.get("leader") == obs.member]
    for sync in ev.requests(Api.SYNC_GROUP, client, after, before):
        led = [join for join in joins if join.generation == sync.generation and join.member == sync.member and join.seq < sync.seq]
        if led:
            yield sync, led[-1]


def generations_of(
    read: Callable[[Evidence, str, str | int | None, str | int | None], Iterator[Generation]],
    ev: Evidence,
    client: str,
    after: str | None,
) -> list[Generation]:
    """Return what `client` assigned until it was asked to close. Raise `NotReached` where it assigned nothing."""
    generations = list(read(ev, client, after, ev.closing))
    if not generations:
        raise NotReached(f"{client} led no generation" + (f" after {after}" if after else ""))
    return generations
