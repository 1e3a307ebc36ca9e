"""Random histories by Hypothesis: scripts over one group. Most steps are sensible in the group's probable state, some are not.

The same seed gives the same histories, for the same release's rules and the same versions. Hypothesis comes with the extra `fuzz`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from groupproof.harness.judging.oracle.machine_step import settings_of
from groupproof.harness.model.common_versions import common_versions
from groupproof.harness.model.script import Ask, AwaitAnswer, Cut, DeleteTopic, GrowTopic, Pass, Script, ScriptStep
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.histories.dialect_histories import DialectHistories
from groupproof.harness.running.fuzzing.histories.history_registry import histories_on
from groupproof.harness.running.fuzzing.histories.model_state import ModelState, Ranges
from groupproof.harness.running.fuzzing.histories.moves import Actor, asked
from groupproof.protocol.rules import profile
from groupproof.protocol.vocabulary import Api

__all__ = ["Kind", "histories"]

APART_MS: Final = 1_000
"""The least distance between a pause's end and a deadline, in milliseconds."""

_PASSES_MS_MAX: Final = 20_000
_WITHIN_MS: Final = 5_000
_MALFORMED_ONE_IN = 9
_OLD_VERSION_ONE_IN = 4
_WITHOUT_WAIT_ONE_IN = 14
_CUT_ONE_IN = 30
_PASS_ONE_IN = 7
_TOPIC_CHANGE_ONE_IN = 30
_DELETION_ONE_IN: Final = 2
"""One in this many changes of an existing topic deletes it."""
_PARTITIONS_MAX = 6
_MIXED_ONE_IN: Final = 4
"""One in this many histories has requests of all dialects of the profile, the others of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The purpose of the histories: a release's rules, the broker's settings and its versions; `steps` is the number of requests in each.

    With `dialect` all histories are of that dialect; None: of any dialect of the profile.
    """

    profile: str
    settings: Mapping[str, Any]
    ranges: Ranges
    steps: int = 25
    dialect: str | None = None


def histories(kind: Kind, *, seed: int, count: int) -> list[Script]:
    """Return `count` scripts; the same seed gives the same ones."""
    # Not at the top: cases are compared without the extra too.
    from groupproof.harness.running.fuzzing.hypothesis_source import drawn

    return drawn(lambda choices: _HistoryWriter(choices, kind).history(), seed=seed, count=count)


@dataclass(slots=True)
class _HistoryWriter:
    """Writes one history, step by step."""

    choices: ChoiceSource
    kind: Kind
    steps: list[ScriptStep] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    passed_ms: int = 0
    model: ModelState = field(init=False)
    actors: list[Actor] = field(init=False)
    parts: tuple[DialectHistories, ...] = field(init=False)
    own_topics: list[str] = field(init=False)
    oldest_join: int = field(init=False)
    is_dynamic: bool = field(init=False)
    """In a release that fails to send lists of instances to leaders with old versions, a history has either old JoinGroups or instances."""

    def __post_init__(self) -> None:
        kind, choices = self.kind, self.choices
        self.parts = self._drawn_parts(histories_on(kind.profile))
        settings = settings_of(kind.settings, kind.profile)
        topics = {name: count for part in self.parts for name, count in part.topics.items()}
        self.own_topics = [part.own_topic for part in self.parts if part.own_topic is not None]
        self.model = ModelState(
            profile=kind.profile, settings=settings, ranges=kind.ranges, random=random.Random(0), topics=topics, own_topics=frozenset(self.own_topics)
        )
        self.actors = [Actor(name=f"m{number}", instance=f"i{number}" if choices.chance(3) else None) for number in range(choices.number(1, 4))]
        for actor in self.actors:
            actor.others = [item for item in self.actors if item is not actor]
        if len(self.actors) > 1 and choices.chance(6):
            self.actors[-1].instance = self.actors[0].instance
        since = profile(kind.profile).fields["join_lists_instances_since"]
        self.oldest_join = since if any(actor.instance for actor in self.actors) else 0
        self.is_dynamic = bool(since) and not self.oldest_join

    def _drawn_parts(self, spoken: tuple[DialectHistories, ...]) -> tuple[DialectHistories, ...]:
        if len(spoken) == 1 or self.choices.chance(_MIXED_ONE_IN):
            return spoken
        own = [part for part in spoken if part.dialect.name == self.kind.dialect]
        return (self.choices.one_of(own or spoken),)

    def history(self) -> Script:
        while sum(isinstance(step, Ask) for step in self.steps) < self.kind.steps:
            if self.choices.chance(_CUT_ONE_IN) and self.model.connections:
                self._cut()
            elif self.own_topics and self.choices.chance(_TOPIC_CHANGE_ONE_IN):
                self._change(self.choices.one_of(self.own_topics))
            elif self.choices.chance(_PASS_ONE_IN) and self.passed_ms < _PASSES_MS_MAX:
                self._pass()
            else:
                self._request()
        self._await_unanswered()
        return Script(steps=tuple(self.steps), settings=dict(self.kind.settings), topics=dict(self.model.topics))

    def _request(self) -> None:
        ask = asked(self.choices, self.model, self.actors, [move for part in self.parts for move in part.moves])
        if self.choices.chance(_MALFORMED_ONE_IN):
            ask = self._malformed(ask)
        over = self.model.free_connection(ask.member)
        label = f"{len(self.steps)} {ask.api.title} {ask.member}"
        ask = replace(ask, label=label, over=None if over == ask.member else over, within_ms=_WITHIN_MS, version=self._version(ask))
        answer = self.model.ask(ask)
        if answer is None:
            ask = replace(ask, version=None)
            answer = self.model.ask(ask)
        if answer is None:
            return
        goes_on = self.choices.chance(_WITHOUT_WAIT_ONE_IN)
        self.steps.append(replace(ask, wait=not goes_on and not answer.is_parked, settles=not goes_on))
        if goes_on and not answer.is_parked:
            self.unanswered.append(label)
        else:
            self._await_unanswered()
        self._await(answer.released)

    def _malformed(self, ask: Ask) -> Ask:
        part = next(part for part in self.parts if any(move.api is ask.api for move in part.moves))
        malformed = part.malformed(self.choices, ask, next(actor for actor in self.actors if actor.name == ask.member))
        return ask if self.is_dynamic and malformed.api is Api.JOIN_GROUP and malformed.fields["group_instance_id"] else malformed

    def _version(self, ask: Ask) -> int | None:
        common = common_versions(ask.api, self.kind.ranges)
        assert common is not None
        oldest = min(max(common[0], self.oldest_join), common[1]) if ask.api is Api.JOIN_GROUP else common[0]
        return self.choices.number(oldest, common[1]) if self.choices.chance(_OLD_VERSION_ONE_IN) else None

    def _await(self, labels: Sequence[str]) -> None:
        """Wait for the answers that the machine gives now."""
        self.steps += [AwaitAnswer(label=label, within_ms=_WITHIN_MS) for label in labels]

    def _await_unanswered(self) -> None:
        self._await(self.unanswered)
        self.unanswered.clear()

    def _cut(self) -> None:
        self._await_unanswered()
        connection = self.choices.one_of(sorted(self.model.connections))
        self.steps.append(Cut(connection=connection, resets=self.choices.chance(2)))
        self.model.cut(connection)

    def _change(self, topic: str) -> None:
        """Create the history's own topic, let it grow to six partitions at most, or delete it; later it may be created again with another id."""
        partitions = self.model.partitions_of(topic)
        if partitions and self.choices.chance(_DELETION_ONE_IN):
            self._await_unanswered()
            self.steps.append(DeleteTopic(topic=topic))
            self.model.delete(topic)
        elif (grown := partitions + self.choices.number(1, 2)) <= _PARTITIONS_MAX:
            self._await_unanswered()
            self.steps.append(GrowTopic(topic=topic, partitions=grown))
            self.model.grow(topic, grown)

    def _pass(self) -> None:
        """Let a little time pass, well before the next deadline or well beyond it."""
        self._await_unanswered()
        due_ms = self.model.due_in_ms()
        goes_beyond = due_ms is not None and 0 <= due_ms <= _PASSES_MS_MAX - self.passed_ms and self.choices.chance(2)
        if due_ms is not None and goes_beyond:
            ms = due_ms + APART_MS
        elif due_ms is None or due_ms > 2 * APART_MS:
            ms = self.choices.number(1, 20) * 50
        else:
            return
        self.passed_ms += ms
        self.steps.append(Pass(ms=ms))
        self._await(self.model.elapse(ms))
