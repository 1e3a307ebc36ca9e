"""Counts the rebalances of a fleet twice: from its members' observations, and from the coordinator's own trace. Pure.

A rebalance is a formed generation: JoinGroup answers have it, and the coordinator then waits for the assignment.
A group that becomes empty gets a new generation too, which no answer has; it does not count here.

In the consumer protocol a member epoch counts that some member is given. The coordinator records its own answers. The group may have more epochs: a
member that is late goes to the newest target at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["Comparison", "FormedGeneration", "compared", "formed_by_coordinator", "formed_by_members"]


@dataclass(slots=True)
class FormedGeneration:
    """One generation of one group: when it was formed, and its members, as far as that side knows; `count` is None if it has no number."""

    group: str
    generation: int
    at_ns: int
    members: set[str] = field(default_factory=set)
    count: int | None = None


Rebalances = dict[tuple[str, str, int], FormedGeneration]
"""Rebalances by run, group and generation: a run that continues an interrupted one has a coordinator of its own."""


def formed_by_members(trace: Iterable[Observation]) -> Rebalances:
    """Return the generations in answers to members, from the trace of members, or of a tap with their frames."""
    found: Rebalances = {}
    for obs in trace:
        if obs.kind == "response" and obs.api == Api.JOIN_GROUP.title and not obs.error and obs.group is not None and (obs.generation or 0) > 0:
            assert obs.generation is not None, "it is above 0"
            generation = found.setdefault((obs.run, obs.group, obs.generation), FormedGeneration(obs.group, obs.generation, obs.at_ns))
            generation.members.add(obs.member or obs.client or "")
            generation.count = len(generation.members)
        else:
            _take_epoch(found, obs)
    return found


def _take_epoch(found: Rebalances, obs: Observation) -> None:
    """Record the epoch that a heartbeat's answer gives a member, if it is one."""
    epoch, is_answer = obs.member_epoch or 0, obs.kind == "response" and obs.api == Api.CONSUMER_GROUP_HEARTBEAT.title and not obs.error
    if is_answer and epoch > 0 and obs.group is not None:
        found.setdefault((obs.run, obs.group, epoch), FormedGeneration(obs.group, epoch, obs.at_ns))


def formed_by_coordinator(trace: Iterable[Observation]) -> Rebalances:
    """Return the generations whose join phase ended with members, from the coordinator's own trace or an imported broker log."""
    found: Rebalances = {}
    for obs in trace:
        if obs.kind == "transition" and obs.state_after == GroupState.COMPLETING_REBALANCE.value and obs.group is not None:
            generation = obs.generation or 0
            count = obs.body.get("members")
            formed = FormedGeneration(obs.group, generation, obs.at_ns, count=None if count is None else int(count))
            found.setdefault((obs.run, obs.group, generation), formed)
        else:
            _take_epoch(found, obs)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison: rebalances on both sides, on one side only, and with different numbers of members."""

    both: int
    members_only: tuple[tuple[str, int], ...]
    coordinator_only: tuple[tuple[str, int], ...]
    counted_apart: tuple[tuple[str, int, int, int], ...]

    @property
    def is_same(self) -> bool:
        """Whether both sides have exactly the same rebalances."""
        return not self.members_only and not self.coordinator_only


def compared(members: Mapping[tuple[str, str, int], FormedGeneration], coordinator: Mapping[tuple[str, str, int], FormedGeneration]) -> Comparison:
    """Compare both sides, rebalance by rebalance. An imported log has no run of its own, so it is compared by group and generation."""
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
