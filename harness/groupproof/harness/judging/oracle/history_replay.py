"""One replay of a group's history: a profile's machine processes the recorded requests, and its answers are compared with the recorded ones. Pure.

A trace leaves some questions open: which of two concurrent requests the broker processed first, whether a timer fired before a request
near its deadline, whether the broker processed a request whose sender closed the connection. Each such question is a `Branch`. A replay takes the
first way of each branch unless `turns` say otherwise. `search` tries other ways when the first one leads to a difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final

from groupproof.coordinator.machine.coordinator import AppliedRow, Coordinator, Output, Reply, Settings, Transition, partition_of
from groupproof.harness.judging.oracle.altered_configs import heard_by
from groupproof.harness.judging.oracle.answer_diff import Difference, as_answered, differences
from groupproof.harness.judging.oracle.cleanup_times import last_sure_ms, leaves_a_mark, without_cleanup
from groupproof.harness.judging.oracle.exchanges import CoordinatorMove, Exchange, History
from groupproof.harness.judging.oracle.machine_step import (
    EARLY_END,
    ImpossibleChoice,
    answers_by_rule,
    arrival_of,
    breaks_off,
    end_delay,
    first_admission,
    followed,
    is_delayed,
)  # fmt: skip
from groupproof.harness.judging.oracle.open_answers import UNKNOWN_PARTITIONS, another_answer, forgotten_answer
from groupproof.harness.judging.oracle.open_fields import open_fields
from groupproof.harness.judging.oracle.open_refusals import open_refusal
from groupproof.harness.judging.oracle.own_choices import OwnChoices
from groupproof.harness.judging.oracle.recorded_choices import RecordedChoices
from groupproof.harness.judging.oracle.replay_result import Branch, Divergence, Journal, ReplayResult, Step, Turns
from groupproof.harness.judging.oracle.tolerance import Tolerance, untimely
from groupproof.harness.judging.oracle.topics_seen import TopicsSeen
from groupproof.harness.judging.oracle.transient_answers import Moment, is_loading, is_passing
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_conversion import body_of
from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["HistoryReplay"]


class _Divergence(Exception):
    def __init__(self, kind: str, step: Step, found: tuple[Difference, ...] = ()) -> None:
        super().__init__(kind)
        self.kind, self.step, self.found = kind, step, found


_CANDIDATES_MAX: Final = 4
_BROKEN_OFF: Final = (
    "the leader's list names an instance, which its JoinGroup is too old for, and the broker left the group half answered (KAFKA-14422)"
)
_LOOKING: Final = (Api.CONSUMER_GROUP_HEARTBEAT, Api.JOIN_GROUP)
"""Requests with which a group of consumers looks its topics up."""

_READS: Final = frozenset({Api.DESCRIBE_GROUPS, Api.CONSUMER_GROUP_DESCRIBE, Api.LIST_GROUPS, Api.OFFSET_FETCH})


class HistoryReplay:
    """Replays `history` once. With `follows_choices` the targets and epochs of consumer groups may be other than Kafka's, within the protocol."""

    def __init__(
        self, history: History, *, profile: str, settings: Settings, tolerance: Tolerance, turns: Turns, follows_choices: bool = False
    ) -> None:
        self._history = history
        self._tolerance = tolerance
        self._turns = turns
        self._settings, self._partition = settings, partition_of(history.group, settings.offsets_topic_num_partitions)
        self._choices = (OwnChoices if follows_choices else RecordedChoices)(history.exchanges, self._way)
        self._machine = Coordinator(profile=profile, settings=without_cleanup(settings), choices=self._choices)
        self._answers = answers_by_rule(profile)
        self._profile = profile_named(profile)
        self._topics = TopicsSeen(history, self._profile, tolerance)
        self._machine.change_topics(self._topics.images)
        self._queue = list(history.exchanges)
        self._moves = list(history.moves)
        self._configs = list(history.config_changes)
        self._parked: dict[int, Step] = {}
        self._unread: list[Exchange] = []
        self._now_ms = 0
        self._moving_ms = 0.0
        self._is_broken_off = False
        self._journal = Journal()

    def go(self) -> ReplayResult:
        divergence = None
        try:
            while self._queue:
                self._take_up(self._next())
            self._end_delay(None)
            self._pass_timers(int(self._history.end_ms + self._tolerance.early_ms))
            self._look(int(self._history.end_ms + self._tolerance.early_ms) + 1)
            self._check_parked(float("inf"))
        except _Divergence as end:
            kind, why = ("lost", _BROKEN_OFF) if self._is_broken_off else (end.kind, "")
            divergence = Divergence(kind=kind, step=end.step, differences=end.found, matched=self._journal.matched, why=why)
        except ImpossibleChoice as why:
            last = list(self._journal.steps.values())[-1]
            divergence = Divergence(kind="lost", step=last, matched=self._journal.matched, why=str(why))
        journal, names = self._journal, {**self._history.topic_titles, **self._choices.owners}
        steps, forks = tuple(journal.steps.values()), tuple(journal.forks)
        return ReplayResult(
            steps=steps, forks=forks, transitions=tuple(journal.transitions), names=names, divergence=divergence,
            deviations=tuple(self._choices.deviations), late_topics=journal.late_topics, turns=self._turns,
        )  # fmt: skip

    def _way(self, choice: str, number: int, ways: int, count: int = 0) -> int:
        key = (choice, number, count)
        self._journal.forks.append(Branch(key=key, ways=ways))
        return min(self._turns.get(key, 0), ways - 1)

    # The order of requests

    def _next(self) -> Exchange:
        """Remove and return the next request: the first one, or one that arrived soon after it and before it was answered."""
        first = self._queue[0]
        until = first.taken_up_ms if first.is_unread else min(first.ready_ms + self._tolerance.reorder_ms + first.muted_ms, first.taken_up_ms)
        candidates = [first]
        for other in self._queue[1:]:
            is_at_once = other.ready_ms == until and other.request.seq < first.seq
            if (other.ready_ms >= until and not is_at_once) or len(candidates) == _CANDIDATES_MAX:
                break
            if all(other.may_overtake(candidate) for candidate in candidates):
                candidates.append(other)
        chosen = candidates[self._way("order", first.number, len(candidates), len(self._journal.steps)) if len(candidates) > 1 else 0]
        self._queue.remove(chosen)
        return chosen

    def _hear_of_metadata(self, exchange: Exchange) -> None:
        """Give the machine the topics and the group's configs that its broker knows by now."""
        way = partial(self._way, "topics", exchange.number)
        for known_ms in self._topics.changes_until(exchange.ready_ms, exchange.seq, way, self._machine.next_deadline_ms):
            self._pass_timers(known_ms)
            self._machine.change_topics(self._topics.images)
        if self._topics.is_late and exchange.api in _LOOKING:
            self._journal.late_topics = self._journal.late_topics or exchange
        for change in heard_by(exchange.ready_ms, exchange.seq, self._configs):
            self._pass_timers(int(change.at_ms))
            self._machine.configure_group(self._history.group, change.configs)

    def _is_taken_up(self, exchange: Exchange) -> bool:
        """Return whether the broker processed the request at all: that is unknown if the sender closed the connection."""
        if exchange.answer is not None or exchange.closed_by is None:
            return exchange.answer is not None or not exchange.is_behind
        if exchange.is_behind:
            return self._way("behind", exchange.number, 2) == 1
        if self._history.was_read(exchange, within_ms=self._tolerance.prompt_ms):
            return True
        return self._way("hung-up", exchange.number, 2) == 0

    # One request

    def _take_up(self, exchange: Exchange) -> None:
        while self._moves and self._moves[0].done_ms <= exchange.ready_ms:
            self._move(self._moves.pop(0))
        self._hear_of_metadata(exchange)
        self._end_delay(exchange)
        if not self._is_taken_up(exchange):
            return
        self._clean_up_until(last_sure_ms(exchange.ready_ms, self._settings, self._tolerance))
        at_ms = self._come_to(exchange)
        self._check_parked(exchange.ready_ms, exchange.request.seq)
        if exchange.is_unread and exchange.api in _READS:
            self._unread += [exchange] if exchange.answer is not None else []  # an unanswered read changes nothing, processed or not
            self._look(at_ms)
            return
        if not exchange.is_stray:
            self._clean_up(exchange)
        self._ask(exchange, at_ms)

    @cached_property
    def _elsewhere(self) -> Coordinator:
        """The machine of a broker that does not coordinate the group."""
        return Coordinator(profile=self._profile.name, settings=self._settings, choices=self._choices, partitions=())

    def _machine_of(self, exchange: Exchange) -> Coordinator:
        return self._elsewhere if exchange.is_stray else self._machine

    def _come_to(self, exchange: Exchange) -> int:
        """Fire the timers that are due before the request is processed, and return the time of processing."""
        ways = exchange.uptakes_ms(early_ms=self._tolerance.early_ms, uptake_ms=self._tolerance.uptake_ms)
        ready_ms, count = ways[self._way("uptake", exchange.number, len(ways)) if len(ways) > 1 else 0], 0
        while (due_ms := self._machine.next_deadline_ms()) is not None:
            if due_ms < ready_ms:
                is_near = ready_ms - due_ms <= self._tolerance.late_timer_ms and not self._is_over(exchange)
                if is_near and self._way("timer", exchange.number, 2, count) == 1:
                    return max(self._now_ms, due_ms - 1)
            elif due_ms <= ready_ms + self._tolerance.early_ms and self._is_over(exchange):
                pass  # the timer fired a little early: its answer had arrived when this request was sent
            elif due_ms > self._latest(exchange, ready_ms) or self._way("timer", exchange.number, 2, count) == 0:
                break
            count += 1
            self._pass_timers(due_ms)
        return max(self._now_ms, ready_ms)

    def _latest(self, exchange: Exchange, ready_ms: int) -> float:
        answered_ms = float("inf") if exchange.answered_ms is None else exchange.answered_ms
        return min(answered_ms + self._tolerance.early_ms, ready_ms + self._tolerance.late_uptake_ms)

    def _clean_up(self, exchange: Exchange) -> None:
        """Run the periodic cleanup first, as a branch, where that would change the group: the broker's phase is unknown."""
        group, lasted_ms = self._machine.group(self._history.group), exchange.ready_ms - self._history.exchanges[0].ready_ms
        if (
            leaves_a_mark(None if group is None else group.state, lasted_ms, self._settings, self._tolerance)
            and self._way("cleanup", exchange.number, 2) == 1
        ):
            self._perform(followed(self._machine.clean_up, self._now_ms), self._now_ms, None)

    def _clean_up_until(self, sure_ms: int) -> None:
        """Run the periodic cleanup that has certainly happened by `sure_ms`."""
        if sure_ms > self._now_ms:
            self._pass_timers(sure_ms)
            self._now_ms = sure_ms
            self._perform(followed(self._machine.clean_up, sure_ms), sure_ms, None)

    def _ask(self, exchange: Exchange, at_ms: int) -> None:
        self._now_ms, machine = at_ms, self._machine_of(exchange)
        step = Step(exchange=exchange, at_ms=at_ms, before=machine.progress(self._history.group))
        self._journal.steps[exchange.number] = self._parked[exchange.number] = step
        if is_loading(exchange, self._history.moves, within_ms=self._tolerance.loading_ms):
            self._note_beside(step, "loading", "FIND-10", exchange.answer or {})
            return
        way = partial(self._way, "cache", exchange.number)
        message, refused = self._topics.asked_of_group(exchange.message, exchange.ready_ms, exchange.seq, way)
        if refused is not None:
            self._note_beside(step, UNKNOWN_PARTITIONS, "ERR-02", as_answered(exchange.api, exchange.version, body_of(refused)))
            return
        if (instead := open_refusal(exchange, arrival_of(exchange, self._choices), machine, self._history, at_ms)) is not None:
            step.instead = instead
            self._note_beside(step, "open", instead.requirement, exchange.answer or {})
            return
        self._perform(followed(machine.handle, message, arrival_of(exchange, self._choices), at_ms, fires=False), at_ms, exchange)
        if step.due_ms is None:
            step.after = machine.progress(self._history.group)
        if exchange.api not in _READS:
            self._look(at_ms)

    def _look(self, at_ms: int) -> None:
        """Process the reads of a connection that the script did not read, in order: as soon as the answer fits, or when it has arrived.

        Their real times are unknown.
        """
        while self._unread and (self._fits(self._unread[0], at_ms) or at_ms > (self._unread[0].answered_ms or self._history.end_ms)):
            self._ask(self._unread.pop(0), max(self._now_ms, at_ms))

    def _fits(self, exchange: Exchange, at_ms: int) -> bool:
        self._now_ms = max(self._now_ms, at_ms)
        outputs = followed(self._machine.handle, exchange.message, arrival_of(exchange, self._choices), self._now_ms)
        messages = [output.message for output in outputs if isinstance(output, Reply) and output.token == exchange.number]
        beside: list[Output] = [
            output for output in outputs if isinstance(output, Transition) or (isinstance(output, Reply) and output.message not in messages)
        ]
        self._perform(beside, at_ms, None)
        expected = [as_answered(exchange.api, exchange.version, body_of(message)) for message in messages]
        return exchange.answer is not None and not any(differences(entry, exchange.answer) for entry in expected)

    def _note_beside(self, step: Step, why: str, requirement: str, expected: Mapping[str, Any]) -> None:
        """Record an answer that the broker makes before it asks the group's coordinator."""
        step.rule, step.requirement = f"{step.exchange.api.title}/before/{why}", requirement
        self._answered(step, expected, step.at_ms, step.exchange)

    # Time

    def _pass_timers(self, until_ms: int) -> None:
        while (due_ms := self._machine.next_deadline_ms()) is not None and due_ms <= until_ms:
            self._now_ms = max(self._now_ms, due_ms)
            self._perform(followed(self._machine.advance, self._now_ms), self._now_ms, None)
            self._look(self._now_ms)

    def _end_delay(self, exchange: Exchange | None) -> None:
        """End the initial delay early if the broker did: it certainly did where it answered a JoinGroup before it got the request."""
        while self._tolerance.ends_delay_early and is_delayed(self._machine.group(self._history.group)):
            ended_ms, seq = first_admission(step.exchange for step in self._parked.values())
            due_ms = self._machine.next_deadline_ms() or 0
            is_sure = ended_ms < math.inf and (exchange is None or seq < exchange.request.seq)
            if is_sure and due_ms <= ended_ms + self._tolerance.early_ms:
                self._pass_timers(due_ms)
                continue
            if not is_sure and exchange is not None and (ended_ms < due_ms or not self._parked):
                is_sure, ended_ms = self._way("delay", exchange.number, 2) == 1, exchange.ready_ms
            if is_sure:
                self._now_ms = max(self._now_ms, int(ended_ms))
                self._choices.deviations.append(replace(EARLY_END, seq=seq))
                self._perform(followed(end_delay, self._machine, self._history.group, self._now_ms), self._now_ms, None)
            return

    def _move(self, moved: CoordinatorMove) -> None:
        """Unload the group and load its stored state at once. The time that the broker needed for that extends later deadlines."""
        begun_ms = max(self._now_ms, int(moved.begun_ms))
        self._pass_timers(begun_ms)
        stored = self._machine.stored(self._partition)
        self._now_ms = begun_ms
        self._moving_ms += moved.done_ms - moved.begun_ms
        self._perform(followed(self._machine.unload, self._partition, begun_ms), begun_ms, None)
        self._perform(followed(self._machine.load, self._partition, stored, begun_ms), begun_ms, None)

    def _check_parked(self, now_ms: float, seq: int = 0) -> None:
        """Raise `_Divergence` if the broker answered a request that is still parked here, well before `now_ms` or before `seq`."""
        for step in self._parked.values():
            answered_ms = step.exchange.answered_ms
            is_past = answered_ms is not None and answered_ms + self._tolerance.early_ms + self._moving_ms < now_ms
            if (is_past or self._was_answered(step, seq)) and not self._is_forgotten(step):
                raise _Divergence("unparked", step)

    def _is_forgotten(self, step: Step) -> bool:
        """Return whether the machine will never answer the request, and the recorded answer is as correct as none; record why."""
        if step.exchange.number not in self._machine.parked(self._partition):
            step.instead = forgotten_answer(step.exchange, self._history.exchanges)
        return step.instead is not None

    def _is_over(self, exchange: Exchange) -> bool:
        """Return whether a request that is still parked was answered before this request was sent: a timer must have fired."""
        return any(self._was_answered(step, exchange.request.seq) and not self._is_forgotten(step) for step in self._parked.values())

    def _was_answered(self, step: Step, seq: int) -> bool:
        return step.exchange.answered_ms is not None and step.exchange.seq < seq

    # The machine's outputs

    def _perform(self, outputs: list[Output], at_ms: int, cause: Exchange | None) -> None:
        last: AppliedRow | None = None
        replies = [(output.message, self._parked.get(int(str(output.token)))) for output in outputs if isinstance(output, Reply)]
        self._is_broken_off |= any(step is not None and breaks_off(message, step.exchange, self._profile.fields) for message, step in replies)
        for output in outputs:
            if isinstance(output, AppliedRow):
                last = output
                self._note_rule(output)
            elif isinstance(output, Transition):
                self._journal.transitions.append((at_ms, output))
                if output.before is None:
                    self._journal.created_ms = at_ms
            elif (step := self._parked.get(int(str(output.token)))) is not None:
                if last is not None and (not step.rule or self._answers.get(step.rule) is None):
                    step.answer_rule, step.answer_requirement = last.rule, last.requirement
                self._reply(step, output.message, at_ms, cause)

    def _note_rule(self, applied: AppliedRow) -> None:
        step = None if applied.token is None else self._journal.steps.get(int(str(applied.token)))
        if step is not None and step.exchange.number in self._parked:
            step.rule, step.requirement = applied.rule, applied.requirement

    def _reply(self, step: Step, message: GroupResponse, at_ms: int, cause: Exchange | None) -> None:
        exchange = step.exchange
        whole = self._topics.completed(exchange.message, message)
        self._answered(step, as_answered(exchange.api, exchange.version, body_of(whole)), at_ms, cause)

    def _answered(self, step: Step, expected: Mapping[str, Any], at_ms: int, cause: Exchange | None) -> None:
        """Compare the answer that is due now with the recorded one."""
        exchange = step.exchange
        del self._parked[exchange.number]
        self._choices.answered.add(exchange.number)
        step.due_ms, step.expected = at_ms, expected
        if exchange.answer is None or exchange.answered_ms is None:
            self._check_missing(step)
            return
        found = tuple(differences(step.expected, exchange.answer))
        serious = tuple(difference for difference in found if not difference.is_idle)
        if serious and not self._is_passing(step, serious) and not self._is_as_right(step, serious):
            raise _Divergence("other", step, serious)
        if kind := untimely(exchange, due_ms=at_ms, cause=cause, tolerance=self._tolerance, moving_ms=self._moving_ms):
            raise _Divergence(kind, step)
        step.idle = tuple(difference for difference in found if difference.is_idle)
        self._journal.matched += 1

    def _check_missing(self, step: Step) -> None:
        exchange = step.exchange
        assert step.due_ms is not None
        latest_ms = exchange.latest_ms(step.due_ms, self._tolerance.allowance_ms(step.due_ms - exchange.ready_ms) + self._moving_ms)
        if exchange.closed_by == "broker" and not self._history.moves and step.due_ms <= exchange.gone_ms:
            raise _Divergence("closed", step)
        if latest_ms < exchange.gone_ms and not exchange.is_unread:
            raise _Divergence("missing", step)

    def _is_as_right(self, step: Step, found: tuple[Difference, ...]) -> bool:
        """Return whether the protocol leaves the answer open, and record which other one it was. A refusal changes nothing in either case."""
        asked, machine = step.exchange, self._machine_of(step.exchange)
        step.instead = open_fields(step, found, machine.group(self._history.group))
        if step.instead is not None:
            return True
        due = machine.due_refusals(asked.message, arrival_of(asked, self._choices), self._now_ms)
        step.instead = another_answer(step, due, self._answers.get(step.rule), partial(self._topics.completed, asked.message))
        return step.instead is not None

    def _is_passing(self, step: Step, found: tuple[Difference, ...]) -> bool:
        """Return whether the difference is one that a group shows for a moment only."""
        at_ms, moved = self._journal.transitions[-1] if self._journal.transitions else (0, None)
        group, created_ms = self._history.group, self._journal.created_ms
        return is_passing(step.exchange, step.expected or {}, found, Moment(
            group=group, profile=self._profile, moved=moved, moved_at_ms=at_ms, exchanges=self._history.exchanges,
            steps=tuple(self._journal.steps.values()),
            stored=self._machine.stored(self._partition),
            is_new=created_ms is not None and step.exchange.ready_ms - created_ms <= self._tolerance.unseen_ms,
        ))  # fmt: skip
