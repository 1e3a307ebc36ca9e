"""The rebalances of a fleet, counted twice: by what its members saw, and by the coordinator's own trace. Pure.

A rebalance is a generation that was formed: the members' JoinGroup was answered with it, and the coordinator went on to wait for the assignment.
A group that empties gets a new generation too, which no answer carries; it is none here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["Comparison", "FormedGeneration", "compared", "formed_by_coordinator", "formed_by_members"]


@dataclass(slots=True)
class FormedGeneration:
    """One generation of one group: when it was formed, and by whom, as far as that side tells; `count` is None where it tells no number."""

    group: str
    generation: int
    at_ns: int
    members: set[str] = field(default_factory=set)
    count: int | None = None


Rebalances = dict[tuple[str, str, int], FormedGeneration]
"""By run, group and generation: a run that goes on where another was cut short has a coordinator of its own."""


def formed_by_members(trace: Iterable[Observation]) -> Rebalances:
    """Return the generations that any member was answered with; of members, or of a tap that saw their frames."""
    found: Rebalances = {}
    for obs in trace:
        if obs.kind == "response" and obs.api == Api.JOIN_GROUP.title and not obs.error and obs.group is not None and (obs.generation or 0) > 0:
            assert obs.generation is not None, "it is above 0"
            generation = found.setdefault((obs.run, obs.group, obs.generation), FormedGeneration(obs.group, obs.generation, obs.at_ns))
            generation.members.add(obs.member or obs.client or "")
            generation.count = len(generation.members)
    return found


def formed_by_coordinator(trace: Iterable[Observation]) -> Rebalances:
    """Return the generations whose join phase the coordinator ended with members in it: its own trace, or a broker's log that was imported."""
    found: Rebalances = {}
    for obs in trace:
        if obs.kind == "transition" and obs.state_after == GroupState.COMPLETING_REBALANCE.value and obs.group is not None:
            generation = obs.generation or 0
            count = obs.body.get("members")
            formed = FormedGeneration(obs.group, generation, obs.at_ns, count=None if count is None else int(count))
            found.setdefault((obs.run, obs.group, generation), formed)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What both sides tell: rebalances that both have, those that one alone has, and those of which they tell other numbers of members."""

    both: int
    members_only: tuple[tuple[str, int], ...]
    coordinator_only: tuple[tuple[str, int], ...]
    counted_apart: tuple[tuple[str, int, int, int], ...]

    @property
    def is_same(self) -> bool:
        """Whether both sides have exactly the same rebalances."""
        return not self.members_only and not self.coordinator_only


def compared(members: Mapping[tuple[str, str, int], FormedGeneration], coordinator: Mapping[tuple[str, str, int], FormedGeneration]) -> Comparison:
    """Compare both sides, rebalance by rebalance; a log that was imported has no run of its own and is compared by group and generation."""
    is_named = {run for run, _, _ in members} <= {run for run, _, _ in coordinator}
    ours, theirs = (_keyed(side, is_named=is_named) for side in (members, coordinator))
    shared = sorted(ours.keys() & theirs.keys())
    counts = [(ours[key], theirs[key]) for key in shared]
    return Comparison(
        both=len(shared),
        members_only=tuple(_plain(ours[key]) for key in sorted(ours.keys() - theirs.keys())),
        coordinator_only=tuple(_plain(theirs[key]) for key in sorted(theirs.keys() - ours.keys())),
        counted_apart=tuple(
            (mine.group, mine.generation, mine.count, own.count)
            for mine, own in counts
            if mine.count is not None and own.count is not None and mine.count != own.count
        ),
    )


def _keyed(side: Mapping[tuple[str, str, int], FormedGeneration], *, is_named: bool) -> dict[tuple[str, str, int], FormedGeneration]:
    return dict(side) if is_named else {("", group, generation): formed for (_, group, generation), formed in side.items()}


def _plain(generation: FormedGeneration) -> tuple[str, int]:
    return generation.group, generation.generation
