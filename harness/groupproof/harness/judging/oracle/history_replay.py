"""One way through a group's history: the machine of a profile is stepped with the recorded requests, its answers held against those that came. Pure.

A trace does not tell everything: which of two requests under way at once was taken up first, whether a timer went off before a request
that came near its deadline, whether a request was taken up whose sender hung up. Each such question is a `Branch`; a walk takes the first
way at every fork unless `turns` say otherwise, and `searching` tries other turns when the first way leads to a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from groupproof.coordinator.machine.coordinator import AppliedRow, Arrival, Coordinator, Output, Reply, Settings, Transition, partition_of
from groupproof.coordinator.machine.due_refusals import due_refusals
from groupproof.harness.judging.away_coordinators import AWAY
from groupproof.harness.judging.oracle.altered_configs import heard_by
from groupproof.harness.judging.oracle.answer_diff import Difference, as_answered, differences
from groupproof.harness.judging.oracle.cleanup_times import last_sure_ms, leaves_a_mark, without_cleanup
from groupproof.harness.judging.oracle.exchanges import CoordinatorMove, Exchange, History
from groupproof.harness.judging.oracle.machine_step import ImpossibleChoice, answers_by_rule, breaks_off, followed
from groupproof.harness.judging.oracle.open_answers import UNKNOWN_PARTITIONS, another_answer
from groupproof.harness.judging.oracle.open_fields import open_fields
from groupproof.harness.judging.oracle.open_refusals import open_refusal
from groupproof.harness.judging.oracle.own_choices import OwnChoices
from groupproof.harness.judging.oracle.recorded_choices import RecordedChoices
from groupproof.harness.judging.oracle.replay_result import Branch, Divergence, ReplayResult, Step, Turns
from groupproof.harness.judging.oracle.tolerance import Tolerance, untimely
from groupproof.harness.judging.oracle.topics_seen import TopicsSeen
from groupproof.harness.judging.oracle.transient_answers import Moment, is_passing
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.error_responses import error_of
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
_READS: Final = frozenset({Api.DESCRIBE_GROUPS, Api.CONSUMER_GROUP_DESCRIBE, Api.LIST_GROUPS, Api.OFFSET_FETCH})


@dataclass(slots=True)
class _Journal:
    """What a walk writes down."""

    steps: dict[int, Step] = field(default_factory=dict)
    forks: list[Branch] = field(default_factory=list)
    transitions: list[tuple[int, Transition]] = field(default_factory=list)
    matched: int = 0
    created_ms: int | None = None


class HistoryReplay:
    """Goes through `history` once; with `follows_choices` a consumer group may be dealt and counted otherwise than Kafka's, within the protocol."""

    def __init__(
        self, history: History, *, profile: str, settings: Settings, tolerance: Tolerance, turns: Turns, follows_choices: bool = False
    ) -> None:
        self._history = history
        self._tolerance = tolerance
        self._turns = turns
        self._settings = settings
        self._foresight = (OwnChoices if follows_choices else RecordedChoices)(history.exchanges, self._way)
        self._machine = Coordinator(profile=profile, settings=without_cleanup(settings), choices=self._foresight)
        self._answers = answers_by_rule(profile)
        self._profile = profile_named(profile)
        self._topics = TopicsSeen(history, self._profile)
        self._machine.change_topics(self._topics.images)
        self._queue = list(history.exchanges)
        self._moves = list(history.moves)
        self._configs = list(history.config_changes)
        self._parked: dict[int, Step] = {}
        self._unread: list[Exchange] = []
        self._now_ms = 0
        self._moving_ms = 0.0
        self._is_broken_off = False
        self._journal = _Journal()
        self._asked = self._machine  # whoever has the request under way: a stray one does not come to the group's coordinator

    def go(self) -> ReplayResult:
        divergence = None
        try:
            while self._queue:
                self._take_up(self._next())
            self._pass_timers(int(self._history.end_ms + self._tolerance.early_ms))
            self._look(int(self._history.end_ms + self._tolerance.early_ms) + 1)
            self._check_parked(float("inf"))
        except _Divergence as met:
            kind, why = ("lost", _BROKEN_OFF) if self._is_broken_off else (met.kind, "")
            divergence = Divergence(kind=kind, step=met.step, differences=met.found, matched=self._journal.matched, why=why)
        except ImpossibleChoice as why:
            last = list(self._journal.steps.values())[-1]
            divergence = Divergence(kind="lost", step=last, matched=self._journal.matched, why=str(why))
        journal, names = self._journal, {**self._history.topic_titles, **self._foresight.owners}
        steps, forks = tuple(journal.steps.values()), tuple(journal.forks)
        return ReplayResult(
            steps=steps, forks=forks, transitions=tuple(journal.transitions), names=names, divergence=divergence,
            deviations=tuple(self._foresight.deviations),
        )  # fmt: skip

    def _way(self, choice: str, number: int, ways: int, count: int = 0) -> int:
        key = (choice, number, count)
        self._journal.forks.append(Branch(key=key, ways=ways))
        return min(self._turns.get(key, 0), ways - 1)

    # Whose turn it is

    def _next(self) -> Exchange:
        """Return the request that is taken up next: the first, or one that came while the first was under way, not long after it."""
        first = self._queue[0]
        until = first.taken_up_ms if first.is_unread else min(first.ready_ms + self._tolerance.reorder_ms + first.muted_ms, first.taken_up_ms)
        candidates = [first]
        for other in self._queue[1:]:
            is_at_once = other.ready_ms == until and other.request.seq < first.seq
            if (other.ready_ms >= until and not is_at_once) or len(candidates) == _CANDIDATES_MAX:
                break
            if all(other.request.connection != candidate.request.connection for candidate in candidates):
                candidates.append(other)
        chosen = candidates[self._way("order", first.number, len(candidates), len(self._journal.steps)) if len(candidates) > 1 else 0]
        self._queue.remove(chosen)
        return chosen

    def _hear_of_metadata(self, exchange: Exchange) -> None:
        """Let the machine know the topics, and the group's own settings, as its broker does by now."""
        way = partial(self._way, "topics", exchange.number)
        for known_ms in self._topics.changes_until(exchange.ready_ms, exchange.seq, way, self._machine.next_deadline_ms):
            self._pass_timers(known_ms)
            self._machine.change_topics(self._topics.images)
        for change in heard_by(exchange.ready_ms, exchange.seq, self._configs):
            self._pass_timers(int(change.at_ms))
            self._machine.configure_group(self._history.group, change.configs)

    def _is_taken_up(self, exchange: Exchange) -> bool:
        """Tell whether the broker saw the request at all, which is not known where its sender hung up."""
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
        if not self._is_taken_up(exchange):
            return
        self._clean_up_until(last_sure_ms(exchange.ready_ms, self._settings, self._tolerance))
        at_ms = self._come_to(exchange)
        self._check_parked(exchange.ready_ms, exchange.request.seq)
        if exchange.is_unread and exchange.api in _READS:
            self._unread += [exchange] if exchange.answer is not None else []  # whether one without an answer was seen changes nothing
            self._look(at_ms)
            return
        if exchange.is_stray:
            elsewhere = Coordinator(profile=self._profile.name, settings=self._settings, choices=self._foresight, partitions=())
            self._ask(exchange, at_ms, elsewhere)
        else:
            self._clean_up(exchange)
            self._ask(exchange, at_ms, self._machine)

    def _come_to(self, exchange: Exchange) -> int:
        """Let the timers go off that do so before the request is taken up, and return when that is."""
        ways = exchange.uptakes_ms(early_ms=self._tolerance.early_ms, uptake_ms=self._tolerance.uptake_ms)
        ready_ms, count = ways[self._way("uptake", exchange.number, len(ways)) if len(ways) > 1 else 0], 0
        while (due_ms := self._machine.next_deadline_ms()) is not None:
            if due_ms < ready_ms:
                is_near = ready_ms - due_ms <= self._tolerance.late_timer_ms and not self._is_over(exchange)
                if is_near and self._way("timer", exchange.number, 2, count) == 1:
                    return max(self._now_ms, due_ms - 1)
            elif due_ms <= ready_ms + self._tolerance.early_ms and self._is_over(exchange):
                pass  # the timer was a little early: its answer was there when this request was sent
            elif due_ms > self._latest(exchange, ready_ms) or self._way("timer", exchange.number, 2, count) == 0:
                break
            count += 1
            self._pass_timers(due_ms)
        return max(self._now_ms, ready_ms)

    def _latest(self, exchange: Exchange, ready_ms: int) -> float:
        answered_ms = float("inf") if exchange.answered_ms is None else exchange.answered_ms
        return min(answered_ms + self._tolerance.early_ms, ready_ms + self._tolerance.late_uptake_ms)

    def _clean_up(self, exchange: Exchange) -> None:
        """Do the periodic cleanup first, where that would leave a mark: its phase is the broker's own."""
        group, lasted_ms = self._machine.progress(self._history.group), exchange.ready_ms - self._history.exchanges[0].ready_ms
        if leaves_a_mark(group, lasted_ms, self._settings, self._tolerance) and self._way("cleanup", exchange.number, 2) == 1:
            self._perform(followed(self._machine.clean_up, self._now_ms), self._now_ms, None)

    def _clean_up_until(self, sure_ms: int) -> None:
        """Do the periodic cleanup that must have come since."""
        if sure_ms > self._now_ms:
            self._pass_timers(sure_ms)
            self._now_ms = sure_ms
            self._perform(followed(self._machine.clean_up, sure_ms), sure_ms, None)

    def _ask(self, exchange: Exchange, at_ms: int, machine: Coordinator) -> None:
        self._now_ms, self._asked = at_ms, machine
        step = Step(exchange=exchange, at_ms=at_ms, before=machine.progress(self._history.group))
        self._journal.steps[exchange.number] = self._parked[exchange.number] = step
        if self._is_loading(exchange):
            self._note_beside(step, "loading", "FIND-10", exchange.answer or {})
            return
        way = partial(self._way, "cache", exchange.number)
        message, refused = self._topics.asked_of_group(exchange.message, exchange.ready_ms, exchange.seq, way)
        if refused is not None:
            self._note_beside(step, UNKNOWN_PARTITIONS, "ERR-02", as_answered(exchange.api, exchange.version, body_of(refused)))
            return
        if (instead := open_refusal(exchange, _arrival(exchange), machine, self._history, at_ms)) is not None:
            step.instead = instead
            self._note_beside(step, "open", instead.requirement, exchange.answer or {})
            return
        self._perform(followed(machine.handle, message, _arrival(exchange), at_ms, fires=False), at_ms, exchange)
        if step.due_ms is None:
            step.after = machine.progress(self._history.group)
        if exchange.api not in _READS:
            self._look(at_ms)

    def _look(self, at_ms: int) -> None:
        """Take up the questions of a connection that nobody read, in order, as soon as the answer fits or was seen: when they were is not known."""
        while self._unread and (self._fits(self._unread[0], at_ms) or at_ms > (self._unread[0].answered_ms or self._history.end_ms)):
            self._ask(self._unread.pop(0), max(self._now_ms, at_ms), self._machine)

    def _fits(self, exchange: Exchange, at_ms: int) -> bool:
        self._now_ms = max(self._now_ms, at_ms)
        outputs = followed(self._machine.handle, exchange.message, _arrival(exchange), self._now_ms)
        messages = [output.message for output in outputs if isinstance(output, Reply) and output.token == exchange.number]
        beside: list[Output] = [
            output for output in outputs if isinstance(output, Transition) or (isinstance(output, Reply) and output.message not in messages)
        ]
        self._perform(beside, at_ms, None)
        expected = [as_answered(exchange.api, exchange.version, body_of(message)) for message in messages]
        return exchange.answer is not None and not any(differences(entry, exchange.answer) for entry in expected)

    def _is_loading(self, exchange: Exchange) -> bool:
        """Tell whether the answer is that of a broker that has only just become the coordinator, and took nothing up."""
        moved = any(0 <= exchange.ready_ms - move.done_ms <= self._tolerance.loading_ms for move in self._history.moves)
        return moved and exchange.answer is not None and error_of(exchange.api, exchange.answer) in AWAY

    def _note_beside(self, step: Step, why: str, requirement: str, expected: Mapping[str, Any]) -> None:
        """Note what is answered before the group's coordinator is asked."""
        step.rule, step.requirement = f"{step.exchange.api.title}/before/{why}", requirement
        self._answered(step, expected, step.at_ms, step.exchange)

    # Time

    def _pass_timers(self, until_ms: int) -> None:
        while (due_ms := self._machine.next_deadline_ms()) is not None and due_ms <= until_ms:
            self._now_ms = max(self._now_ms, due_ms)
            self._perform(followed(self._machine.advance, self._now_ms), self._now_ms, None)
            self._look(self._now_ms)

    def _move(self, moved: CoordinatorMove) -> None:
        """Unload the group and load what was stored of it, at once; how long that took on the broker is leeway for what is due by it, and later."""
        begun_ms = max(self._now_ms, int(moved.begun_ms))
        self._pass_timers(begun_ms)
        partition = partition_of(self._history.group, self._settings.offsets_topic_num_partitions)
        stored = self._machine.stored(partition)
        self._now_ms = begun_ms
        self._moving_ms += moved.done_ms - moved.begun_ms
        self._perform(followed(self._machine.unload, partition, begun_ms), begun_ms, None)
        self._perform(followed(self._machine.load, partition, stored, begun_ms), begun_ms, None)

    def _check_parked(self, now_ms: float, seq: int = 0) -> None:
        """Diverge where an answer came, well before `now_ms` or before what was seen as `seq`, to what is still parked then."""
        for step in self._parked.values():
            answered_ms = step.exchange.answered_ms
            is_past = answered_ms is not None and answered_ms + self._tolerance.early_ms + self._moving_ms < now_ms
            if is_past or self._was_answered(step, seq):
                raise _Divergence("unparked", step)

    def _is_over(self, exchange: Exchange) -> bool:
        """Tell whether something that is still parked was answered before this request was sent: a timer must have gone off."""
        return any(self._was_answered(step, exchange.request.seq) for step in self._parked.values())

    def _was_answered(self, step: Step, seq: int) -> bool:
        return step.exchange.answered_ms is not None and step.exchange.seq < seq

    # What the machine puts out

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
        """Hold the answer that is due now against the one that came."""
        exchange = step.exchange
        del self._parked[exchange.number]
        self._foresight.answered.add(exchange.number)
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
        latest_ms = step.due_ms + self._tolerance.allowance_ms(step.due_ms - exchange.ready_ms) + self._moving_ms + exchange.excused_ms
        if exchange.closed_by == "broker" and not self._history.moves and step.due_ms <= exchange.gone_ms:
            raise _Divergence("closed", step)
        if latest_ms < exchange.gone_ms and not exchange.is_unread:
            raise _Divergence("missing", step)

    def _is_as_right(self, step: Step, found: tuple[Difference, ...]) -> bool:
        """Tell whether the protocol leaves the answer open, and note which other one came: what it refuses changes nothing either way."""
        asked = step.exchange
        step.instead = open_fields(step, found, self._asked.group(self._history.group))
        if step.instead is not None:
            return True
        due = due_refusals(self._asked.engine, asked.message, _arrival(asked), self._now_ms)
        step.instead = another_answer(step, due, self._answers.get(step.rule), partial(self._topics.completed, asked.message))
        return step.instead is not None

    def _is_passing(self, step: Step, found: tuple[Difference, ...]) -> bool:
        """Tell whether the difference is one that a group shows for a moment."""
        at_ms, moved = self._journal.transitions[-1] if self._journal.transitions else (0, None)
        group, created_ms = self._history.group, self._journal.created_ms
        return is_passing(step.exchange, step.expected or {}, found, Moment(
            group=group, profile=self._profile, moved=moved, moved_at_ms=at_ms, exchanges=self._history.exchanges,
            steps=tuple(self._journal.steps.values()),
            stored=self._machine.stored(partition_of(group, self._settings.offsets_topic_num_partitions)),
            is_new=created_ms is not None and step.exchange.ready_ms - created_ms <= self._tolerance.unseen_ms,
        ))  # fmt: skip


def _arrival(exchange: Exchange) -> Arrival:
    return Arrival(token=exchange.number, api_version=exchange.version, client_id=exchange.client, client_host="/127.0.0.1")
