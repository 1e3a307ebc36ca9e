"""The coordinator role of every broker of a cluster: partition owners, parked requests and timers.

The machines are pure (coordinator.py). This module has the clock, the parked requests and the records of the machines' outputs. A move of a
coordinator unloads an offsets partition at one machine and loads it at another (EMIG-01 to EMIG-05).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import trio

from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import AppliedRow, Arrival, GroupView, Output, Reply, Transition
from groupproof.coordinator.machine.storage import StoredGroups, partition_of
from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.coordinator.machine.topics_image import MayDescribe, TopicImage, TopicsImage
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.faults import Move
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["Coordinators", "Ticket"]


class Ticket:
    """The place of one request's answer. `on_dropped` is called when a move of the coordinator drops the request.

    `tokens` identify the request to the machine: one for each time that it is processed. `on_answer` is called with the answer, in place of a `wait`.
    """

    __slots__ = ("_ready", "answer", "on_answer", "on_dropped", "tokens")

    def __init__(self, on_dropped: Callable[[], None], *tokens: Hashable) -> None:
        self.on_dropped = on_dropped
        self.tokens = tokens
        self.answer: GroupResponse | None = None
        self.on_answer: Callable[[GroupResponse], None] | None = None
        self._ready: trio.Event | None = None

    def give(self, answer: GroupResponse) -> None:
        """Set the answer. For a request that was processed twice, the first answer counts."""
        if self.answer is None:
            self.answer = answer
            if self.on_answer is not None:
                self.on_answer(answer)
            elif self._ready is not None:
                self._ready.set()

    async def wait(self) -> GroupResponse:
        """Return the answer; wait for it."""
        if self.answer is None:
            self._ready = trio.Event()
            await self._ready.wait()
        assert self.answer is not None
        return self.answer


class Coordinators:
    """One machine for each node, and the owner node of each offsets partition. `run` fires their timers."""

    def __init__(self, *, profile: str, settings: Settings, nodes: int, seed: int, recorder: Recorder, variant: Variant = REFERENCE) -> None:
        self.settings = settings
        self._variant = variant
        self._timers = profile_named(profile).timers
        self.partitions = settings.offsets_topic_num_partitions
        self.owners = [partition % nodes for partition in range(self.partitions)]
        self.epochs = [0] * self.partitions
        self._recorder = recorder
        self._clock = trio.lowlevel.current_clock()
        self._origin = self._clock.current_time()
        self._tickets: dict[Hashable, Ticket] = {}
        self._sleeping_until = math.inf
        self._wake = trio.Event()
        self._still: set[int] = set()
        self._gone: set[int] = set()
        self._homeless: dict[int, StoredGroups] = {}
        self._is_running = False
        self._late_topics: list[tuple[int, Mapping[str, TopicImage]]] = []  # each with the time at which the coordinators know them
        self._machines = [
            Coordinator(
                profile=profile, settings=settings, random=random.Random(f"{seed}/member ids/{node}"), node_id=node,
                partitions=range(node, self.partitions, nodes), variant=variant,
            )
            for node in range(nodes)
        ]  # fmt: skip

    def now_ms(self) -> int:
        """Return the milliseconds since the cluster was made, by trio's clock."""
        return math.floor((self._clock.current_time() - self._origin) * 1000 + 1e-6)

    def owner_of(self, group: str) -> int:
        """Return the node that coordinates `group` (FIND-02)."""
        return self.owners[partition_of(group, self.partitions)]

    def view(self, group: str) -> GroupView | None:
        """Return the coordinator's view of the group, None where there is none."""
        return self._machines[self.owner_of(group)].view(group)

    def change_topics(self, topics: Mapping[str, TopicImage]) -> None:
        """Set the existing topics at every broker, or later if the variant is late with changes."""
        if self._variant.topics_late_ms and self._is_running:
            self._late_topics.append((self.now_ms() + self._variant.topics_late_ms, topics))
            self._wake.set()
        else:
            self._set_topics(topics)

    def _set_topics(self, topics: Mapping[str, TopicImage]) -> None:
        for machine in self._machines:
            machine.change_topics(topics)

    def let_describe(self, may_describe: MayDescribe | None) -> None:
        """Let regular expressions match only the topics that a client may describe, at every broker; None allows all topics."""
        for machine in self._machines:
            machine.let_describe(may_describe)

    def configure_group(self, group: str, configs: Mapping[str, str], *, only_checks: bool = False) -> ErrorCode:
        """Set a group's own settings at every broker, or only check them; return the error code of a refusal."""
        return max(machine.configure_group(group, configs, only_checks=only_checks) for machine in self._machines)

    def group_configs(self, group: str) -> Mapping[str, int]:
        """Return the group's own settings."""
        return self._machines[0].group_configs().get(group, {})

    def group_config_defaults(self) -> Mapping[str, int]:
        """Return the group settings with the broker's values as defaults."""
        return self._machines[0].group_config_defaults()

    def refuse_appends(self, error: ErrorCode) -> None:
        """Make the log of every broker refuse records with `error`, or accept them again (NONE)."""
        for machine in self._machines:
            machine.append_error = error

    # Timers

    async def run(self) -> None:
        """Fire the machines' timers when they are due. It never returns."""
        self._is_running = True
        while True:
            running = [machine for node, machine in enumerate(self._machines) if node not in self._still]
            self._sleeping_until = min(
                (deadline for coordinator in running if (deadline := coordinator.next_deadline_ms()) is not None), default=math.inf
            )
            if self._late_topics:
                self._sleeping_until = min(self._sleeping_until, self._late_topics[0][0])
            self._wake = trio.Event()
            with trio.move_on_at(self._origin + self._sleeping_until / 1000):
                await self._wake.wait()
            while self._late_topics and self._late_topics[0][0] <= self.now_ms():
                self._set_topics(self._late_topics.pop(0)[1])
            for node in range(len(self._machines)):
                self._advance(node)

    def _advance(self, node: int) -> None:
        now_ms = self.now_ms()
        deadline = self._machines[node].next_deadline_ms()
        if deadline is not None and deadline <= now_ms and node not in self._still:
            self._perform(node, self._advanced(node, now_ms))

    def _advanced(self, node: int, now_ms: int) -> Sequence[Output]:
        try:
            return self._machines[node].advance(now_ms)
        except (AssertionError, AttributeError, KeyError):
            if self._variant is REFERENCE:
                raise
            return ()  # a variant that breaks the invariants of its own table continues, like a broker whose timer thread logs an error

    def _wake_for_next_timer(self, node: int) -> None:
        """Wake the timers' task when a timer is due before its next wake-up."""
        deadline = self._machines[node].next_deadline_ms(before_ms=self._sleeping_until)
        if deadline is not None:
            self._sleeping_until = deadline
            self._wake.set()

    # Machines

    def pause(self, node: int) -> None:
        """Stop the node's timers until `resume`."""
        self._still.add(node)

    def resume(self, node: int) -> None:
        """Let the node's timers fire again, overdue ones first."""
        self._still.discard(node)
        self._advance(node)
        self._wake.set()

    def lose(self, node: int) -> None:
        """End a node as by SIGKILL. The next live node loads its groups from the log; without one, the first node that returns does."""
        self._still.discard(node)
        self._gone.add(node)
        for partition in [partition for partition, owner in enumerate(self.owners) if owner == node]:
            if (heir := self._next(node)) != node:
                self.move(partition, Move(to=heir, parked="drop", state="kept"))
                continue
            self._homeless[partition] = self._machines[node].stored(partition)
            self._perform(node, self._machines[node].unload(partition, self.now_ms(), "drop"))

    def load(self, node: int) -> None:
        """Return a node to the cluster. The first one loads the groups that no node has from the log."""
        self._gone.discard(node)
        homeless, self._homeless = self._homeless, {}
        for partition, stored in homeless.items():
            self.owners[partition] = node
            self.epochs[partition] += 1
            self._perform(node, self._machines[node].load(partition, stored, self.now_ms()))
        self._wake_for_next_timer(node)

    def load_records(self, records: TopicRecords, topics: Mapping[str, TopicImage]) -> None:
        """Load the groups from the records of an offsets topic at their nodes. `topics` are the existing topics."""
        now_ms = self.now_ms()
        for partition, stored in records.stored(TopicsImage(topics), self.partitions, now_ms).items():
            node = self.owners[partition]
            self._perform(node, self._machines[node].load(partition, stored, now_ms))
            self._wake_for_next_timer(node)

    # Requests

    @staticmethod
    def ticket(on_dropped: Callable[[], None]) -> Ticket:
        """Return the place of a future answer. `on_dropped` is called when a move drops the request."""
        return Ticket(on_dropped)

    def submit(self, node: int, message: GroupRequest, arrival: Arrival, columns: Mapping[str, Any], ticket: Ticket) -> None:
        """Let the node's machine process `message`. The answer comes to `ticket`, now or later.

        Records `processed` with the rule that was applied, unless `columns` is empty, and then the consequences.
        """
        machine = self._machines[node]
        outputs = machine.handle(message, arrival, self.now_ms())
        is_due_sooner = machine.next_deadline_ms(before_ms=self._sleeping_until) is not None
        self._deliver(node, outputs, arrival.token, columns, ticket, is_due_sooner=is_due_sooner)

    def ask(
        self, node: int, message: GroupRequest, arrival: Arrival, columns: Mapping[str, Any], on_dropped: Callable[[], None]
    ) -> GroupResponse | Ticket:
        """Let the node's machine process `message`; return the answer if it is available, otherwise the ticket."""
        machine, now_ms = self._machines[node], self.now_ms()
        if not self._recorder.is_heard and (answer := self._asked_briefly(machine, message, arrival, now_ms, on_dropped)) is not None:
            return answer
        outputs = machine.handle(message, arrival, now_ms)
        is_due_sooner = machine.next_deadline_ms(before_ms=self._sleeping_until) is not None
        if not is_due_sooner and not self._recorder.is_heard and len(outputs) == 2:  # one row and its answer, as for nearly every heartbeat
            reply = outputs[1]
            if isinstance(reply, Reply) and reply.token is arrival.token:
                return reply.message
        ticket = Ticket(on_dropped)
        self._deliver(node, outputs, arrival.token, columns, ticket, is_due_sooner=is_due_sooner)
        return ticket if ticket.answer is None else ticket.answer

    def ask_again(self, node: int, message: GroupRequest, arrival: Arrival, on_dropped: Callable[[], None]) -> GroupResponse | Ticket | None:
        """Process an unrecorded request that only waits or has a repeated answer. Return None, without a change, where it may do more."""
        return self._asked_briefly(self._machines[node], message, arrival, self.now_ms(), on_dropped)

    def _asked_briefly(
        self, machine: Coordinator, message: GroupRequest, arrival: Arrival, now_ms: int, on_dropped: Callable[[], None]
    ) -> GroupResponse | Ticket | None:
        if machine.parks(message, arrival, now_ms):
            ticket = self._tickets[arrival.token] = Ticket(on_dropped, arrival.token)
            return ticket
        return machine.repeat(message, arrival, now_ms)

    def repeat(self, node: int, message: GroupRequest, arrival: Arrival) -> GroupResponse | None:
        """Answer an unrecorded heartbeat that only extends its session. Return None, without a change, where it may do more.

        It only postpones an armed session timer, so no timer is due sooner than before.
        """
        return self._machines[node].repeat(message, arrival, self.now_ms())

    def _deliver(
        self, node: int, outputs: Sequence[Output], token: Hashable, columns: Mapping[str, Any], ticket: Ticket, *, is_due_sooner: bool
    ) -> None:
        self._awaited(ticket, token)
        self._perform(node, outputs, token, columns)
        if is_due_sooner:
            self._wake_for_next_timer(node)

    def _awaited(self, ticket: Ticket, token: Hashable) -> Ticket:
        """Route the answer to `token` to the ticket, and return the ticket."""
        self._tickets[token] = ticket
        ticket.tokens += (token,)
        return ticket

    def abandon(self, ticket: Ticket) -> None:
        """Drop the answer, for which nobody waits any more. The members stay unchanged, as in Kafka."""
        for token in ticket.tokens:
            self._tickets.pop(token, None)

    def _perform(self, node: int, outputs: Iterable[Output], token: Hashable = None, columns: Mapping[str, Any] | None = None) -> None:
        """Record and deliver a machine's outputs, in order.

        The row that was applied to the request of `token` is recorded as `processed`, with `columns`.
        """
        for output in outputs:
            if isinstance(output, Reply):
                ticket = self._tickets.pop(output.token, None)
                if ticket is not None:
                    ticket.give(output.message)
            elif not self._recorder.is_heard:
                continue
            elif isinstance(output, Transition):
                self._recorder.record("transition", node=node, **output.columns())
            elif output.token is None:
                self._record_timer(node, output)
            elif output.token == token and columns:
                self._recorder.record("processed", **columns, rule=output.rule, body={"requirement": output.requirement})
                columns = None

    def _record_timer(self, node: int, applied: AppliedRow) -> None:
        """Record a row that no request caused if it is a timer's. Other rows follow from recorded ones."""
        if applied.rule.partition("/")[0] in self._timers:
            self._recorder.record("timer", node=node, **applied.timer_columns())

    # Moves

    def move_group(self, group: str, action: Move) -> str | None:
        """Move the coordinator of one group; return the reason where it cannot be moved, else None."""
        return self.move(partition_of(group, self.partitions), action)

    def _next(self, node: int) -> int:
        """Return the next live node, or `node` where there is no other."""
        others = [*range(node + 1, len(self._machines)), *range(node)]
        return next((node for node in others if node not in self._gone), node)

    def move(self, partition: int, action: Move) -> str | None:
        """Move an offsets partition to another node (EMIG-01 to EMIG-05); return the reason where that is impossible, else None.

        With `parked` "drop" the connections of parked requests end instead of an answer 16. With `state` "lost" nothing is loaded.
        """
        before = self.owners[partition]
        after = self._next(before) if action.to is None else action.to
        if not 0 <= after < len(self._machines):
            return f"there is no node {after}: the cluster has {len(self._machines)}"
        if after in self._gone:
            return f"node {after} is down"
        if after == before:
            return f"node {before} has it already"
        self._advance(before)
        self._advance(after)
        source, now_ms = self._machines[before], self.now_ms()
        stored = source.stored(partition) if action.state == "kept" else StoredGroups()
        if self._variant.stored is not None:
            stored = self._variant.stored(stored)
        parked = source.parked(partition)
        self._perform(before, source.unload(partition, now_ms, "drop" if action.parked == "drop" else "answer"))
        self.owners[partition] = after
        self.epochs[partition] += 1
        self._perform(after, self._machines[after].load(partition, stored, now_ms))
        for token in parked:
            ticket = self._tickets.pop(token, None)
            if ticket is not None:
                ticket.on_dropped()
        self._wake_for_next_timer(after)
        return None
