"""Every course of a group of two or three members of both protocols, up to a depth: which actions can follow one another is tried, not drawn.

States that differ in nothing but their epochs' height and the clock are one, so that a search of thousands of states covers all courses.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tests.coordinator.machine.consumer.classic_program import ClassicProgram
from tests.coordinator.machine.consumer.consumer_histories import GROUP
from tests.coordinator.machine.consumer.mixed_histories import MixedHistory

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup

__all__ = ["Search"]

_NAMES = ("t",)
_PARTITIONS = 2
_SETTINGS = {"group.consumer.assignment.interval.ms": 0}
_SETTLED_EACH = 8
"""Of so many states one is healed, and has to settle."""


def _start(profile: str) -> MixedHistory:
    history = MixedHistory(profile, 0, topics={"t": _PARTITIONS}, settings=_SETTINGS if profile >= "kafka-4.3" else {})
    history.members.clear()
    return history


@dataclass(slots=True)
class Search:
    """A search of all courses of `consumers` members of the consumer protocol and `classics` of the classic one. `states` counts what was found."""

    profile: str
    consumers: int
    classics: int
    depth: int
    states: int = 0
    settled: int = 0
    kinds: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Raise `BrokenInvariant` in the first state in which something is broken."""
        start = _start(self.profile)
        keys, front = {_key(start)}, [start]
        for _ in range(self.depth):
            front = list(self._next(front, keys))

    def _next(self, front: list[MixedHistory], keys: set[Any]) -> Iterator[MixedHistory]:
        for history in front:
            for action in self._actions(history):
                after = _copied(history)
                _do(after, action)
                key = _key(after)
                if key not in keys:
                    keys.add(key)
                    self._look_at(after)
                    yield after

    def _actions(self, history: MixedHistory) -> Iterator[tuple[str, str]]:
        for name in [f"m{number}" for number in range(self.consumers)]:
            yield from ((verb, name) for verb in (("gives up", "beats", "leaves") if name in history.members else ("comes",)))
        for name in [f"k{number}" for number in range(self.classics)]:
            yield from ((verb, name) for verb in (("sends", "goes") if name in history.classic else ("starts",)))

    def _look_at(self, history: MixedHistory) -> None:
        self.states += 1
        view = history._machine.view(GROUP)
        if view is not None:
            self.kinds.add(f"{type(history._machine._engine.groups[GROUP]).__name__} {view.state}")
        if self.states % _SETTLED_EACH == 0:
            self.settled += 1
            _copied(history)._settle()


def _copied(history: MixedHistory) -> MixedHistory:
    """Return a copy that goes its own way; tables and settings are shared, which nothing changes."""
    machine, engine = history._machine, history._machine._engine
    shared = (
        engine.tables, engine.profile, engine._cells, engine._only, engine._none, engine._before, engine._before_open, engine._of_class,
        engine._before_of_class, engine.fields, engine.settings,
        machine._requests, machine._variant, *machine._requests.values(), *engine.tables.functions.values(), *engine.profile.dialects,
    )  # fmt: skip
    return deepcopy(history, {id(item): item for item in shared})


def _do(history: MixedHistory, action: tuple[str, str]) -> None:
    verb, name = action
    history._pass(10)
    if verb == "comes":
        history._arrive(name, None, _NAMES)
    elif verb == "starts":
        history.classic[name] = ClassicProgram(name, None, _NAMES)
        history._classic_send(history.classic[name])
    elif verb == "sends":
        history._classic_send(history.classic[name])
    elif verb == "goes":
        history._classic_goes(history.classic[name])
    elif verb == "gives up":
        history._give_up(history.members[name])
    else:
        history.members[name].epoch = -1 if verb == "leaves" else history.members[name].epoch
        history._send(history.members[name])
    history._read_replies()
    history._check()


def _key(history: MixedHistory) -> Any:
    """Return what is to be told apart: who is there, what everybody has and knows, and which timers run."""
    group: Any = history._machine._engine.groups.get(GROUP)
    base = 0 if group is None else group.generation
    names = {program.member_id: program.client_id for program in history.classic.values()}
    programs = sorted(
        (program.client_id, program.generation - base, program.joins, program.is_parked_sync, program.token is not None, program.leads is not None,
         tuple(sorted(program.held)))
        for program in history.classic.values()
    )  # fmt: skip
    members = sorted(
        (
            member.member_id,
            member.epoch - base,
            repr(member.last_reported and sorted(member.last_reported)),
            tuple(sorted(member.held)),
            member.must_say_all,
        )
        for member in history.members.values()
    )
    timers = sorted((str(timer.kind), names.get(timer.member_id, timer.member_id)) for timer in history._machine._engine.timers._due)
    return repr((programs, members, timers, _group_key(group, names, base)))


def _group_key(group: Any, names: dict[str, str], base: int) -> Any:
    if group is None or not isinstance(group, ConsumerGroup):
        return (
            None
            if group is None
            else (str(group.state), sorted(names.get(name, name) for name in group.members.by_id), names.get(group.members.leader or ""))
        )
    return (
        group.assignment_epoch - base,
        sorted(
            (names.get(member.member_id, member.member_id), member.epoch - base, str(member.progress), repr(member.assigned.keys()), repr(member.pending),
             [sorted(indexes) for indexes in member.assigned.values()], member.classic is None)
            for member in group.members.values()
        ),
    )  # fmt: skip
