"""Makes a plan of a scenario: the steps for the driver, phase by phase, and the healing at the end. Pure.

The plan's waits are long, and it continues after them in any case: judges decide about missing observations, and everything is healed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from groupproof.chaos.scenarios.member_names import Cast
from groupproof.chaos.scenarios.scenario import Action, Duration, Expectation, Fault, Phase, RunMode, Scenario
from groupproof.chaos.scenarios.scenario_faults import names_of, steps_of, undo
from groupproof.chaos.scenarios.scenario_waits import conditions_of
from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.model.plan import (
    Await,
    Command,
    Condition,
    ConfigureGroup,
    Freeze,
    GroupSettled,
    Grow,
    Kill,
    Mark,
    Member,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Start,
    Step,
    Thaw,
)  # fmt: skip

__all__ = ["ACTIONS", "TOPIC", "Terms", "plan_of_scenario"]

TOPIC: Final = "t"
_PATIENCE: Final = Duration(virtual_ms=900_000, wire_ms=15_000)
_POLL: Final = Duration(virtual_ms=1_000, wire_ms=100)
_CLOSE_MS: Final = 20_000
# Hours of polls make a long trace; where no step waits for records, an empty fetch may take its time.
_UNHURRIED: Final[Mapping[RunMode, Mapping[str, Any]]] = {RunMode.VIRTUAL: {"properties": {"fetch.max.wait.ms": 5_000}}}
_INSTANCE: Final = "instance_id"


class Terms:
    """A scenario in its run mode: durations in milliseconds, words as member names, settings as values."""

    def __init__(self, scenario: Scenario, members: int, mode: RunMode) -> None:
        self.scenario = scenario
        self.mode = mode
        self.cast = Cast.of(members, joiners=scenario.joiners, twin=scenario.twin)
        self.topics = {TOPIC: max(scenario.partitions, members)}
        for action in (action for phase in scenario.phases for action in phase.actions if action.do == "grow"):
            topic = action.how.get("topic", TOPIC)
            self.topics[topic] = max(self.topics.get(topic, 0), action.how["partitions"])

    def ms(self, value: int | str) -> int:
        return value if isinstance(value, int) else self.scenario.durations[value].in_mode(self.mode)

    @property
    def settled(self) -> tuple[str, ...]:
        """The members that have to be in the group at the end."""
        return self.cast.named(self.scenario.healing.members)

    def names(self, of: Fault | Action | Expectation) -> tuple[str, ...]:
        return () if of.who is None else self.cast.named(of.who)

    def member(self, name: str) -> Member:
        """Return the member of this name with its settings; a twin has those of `one`, with the same instance id."""
        like = self.cast.named("one")[0] if name == self.cast.twin else name
        settings = {"poll_timeout_ms": _POLL.in_mode(self.mode), **_UNHURRIED.get(self.mode, {}), **self.scenario.settings}
        for words, own in self.scenario.settings_of.items():
            if {name, like} & set(self.cast.named(words)):
                settings |= own
        valued = {key: self._value(key, value) for key, value in settings.items()}
        if _INSTANCE in valued:
            valued[_INSTANCE] = str(valued[_INSTANCE]).replace("{member}", like)
        return Member(name=name, settings=valued)

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {inner: self._value(inner, item) for inner, item in value.items()}
        return self.ms(value) if key.endswith("_ms") else value

    def broker_setting(self, value: Any) -> Any:
        if value == "members":
            return len(self.cast.members)
        return self.ms(value) if value in self.scenario.durations else value


def plan_of_scenario(terms: Terms, *, is_calm: bool = False) -> Plan:
    """Return the plan; with `is_calm` it has no faults and no actions, and the scenario's expectations must fail."""
    writer, scenario = _Course(terms, is_calm=is_calm), terms.scenario
    if scenario.begin == "settled":
        writer.begin()
    for phase in scenario.phases:
        writer.phase(phase)
    writer.heal()
    return Plan(
        members=tuple(terms.member(name) for name in terms.cast.everybody),
        steps=tuple(writer.steps),
        topics={TOPIC: max(scenario.partitions, len(terms.cast.members))},
        records=scenario.records,
        coordinator={name: terms.broker_setting(value) for name, value in scenario.coordinator.items()},
    )


class _Course:
    """Writes the steps, and tracks which members run and which faults are active."""

    def __init__(self, terms: Terms, *, is_calm: bool) -> None:
        self.terms = terms
        self.steps: list[Step] = []
        self.up: list[str] = []
        self.frozen: list[str] = []
        self.paused: list[str] = []
        self.is_calm = is_calm
        self._topics = {TOPIC: max(terms.scenario.partitions, len(terms.cast.members))}
        self._broken: list[Fault] = []
        self._faults = {fault.name: fault for phase in terms.scenario.phases for fault in phase.faults}
        self._since: str | None = None
        self._instants = 0

    def begin(self) -> None:
        """Start the leader, and the other members together once it has its partitions."""
        first, rest = self.terms.cast.members[:1], self.terms.cast.members[1:]
        for together in (first, rest):
            for name in together:
                self.start(name)
            self.settle()

    def phase(self, phase: Phase) -> None:
        self._since = phase.name
        self.steps.append(Mark(name=phase.name))
        for fault in phase.faults if not self.is_calm else ():
            self.steps += steps_of(fault, self.terms.names(fault), self.terms.ms)
            self._broken.append(fault)
        for action in phase.actions:
            if not self.is_calm or action.do in _QUIET:
                ACTIONS[action.do][1](self, action, self._able(action))
        if phase.until is not None and not self.is_calm:
            self.wait(phase.until)
        if phase.lasts is not None:
            self.steps.append(Pass(ms=self.terms.ms(phase.lasts)))
        self.mend(fault for fault in phase.faults if not fault.lasts)

    def heal(self) -> None:
        """Mend, thaw, resume and restart where needed, and wait until the group has settled."""
        healing, terms = self.terms.scenario.healing, self.terms
        self.mend(list(self._broken))
        self.thaw(list(self.frozen))
        self.resume(list(self.paused))
        members = terms.cast.members if self.is_calm else terms.settled
        for name in members:
            if name not in self.up:
                self.start(name)
        self.steps.append(Mark(name=healing.name))
        settled = GroupSettled(members=members, topics=dict(self._topics), after=healing.name)
        self._await([settled], round(tolerated_ms(terms.ms(healing.within)) + 500))
        self.steps.append(Pass(ms=terms.ms(healing.still)))

    def _able(self, action: Action) -> tuple[str, ...]:
        """Return the members to which an action can happen: a stopped member cannot be closed, and a frozen one cannot freeze."""
        among: Mapping[str, list[str]] = {"thaw": self.frozen, "resume": self.paused}
        names = self.terms.names(action)
        if action.do in ("start", "freeze", "pause"):
            already = {"start": self.up, "freeze": self.frozen, "pause": self.paused}[action.do]
            return tuple(name for name in names if name not in already and (action.do == "start" or name in self.up))
        return tuple(name for name in names if action.do == "restart" or name in among.get(action.do, self.up))

    # The parts of a course.

    def start(self, name: str) -> None:
        self.steps.append(Start(member=name))
        self.up.append(name)

    def stop(self, name: str, how: str) -> None:
        self.steps.append(Kill(member=name) if how == "kill" else Command(member=name, command="close", within_ms=_CLOSE_MS))
        for some in (self.up, self.frozen, self.paused):
            if name in some:
                some.remove(name)

    def settle(self) -> None:
        """Wait until the running members share the partitions."""
        if self.up:
            settled = GroupSettled(members=tuple(self.up), topics=dict(self._topics), after=self._instant())
            self._await([settled], _PATIENCE.in_mode(self.terms.mode))

    def mend(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            if fault in self._broken:
                self._broken.remove(fault)
                self.steps += undo(fault, self.terms.names(fault))

    def fault(self, name: str) -> Fault:
        return self._faults[name]

    def thaw(self, names: Iterable[str]) -> None:
        for name in names:
            self.frozen.remove(name)
            self.steps.append(Thaw(member=name))

    def resume(self, names: Iterable[str]) -> None:
        for name in names:
            self.paused.remove(name)
            self.command(name, "resume")

    def command(self, name: str, command: str, **fields: Any) -> None:
        """Send a member a command and continue: under faults an answer may take a while."""
        self.steps.append(Command(member=name, command=command, fields=fields, wait=False))

    def grow(self, topic: str, partitions: int) -> None:
        self._topics[topic] = partitions
        self.steps.append(Grow(topic=topic, partitions=partitions))

    def replace(self, name: str, how: str) -> None:
        """Replace a member with the next joiner."""
        self.stop(name, how)
        newcomer = next((joiner for joiner in self.terms.cast.joiners if joiner not in self.up), None)
        if newcomer is not None:
            self.start(newcomer)
        self.settle()

    def wait(self, until: Mapping[str, Any]) -> None:
        """Wait for a condition since the phase began, and continue without it at the timeout."""
        within = self.terms.ms(until["within"]) if "within" in until else _PATIENCE.in_mode(self.terms.mode)
        after = self._instant() if "settled" in until else self._since
        self._await(conditions_of(until, self.terms.cast, after=after, faults=self._faults, topics=dict(self._topics)), within)

    def _instant(self) -> str:
        """Mark this instant: a group that had settled before need not be settled now."""
        self._instants += 1
        self.steps.append(Mark(name=f"instant-{self._instants}"))
        return f"instant-{self._instants}"

    def _await(self, conditions: Iterable[Condition], within_ms: int) -> None:
        self.steps += [Await(until=condition, within_ms=within_ms, go_on=True) for condition in conditions]


# Actions of a phase ----------------------------------------------------------------------------------------------------------------

_Do = Callable[[_Course, Action, tuple[str, ...]], None]
_QUIET: Final = frozenset({"wait", "commit"})


def _start(writer: _Course, _: Action, names: tuple[str, ...]) -> None:
    for name in names:
        writer.start(name)


def _stop(how: str) -> _Do:
    def stop(writer: _Course, _: Action, names: tuple[str, ...]) -> None:
        for name in names:
            writer.stop(name, how)

    return stop


def _restart(writer: _Course, action: Action, names: tuple[str, ...]) -> None:
    """Restart members one by one; wait each time until the group has settled."""
    for name in names:
        if name in writer.up:
            writer.stop(name, action.how.get("by", "close"))
            writer.steps.append(Pass(ms=writer.terms.ms(action.how.get("down", 0))))
        writer.start(name)
        writer.settle()


def _replace(writer: _Course, action: Action, names: tuple[str, ...]) -> None:
    """Replace members by joiners one by one; wait each time until the group has settled."""
    for name in names:
        writer.replace(name, action.how.get("by", "close"))


def _configure(writer: _Course, action: Action, _: tuple[str, ...]) -> None:
    settings = action.how["settings"].items()
    writer.steps.append(ConfigureGroup(settings={name: writer.terms.broker_setting(value) for name, value in settings}))


def _freeze(writer: _Course, _: Action, names: tuple[str, ...]) -> None:
    writer.frozen += names
    writer.steps += [Freeze(member=name) for name in names]


def _pause(writer: _Course, _: Action, names: tuple[str, ...]) -> None:
    writer.paused += names
    for name in names:
        writer.command(name, "pause")


def _tell(command: str, **fixed: Any) -> _Do:
    def tell(writer: _Course, action: Action, names: tuple[str, ...]) -> None:
        for name in names:
            writer.command(name, command, **fixed, **action.how)

    return tell


def _move(writer: _Course, action: Action, _: tuple[str, ...]) -> None:
    writer.steps.append(MoveCoordinator(parked=action.how.get("parked", "answer"), state=action.how.get("state", "kept")))


def _release(writer: _Course, action: Action, _: tuple[str, ...]) -> None:
    fault = writer.fault(action.how["fault"])
    writer.steps += [Release(fault=name) for name in names_of(fault, writer.terms.names(fault))]


ACTIONS: Final[Mapping[str, tuple[frozenset[str], _Do]]] = {
    "start": (frozenset({"who"}), _start),
    "close": (frozenset({"who"}), _stop("close")),
    "kill": (frozenset({"who"}), _stop("kill")),
    "restart": (frozenset({"who", "by", "down"}), _restart),
    "replace": (frozenset({"who", "by"}), _replace),
    "configure": (frozenset({"settings"}), _configure),
    "freeze": (frozenset({"who"}), _freeze),
    "thaw": (frozenset({"who"}), lambda writer, _, names: writer.thaw(names)),
    "pause": (frozenset({"who"}), _pause),
    "resume": (frozenset({"who"}), lambda writer, _, names: writer.resume(names)),
    "commit": (frozenset({"who", "offsets"}), _tell("commit", mode="sync")),
    "resubscribe": (frozenset({"who", "topics"}), _tell("resubscribe")),
    "move": (frozenset({"parked", "state"}), _move),
    "grow": (frozenset({"partitions", "topic"}), lambda writer, action, _: writer.grow(action.how.get("topic", TOPIC), action.how["partitions"])),
    "mend": (frozenset({"fault"}), lambda writer, action, _: writer.mend([writer.fault(action.how["fault"])])),
    "release": (frozenset({"fault"}), _release),
    "wait": (frozenset({"for"}), lambda writer, action, _: writer.steps.append(Pass(ms=writer.terms.ms(action.how["for"])))),
    "await": (frozenset({"until"}), lambda writer, action, _: writer.wait(action.how["until"])),
}  # fmt: skip
"""The actions, with their fields."""
