"""Converts a scenario's waits to conditions of a plan. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from groupproof.chaos.scenarios.member_names import Cast
from groupproof.chaos.scenarios.scenario import Fault
from groupproof.chaos.scenarios.scenario_faults import code_of, names_of
from groupproof.harness.model.plan import Condition, GroupSettled, Matches
from groupproof.protocol.vocabulary import api_named

__all__ = ["UNTIL", "conditions_of"]

_Yields = Callable[[Mapping[str, Any], Cast, str | None, Mapping[str, Fault], Mapping[str, int]], Iterator[Condition]]


def _settled(how: Mapping[str, Any], cast: Cast, after: str | None, _: Mapping[str, Fault], topics: Mapping[str, int]) -> Iterator[Condition]:
    yield GroupSettled(members=cast.named(how["settled"]), topics=topics, after=after)


def _delivered(how: Mapping[str, Any], cast: Cast, _: str | None, faults: Mapping[str, Fault], __: Mapping[str, int]) -> Iterator[Condition]:
    fault = faults[how["delivered"]]
    for name in names_of(fault, () if fault.who is None else cast.named(fault.who)):
        yield Matches(kind_of="fault", fault=name, count=how.get("count", 1))


def _on_the_wire(kind_of: str, key: str) -> _Yields:
    def conditions(how: Mapping[str, Any], cast: Cast, after: str | None, _: Mapping[str, Fault], __: Mapping[str, int]) -> Iterator[Condition]:
        error = code_of(how.get("error", 0)) if kind_of == "response" else None
        for name in cast.named(how.get("who", "all")):
            where = {"member_epoch": how["epoch"]} if "epoch" in how else {}
            yield Matches(
                kind_of=kind_of, api=api_named(how[key]).title, client=name, after=after, count=how.get("count", 1), error=error, where=where
            )  # fmt: skip

    return conditions


def _reported(how: Mapping[str, Any], cast: Cast, after: str | None, _: Mapping[str, Fault], __: Mapping[str, int]) -> Iterator[Condition]:
    for name in cast.named(how.get("who", "all")):
        yield Matches(kind_of="event", event=how["told"], client=name, after=after, count=how.get("count", 1))


UNTIL: Final[Mapping[str, tuple[frozenset[str], _Yields]]] = {
    "settled": (frozenset(), _settled),
    "delivered": (frozenset({"count"}), _delivered),
    "sent": (frozenset({"who", "count", "epoch"}), _on_the_wire("request", "sent")),
    "answered": (frozenset({"who", "count", "error"}), _on_the_wire("response", "answered")),
    "told": (frozenset({"who", "count"}), _reported),
}
"""The possible waits by their field, with the optional fields beside it (`within` is possible for all)."""


def conditions_of(
    until: Mapping[str, Any], cast: Cast, *, after: str | None, faults: Mapping[str, Fault], topics: Mapping[str, int]
) -> list[Condition]:
    """Return the conditions to wait for, in order; they count from the mark `after`."""
    key = next(key for key in UNTIL if key in until)
    return list(UNTIL[key][1](until, cast, after, faults, topics))
