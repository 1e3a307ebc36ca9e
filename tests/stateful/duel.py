"""The real coordinator and the naive one side by side: whatever is done to one is done to the other, and all that can be seen must be alike.

Compared after every input, and at every instant at which a timer goes off: who was answered what, the moves between states, each group's
whole view (state, generation, leader, members, what is parked, pending ids), the stored offsets, and the next deadline. The machine may
have timers that come to nothing, but may not miss an instant at which the model does something.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from tests.stateful.naive_coordinator import NaiveCoordinator
from tests.stateful.naive_group import elect
from tests.stateful.naive_phases import Release

from groupproof.coordinator.assignors.group_spec import TargetAssignment
from groupproof.coordinator.machine.choices import JoinedGroup, TargetQuestion
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, GroupView, Output, Reply, Settings, Transition
from groupproof.coordinator.machine.storage import partition_of
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.admin_messages import DescribedGroup, DescribeGroupsResponse, ListGroupsResponse
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse, JoinGroupResponse

__all__ = ["ELSEWHERE", "GROUPS", "LOADING", "Disagreement", "Duel"]

GROUPS: Final = ("g", "h")
ELSEWHERE: Final = "led elsewhere"
LOADING: Final = "loading"
"""Groups of partitions that another broker leads, and that this one still loads."""

PARTITIONS: Final = 50
NEVER_MS: Final = 10**15
"""The periodic cleanup is done when the duel says so: its phase is no rule."""


class Disagreement(AssertionError):
    """The machine and the model did not do the same."""


class _Agreed:
    """The choices that no rule makes, made from what is chosen among alone, so that both sides come to the same."""

    counts_by_one = True

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        return f"{prefix}-{arrival.token}"

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return elect(candidates)

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        return elect(tied)

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        return tied[0]

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        return now_ms >= due_ms

    def resolves_at_once(self, arrival: object) -> bool:
        return False

    def target(self, question: TargetQuestion) -> TargetAssignment:
        return question.kafkas

    def group_epoch(self, group: ConsumerGroup, arrival: object) -> int:
        return group.generation + 1

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + 1

    def computes_target(self, group: object, arrival: object, *, is_usual: bool) -> bool:
        return is_usual


class Duel:
    """`settings` are the coordinator's, by their field names; `variant` is planted in the machine."""

    def __init__(self, variant: Variant = REFERENCE, release: Release = (4, 1), *, is_loading: bool = True, **settings: int) -> None:
        chosen = {
            "offsets_retention_check_interval_ms": NEVER_MS,
            "transaction_partition_verification_enable": 0,
            "offset_metadata_max_bytes": 1,
            **settings,
        }
        bent = {name.replace(".", "_"): value for name, value in variant.settings.items()}
        profile = "kafka-" + ".".join(str(number) for number in release[:2])
        led = set(range(PARTITIONS)) - {partition_of(ELSEWHERE, PARTITIONS)}
        self.machine = Coordinator(profile=profile, settings=Settings(**{**chosen, **bent}), choices=_Agreed(), variant=variant, partitions=led)
        self.model = NaiveCoordinator(Settings(**chosen), release)
        if is_loading:
            self.machine.begin_load(partition_of(LOADING, PARTITIONS))
        self.model.elsewhere, self.model.loading = {ELSEWHERE}, {LOADING} if is_loading else set()
        self.model.new_id = _Agreed().member_id
        self.now_ms = 0
        self.tokens = 0

    # What is done to both

    def ask(self, message: GroupRequest, version: int, client: str = "c") -> GroupResponse | None:
        """Send a request; return its answer, or None while it is parked."""
        self.tokens += 1
        arrival = Arrival(token=self.tokens, api_version=version, client_id=client, client_host="/h")
        outputs = self.machine.handle(message, arrival, self.now_ms)
        self.model.handle(message, arrival, self.now_ms)
        by_name = dict(self._compare(outputs, f"{message}"))
        return by_name.get(self.tokens)

    def wait(self, ms: int) -> None:
        """Let time pass, stopping wherever either side has a timer."""
        until_ms = self.now_ms + ms
        while (due_ms := self.next_ms()) is not None and due_ms <= until_ms:
            self._advance(max(due_ms, self.now_ms))
        self._advance(until_ms)

    def next_ms(self) -> int | None:
        dues = [item for item in (self.machine.next_deadline_ms(), self._model_due()) if item is not None and item < NEVER_MS]
        return min(dues, default=None)

    def clean_up(self) -> None:
        outputs = self.machine.clean_up(self.now_ms)
        self.model.clean_up(self.now_ms)
        self._compare(outputs, "clean up")

    def break_disk(self, error: ErrorCode) -> None:
        self.machine.append_error = self.model.disk = error

    def activate(self, *, is_active: bool) -> None:
        self.machine.active = self.model.is_active = is_active

    def end_transaction(self, producer_id: int, *, is_committed: bool) -> None:
        outputs = self.machine.end_transaction(producer_id, self._partitions(), self.now_ms, is_committed=is_committed)
        self.model.end_transaction(producer_id, is_committed=is_committed)
        self._compare(outputs, f"the end of transaction {producer_id}")

    def _partitions(self) -> set[int]:
        """Return the partitions of all groups, that without a name among them."""
        return {partition_of(name, PARTITIONS) for name in (*GROUPS, *self.model.groups)}

    def move(self) -> None:
        """Take every group away from the coordinator, and give it back as it was stored."""
        partitions = self._partitions()
        stored = {partition: self.machine.stored(partition) for partition in partitions}
        kept = dict(self.model.groups)
        outputs = [output for partition in partitions for output in self.machine.unload(partition, self.now_ms)]
        self.model.unload()
        self._compare(outputs, "unload")
        outputs = [output for partition in partitions for output in self.machine.load(partition, stored[partition], self.now_ms)]
        self.model.load(kept)
        self._compare(outputs, "load")

    # What must be alike

    def _advance(self, now_ms: int) -> None:
        self.now_ms = now_ms
        outputs = self.machine.advance(now_ms)
        self.model.advance(now_ms)
        self._compare(outputs, f"the time {now_ms}")

    def _model_due(self) -> int | None:
        timer = self.model.next_due()
        return None if timer is None else timer[0][0]

    def _compare(self, outputs: Iterable[Output], cause: str) -> list[tuple[Hashable, GroupResponse]]:
        outputs = list(outputs)
        pairs = [(output.token, _normal(output.message)) for output in outputs if isinstance(output, Reply)]
        moved = [(output.group_id, output.before, output.after, output.generation) for output in outputs if isinstance(output, Transition)]
        model, self.model.answers, moves, self.model.moves = self.model.answers, [], self.model.moves, []
        _same(_by_token(pairs), _by_token((token, _normal(message)) for token, message in model), f"answers to {cause}")
        _same(sorted(moved, key=_group_of), sorted(moves, key=_group_of), f"moves on {cause}")
        _same(sorted(self.machine.group_ids()), sorted(self.model.groups), f"groups after {cause}")
        for group_id in GROUPS:
            _same(_in_order(self.machine.view(group_id)), _in_order(self.model.view(group_id)), f"{group_id} after {cause}")
        machine_ms, model_ms = self.machine.next_deadline_ms(), self._model_due()
        if model_ms is not None and (machine_ms is None or machine_ms > model_ms):
            raise Disagreement(f"the next deadline after {cause}: the machine has {machine_ms} and misses {model_ms} ms")
        return pairs


def _same(machine: Any, model: Any, part: str) -> None:
    if machine != model:
        raise Disagreement(f"{part}:\n  machine {machine}\n  model   {model}")


def _group_of(move: tuple[str, Any, Any, int]) -> str:
    return move[0]


def _by_token(pairs: Iterable[tuple[Hashable, GroupResponse]]) -> list[tuple[Hashable, GroupResponse]]:
    return sorted(pairs, key=lambda item: str(item[0]))


def _normal(message: GroupResponse) -> GroupResponse:
    """Return the answer with what no rule fixes taken out: the order of members and groups, messages, and whether no protocol is told as none or as an empty name."""
    if isinstance(message, JoinGroupResponse):
        return replace(message, members=_by_id(message.members), protocol_name=message.protocol_name or None)
    if isinstance(message, DescribeGroupsResponse):
        return replace(message, groups=tuple(_described(group) for group in message.groups))
    if isinstance(message, ListGroupsResponse):
        return replace(message, groups=tuple(sorted(message.groups, key=lambda group: group.group_id)))
    return message


def _described(group: DescribedGroup) -> DescribedGroup:
    return replace(group, members=_by_id(group.members), error_message=None, authorized_operations=0)


def _by_id(members: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(members, key=lambda member: member.member_id))


def _in_order(view: GroupView | None) -> GroupView | None:
    if view is None:
        return None
    return replace(view, members=_by_id(view.members), pending=tuple(sorted(view.pending)))
