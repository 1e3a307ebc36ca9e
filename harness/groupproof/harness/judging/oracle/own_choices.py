"""The choices of a broker whose generations, newcomers, targets or epochs are other than Kafka's: read from its answers, within the protocol. Pure.

Kafka's choices are tried first, with `RecordedChoices`. This class follows a broker that differs, and checks each choice against the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.assignors.group_spec import partitions_in, share_of
from groupproof.coordinator.machine.guards import MEMBER_ID_REQUIRED_SINCE
from groupproof.harness.judging.oracle.recorded_choices import RecordedChoices
from groupproof.harness.judging.oracle.recorded_targets import RangeTargets, TargetEvidence, evidence_of, is_as_shown, is_wholly_shown, reconstructed
from groupproof.harness.judging.oracle.replay_result import Deviation
from groupproof.harness.judging.oracle.target_legality import broken_rule, milder_rule
from groupproof.protocol.vocabulary import Api, ErrorCode, Level
from groupproof.protocol.wire.messages import JoinGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.assignors.group_spec import TargetAssignment, TopicIdPartition
    from groupproof.coordinator.machine.choices import JoinedGroup, TargetQuestion
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.harness.judging.oracle.exchanges import Exchange

__all__ = ["OwnChoices", "may_admit_at_once"]

_COMPUTING: Final = (Api.CONSUMER_GROUP_HEARTBEAT, Api.JOIN_GROUP)
"""Requests that may start the computation of a target, if they are no leaves and not refused."""

_TIES: Final = {"uniform": "CGA-12", "range": "CGA-15"}
"""The requirements about what Kafka's assignors do where the protocol leaves the target open."""


class OwnChoices(RecordedChoices):
    """Makes a group's choices as its answers show them, where they do and where that is legal; otherwise as Kafka does."""

    counts_by_one = False

    def __init__(self, exchanges: Sequence[Exchange], way: Callable[[str, int, int], int] = lambda *_: 0) -> None:
        super().__init__(exchanges, way)
        self._answers = sorted((exchange for exchange in exchanges if exchange.answer is not None), key=lambda exchange: exchange.seq)
        self._step = 1
        self._was_due = False  # whether a target was due before the last change
        self._has_numbered = False  # whether a generation of members was completed: an Empty group may have the number 0 without one
        self._admits_at_once = admits_at_once(exchanges)
        self._changes = 0  # since the last target; after several the broker may have computed one that no answer shows

    def _to_come(self) -> Iterator[Exchange]:
        return (exchange for exchange in self._answers if exchange.number not in self.answered)

    def _exchange_of(self, arrival: Arrival | None) -> Exchange | None:
        return None if arrival is None else self._exchanges[int(str(arrival.token))]

    # Generations and newcomers of classic groups

    def generation(self, group: JoinedGroup) -> int:
        """Return the number that the answers to the group's parked JoinGroups have, if it grew; otherwise Kafka's, so that those answers diverge.

        Nobody is told the number of an Empty group: the next one shows whether it counted.
        """
        before, usual = group.generation, group.generation + 1
        if not group.members.by_id:
            is_counted = next(self._numbers_to_come(), usual + 1) != usual
            if not is_counted:
                self._notes_number("A group that becomes Empty counts no generation: legal.", self._latest_seq)
            return usual if is_counted else before
        parked = [self._exchanges[int(str(member.join.token))] for member in group.members if member.join is not None]
        answers = [exchange for exchange in parked if _number_in(exchange) is not None]
        answer = next((exchange for exchange in answers if _number_in(exchange) == usual), next(iter(answers), None))
        number = self._number_unshown(before) if answer is None else _number_in(answer)
        is_first = not before and (group.subscriptions is None or not self._has_numbered)
        self._has_numbered = True
        if number is None or number == usual or number < (0 if is_first else usual):
            return usual
        words = "The first generation has another number" if is_first else "A rebalance counts several generations"
        self._notes_number(f"{words}: legal.", self._latest_seq if answer is None else answer.seq)
        return number

    def _number_unshown(self, before: int) -> int:
        """Return the number of a generation whose JoinGroups were not answered: the next, or one that a member hears as it joins again unchanged."""
        later = next((number for number in self._numbers_to_come() if number > before + 1), None)
        return before + 1 if later is None or not self._way("generation", -1 - before, 2) else later

    def _numbers_to_come(self) -> Iterator[int]:
        return (int(answer["generation_id"]) for _, answer in self._coming())

    @property
    def _latest_seq(self) -> int:
        return max((exchange.seq for exchange in self._answers if exchange.number in self.answered), default=0)

    def _notes_number(self, observed: str, seq: int) -> None:
        expected = "The first generation is 1, and each rebalance counts one, also one that leaves the group Empty."
        self.deviations.append(Deviation(requirement="INV-04", expected=expected, observed=observed, seq=seq, level=Level.INFO))

    def joins_at_once(self, exchange: Exchange) -> bool:
        """Return whether the broker admits a newcomer at once.

        Its answer shows that, or the answers to other newcomers. Without any it is a branch: the JoinGroup may be parked, or Kafka's answer is missing.
        """
        if exchange.code == ErrorCode.MEMBER_ID_REQUIRED or not needs_member_id(exchange):
            return False
        is_admitted = self._admits_at_once or (exchange.answer is None and self._way("admits", exchange.number, 2) == 1)
        if is_admitted and exchange.code in (ErrorCode.NONE, None):
            expected = "A newcomer is answered MEMBER_ID_REQUIRED with its id, and joins with that (KIP-394)."
            observed = "It is admitted at once. If it does not hear the answer, a member that nobody is stays until its session ends."
            self.deviations.append(Deviation(requirement="PEND-01", expected=expected, observed=observed, seq=exchange.seq, level=Level.SHOULD))
        return is_admitted

    # Targets

    def target(self, question: TargetQuestion) -> TargetAssignment:
        """Return the broker's target: Kafka's where it agrees with the answers, otherwise the target that the answers show, if it is legal
        (CGA-04 to CGA-22)."""
        is_certain, self._changes = self._changes == 1, 0
        kafkas = {member_id: partitions_in(share) for member_id, share in question.kafkas.items()}
        whole = evidence_of(question, self._to_come(), with_orders=True)
        ways = self._targets(question, kafkas, whole)
        chosen = ways[self._way("target", question.group.generation, len(ways)) if len(ways) > 1 else 0]
        is_certain = is_certain and is_wholly_shown(chosen, whole)
        is_legal = chosen != kafkas and self._is_legal(question, chosen, whole.seq, is_certain=is_certain)
        return _in_order({member_id: share_of(own) for member_id, own in chosen.items()} if is_legal else question.kafkas, whole.topics)

    def _targets(
        self, question: TargetQuestion, kafkas: dict[str, set[TopicIdPartition]], whole: TargetEvidence
    ) -> list[dict[str, set[TopicIdPartition]]]:
        """Return the possible targets, the likeliest first: by all answers, by those that can be of no other target, or guessed from later targets."""
        is_kafkas = is_as_shown(kafkas, whole)
        if is_kafkas and is_wholly_shown(kafkas, whole):
            return [kafkas]
        ranges = RangeTargets(question)
        found = [kafkas]
        if not is_kafkas:
            certain = evidence_of(question, self._to_come(), with_orders=False)
            found = [reconstructed(question, whole, ranges), kafkas if is_as_shown(kafkas, certain) else reconstructed(question, certain, ranges)]
        found.append(reconstructed(question, whole, ranges, by_later=True))
        return [owned for place, owned in enumerate(found) if owned not in found[:place]]

    def _is_legal(self, question: TargetQuestion, owned: dict[str, set[TopicIdPartition]], seq: int, *, is_certain: bool) -> bool:
        """Return whether a target other than Kafka's is legal, and record it as a deviation."""
        expected = f"The assignor {question.assignor} gives what the protocol lets it give."
        broken = broken_rule(question, owned)
        advice = None if broken is not None else milder_rule(question, owned, is_certain=is_certain)
        level = Level.MUST if broken is not None else Level.SHOULD if advice is not None else Level.INFO
        requirement, words = broken or advice or (_TIES[question.assignor], f"assigns otherwise than Kafka's {question.assignor}: legal")
        self.deviations.append(Deviation(requirement=requirement, expected=expected, observed=f"It {words}.", seq=seq, level=level))
        return broken is None

    # Epochs

    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        """Return the next epoch that the answers show, or a step as large as the last one."""
        self._changes += 1
        self._was_due = group.generation > group.assignment_epoch
        before, ways = group.generation, self._epochs(group, self._exchange_of(arrival))
        chosen = ways[self._way("epoch", self._occasion(group, arrival), len(ways)) if len(ways) > 1 else 0]
        if chosen > before:
            self._step = chosen - before
        if chosen != before + 1:
            words = "two changes share one epoch" if chosen == before else "a change counts several epochs"
            self._deviates("CGI-14", "Each change counts the group epoch up by one.", f"Here {words}: legal.", arrival)
        return chosen

    def _epochs(self, group: ConsumerGroup, asked: Exchange | None) -> list[int]:
        before, own = group.generation, _epoch_shown(asked)
        is_due = before > group.assignment_epoch
        if own > before or (is_due and own == before):
            return [own]  # an answer with the epoch of a due target proves that it was computed: there is no other choice
        later = next((epoch for exchange in self._to_come() if (epoch := _epoch_shown(exchange)) > before), None)
        ways = [before + self._step] if later is None or before + self._step <= later else [later]
        return [*ways, *(epoch for epoch in (later, before if is_due else None) if epoch is not None and epoch not in ways)]

    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        """Return whether a target is computed, by the answers: a new member gets the epoch of the last target, and a description shows it."""
        asked = self._exchange_of(arrival)
        computes = self._computes_with(group, asked) if is_usual else self._computed_before_next(group, asked)
        expected = "A target is computed with the heartbeat that asks for it."
        if is_usual and not computes and self._was_due:
            self._deviates("CGR-26", expected, "It is not even computed with the next heartbeat.", arrival, Level.SHOULD)
        elif computes is not is_usual:
            words = "with the next heartbeat" if is_usual else "as a member goes"
            self._deviates("CGR-27", expected, f"It is computed {words}: legal.", arrival)
        return computes

    def _computes_with(self, group: ConsumerGroup, asked: Exchange | None) -> bool:
        own = _epoch_shown(asked)
        if not group.assignment_epoch or not own or own >= group.generation or asked is None:
            return True  # a group's first member has no epoch before the first target (CGM-03)
        is_likely = getattr(asked.message, "member_epoch", 0) != 0
        return (self._way("computes", asked.number, 2) == 0) is is_likely

    def _computed_before_next(self, group: ConsumerGroup, asked: Exchange | None) -> bool:
        """Return whether a target exists before a heartbeat can start its computation.

        In a group with classic members that also decides what remains without the others (CGG-52, CGG-64).
        """
        is_shown = next(
            (answer for exchange in self._to_come() if exchange is not asked and (answer := _shows_target(exchange, group)) is not None), False
        )
        is_mixed = group.classic or any(exchange.api is Api.JOIN_GROUP for exchange in self._to_come())
        if is_shown or not is_mixed:
            return is_shown
        return self._way("computes", -1 - group.generation if asked is None else asked.number, 2) == 1

    def _occasion(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        """Return a number for a change: the request's, or for a timer, which has none, one below zero that the epoch gives."""
        return -1 - group.generation if arrival is None else int(str(arrival.token))

    def _deviates(self, requirement: str, expected: str, observed: str, arrival: Arrival | None, level: Level = Level.INFO) -> None:
        asked = self._exchange_of(arrival)
        seq = 0 if asked is None else asked.seq
        self.deviations.append(Deviation(requirement=requirement, expected=expected, observed=observed, seq=seq, level=level))


def needs_member_id(exchange: Exchange) -> bool:
    """Return whether the request is a newcomer's JoinGroup that Kafka answers MEMBER_ID_REQUIRED (KIP-394)."""
    asked = exchange.message
    is_newcomer = isinstance(asked, JoinGroupRequest) and not asked.member_id and asked.group_instance_id is None
    return is_newcomer and exchange.version >= MEMBER_ID_REQUIRED_SINCE


def admits_at_once(exchanges: Iterable[Exchange]) -> bool:
    """Return whether an answer shows that the broker admits newcomers without the round of KIP-394."""
    return any(exchange.code == ErrorCode.NONE for exchange in exchanges if needs_member_id(exchange))


def may_admit_at_once(exchanges: Iterable[Exchange]) -> bool:
    """Return whether the broker may do so: a newcomer was admitted, or had no answer."""
    return any(exchange.code in (ErrorCode.NONE, None) for exchange in exchanges if needs_member_id(exchange))


def _number_in(exchange: Exchange) -> int | None:
    """Return the generation in the answer to a JoinGroup that was accepted; None for another answer, or none."""
    return int((exchange.answer or {}).get("generation_id", 0)) if exchange.code == ErrorCode.NONE else None


def _shows_target(exchange: Exchange, group: ConsumerGroup) -> bool | None:
    """Return whether an answer shows that the target of the group's epoch existed before it; None where it shows nothing."""
    if exchange.api is Api.CONSUMER_GROUP_DESCRIBE:
        groups = [described for described in (exchange.answer or {}).get("groups", ()) if not _is_given_up(described)]
        return any(described["assignment_epoch"] >= group.generation for described in groups) if groups else None
    computes = exchange.api in _COMPUTING and not exchange.code and getattr(exchange.message, "member_epoch", 0) >= 0
    return False if computes else None


def _is_given_up(described: Mapping[str, Any]) -> bool:
    """Tell whether a group is Empty and at the epoch of its target, be it that none was computed: with its last member nothing is due any more (CGR-32)."""
    return not described["members"] and described["assignment_epoch"] == described["group_epoch"]


def _epoch_shown(exchange: Exchange | None) -> int:
    """Return the epoch in an answer: the group's own, or the one that a member has reached; 0 for none."""
    if exchange is None or exchange.answer is None or exchange.code:
        return 0
    if exchange.api is Api.CONSUMER_GROUP_DESCRIBE:
        return max((int(group["group_epoch"]) for group in exchange.answer.get("groups", ())), default=0)
    if exchange.api is Api.CONSUMER_GROUP_HEARTBEAT:
        return int(exchange.answer["member_epoch"])
    return int(exchange.answer.get("generation_id", 0)) if exchange.api is Api.JOIN_GROUP else 0


def _in_order(target: TargetAssignment, topics: Mapping[str, list[str]]) -> TargetAssignment:
    """Return the target with each member's topics in the order of its assignment bytes."""
    if not topics:
        return target
    return {
        member_id: {topic_id: share[topic_id] for topic_id in dict.fromkeys((*topics.get(member_id, ()), *share)) if topic_id in share}
        for member_id, share in target.items()
    }
