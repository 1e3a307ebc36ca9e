"""After the faults: the group settles within a bound and then does not change (INV-12, ASSIGN-09, HB-11)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from groupproof.harness.simulation.settings import InvariantBroken, Simulation
from groupproof.protocol.rules import ClassicEvent, profile
from groupproof.protocol.vocabulary import GroupState, TopicPartition

if TYPE_CHECKING:
    from groupproof.harness.simulation.invariants.all_invariants import Invariants
    from groupproof.harness.simulation.simulator_faults import FaultTargets

__all__ = ["Liveness", "Settlement", "settles_within_ms"]

_SLACK_MS: Final = 120_000
_LEADERS_RETURN: Final = (3, 2)
"""Since then a static leader that returns is told that it leads (KIP-814)."""

# A returned instance still owes the SyncGroup of its old id, as in Kafka. Before 2.1 an evicted member is evicted again (KAFKA-7196).
_DISTURBS_LATER: Final = (f"{ClassicEvent.SYNC_DEADLINE.value}/", f"{ClassicEvent.SESSION_END.value}/Stable/evicted-before")


def settles_within_ms(simulation: Simulation) -> int:
    """Return the bound in ms from the healing on: ghosts expire, and up to two join phases and a wait for SyncGroup take their full time."""
    assert simulation.session_timeout_ms is not None
    assert simulation.max_poll_interval_ms is not None
    return 4 * simulation.max_poll_interval_ms + 2 * simulation.session_timeout_ms + _SLACK_MS


class Settlement(ABC):
    """Says why a group is not settled, and which later transitions are allowed."""

    @abstractmethod
    def unsettled(self) -> tuple[str, str] | None:
        """Return the requirement that the group does not fulfil yet, and what is missing, or None if it is settled."""

    def may_disturb(self, rule: str, at_ms: int, silent_until_ms: int) -> bool:
        """Return whether a rule may move a settled group at `at_ms`. A silent member may be evicted until `silent_until_ms`."""
        return rule.startswith(f"{ClassicEvent.SESSION_END.value}/") and at_ms <= silent_until_ms

    def check(self, when: str) -> None:
        """Raise `InvariantBroken` if the group is not settled."""
        found = self.unsettled()
        if found is not None:
            raise InvariantBroken(found[0], f"{when}: {found[1]}")


class Liveness(Settlement):
    """A classic group is settled when it is Stable, every process is a member, and every partition has one owner."""

    def __init__(self, simulation: Simulation, targets: FaultTargets, invariants: Invariants) -> None:
        self._targets, self._invariants = targets, invariants
        self._loses_leaders = profile(simulation.profile).release < _LEADERS_RETURN

    def unsettled(self) -> tuple[str, str] | None:
        generations = self._invariants.generations
        if generations.state is not GroupState.STABLE:
            return "INV-12", f"the group is in {generations.state}"
        absent = [
            name
            for name, process in self._targets.processes.items()
            if not process.is_up or process.member.is_closing or not process.member.is_settled
        ]
        if absent:
            return "CLIENT-30", f"{_listed(absent)} not settled in generation {generations.current.number}"
        here = set(self._invariants.deadlines.member_ids())
        ghosts = here - {process.member.member_id for process in self._targets.processes.values()}
        kept = set(filter(self._invariants.deadlines.stays_for_ever, ghosts))
        if ghosts - kept or len(here - kept) != len(self._targets.processes):
            return "HB-11", f"the group has {len(here)} members, {_listed(sorted(ghosts - kept))} without a process"
        return None if generations.current.is_incomplete else self._unowned(least=0 if kept else 1)

    def _unowned(self, *, least: int) -> tuple[str, str] | None:
        """Return a partition that has more than one owner, or fewer than `least`: what the leader gave to a member without a process has none."""
        owners: dict[TopicPartition, int] = {}
        for process in self._targets.processes.values():
            for partition in process.member.owned:
                owners[partition] = owners.get(partition, 0) + 1
        wanted = {topic for process in self._targets.processes.values() for topic in process.topics}
        partitions = [(topic, number) for topic in sorted(wanted) for number in range(self._targets.brokers.topics.get(topic, 0))]
        odd = [partition for partition in partitions if not least <= owners.get(partition, 0) <= 1 and not self._was_overlooked(partition, owners)]
        if odd:
            return "ASSIGN-09", f"{odd[0][0]}-{odd[0][1]} has {owners.get(odd[0], 0)} owners"
        return None

    def _was_overlooked(self, partition: TopicPartition, owners: Mapping[TopicPartition, int]) -> bool:
        """Return whether a partition was added while the static leader was away, or where no process knows that it leads.

        Java's client treats the partitions that it finds on its return as assigned (ConsumerCoordinator.onLeaderElected, skipAssignment: KIP-814).
        Before KIP-814 the answer to a returned leader names its old id as the leader's, so that nobody compares the topics any more.
        """
        generation, (topic, number) = self._invariants.generations.current, partition
        is_new = all(number > assigned for name, assigned in generation.assigned if name == topic)
        if not is_new or partition in owners:
            return False
        counts = [process.member.assigned_counts for process in self._targets.processes.values() if process.member.assigned_counts]
        return (self._loses_leaders and not counts) or (generation.has_resumed and any(number < count.get(topic, 0) for count in counts))

    def may_disturb(self, rule: str, at_ms: int, silent_until_ms: int) -> bool:
        return super().may_disturb(rule, at_ms, silent_until_ms) or rule.startswith(_DISTURBS_LATER)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else "none"
