"""Random plans for a client: members with random settings, faults on the frames of each phase, and actions of the application. Pure.

A plan is a series of turns. Most turns arm a fault and bring about the request that it waits for (a rebalance, a commit, a clean close). Half of them
add an action in between: clients fail when two things coincide. A plan with a theme begins with the theme. Kinds of faults and of actions
are left out of each plan at random (swarm testing: Groce et al., ISSTA 2012), so that each also occurs alone and in quantity.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.cases.drawn_case import with_healing
from groupproof.harness.model.plan import Arm, Member, Plan, Step
from groupproof.harness.model.plan_builders import (
    answers,
    breaks,
    close,
    command,
    commit,
    delivered,
    freeze,
    grow,
    heal,
    holds,
    kill,
    mend,
    move,
    passing,
    requested,
    stable,
    start,
    thaw,
)  # fmt: skip
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource, weighted_choice
from groupproof.harness.running.fuzzing.plans.app_actions import MEANWHILE, NEEDS, PROCESS_ACTIONS, REBALANCE_STARTS, AppAction
from groupproof.harness.running.fuzzing.plans.random_faults import Kind, Setting, random_fault
from groupproof.harness.running.fuzzing.plans.themes import Phase, Theme
from groupproof.harness.running.plans.own_assignor import own_assignor_of
from groupproof.protocol.faults import Fault, Hold
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api, ErrorCode

__all__ = ["Traits", "plan_drawn"]

TIME_MS_MAX: Final = 12_000
"""The maximum total of a plan's holds and pauses, in milliseconds."""

_SETTLED_MS: Final = 12_000
_TAKEN_UP_MS: Final = 200
_DELIVERED_MS: Final = 2_500
_POLL_MS: Final = 10_000
_SHORT_MS: Final = 3_000
_TOPIC: Final = "t"
_PROCESS_ACTIONS_ONE_IN: Final = 6
_BROKEN: Final = "b"


_FAULT_APIS: Final = {
    Api.JOIN_GROUP: 4, Api.SYNC_GROUP: 4, Api.HEARTBEAT: 4, Api.OFFSET_COMMIT: 4, Api.OFFSET_FETCH: 2, Api.FIND_COORDINATOR: 1, Api.LEAVE_GROUP: 1,
}  # fmt: skip
_REBALANCE_APIS: Final = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.OFFSET_FETCH)
_HELD_APIS: Final = {Phase.JOINING: Api.JOIN_GROUP, Phase.SYNCING: Api.SYNC_GROUP}
_HELD_MS: Final = (800, 1_500, 2_500)
_JOINING_APIS: Final = {Api.FIND_COORDINATOR: 1, Api.JOIN_GROUP: 2, Api.SYNC_GROUP: 2, Api.OFFSET_FETCH: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The inputs of a drawn plan: the shim's capabilities, the coordinators' release, and the maximum number of members."""

    capabilities: Collection[str]
    profile: str
    members_max: int = 3


def plan_drawn(choices: ChoiceSource, traits: Traits, theme: Theme | None = None) -> Plan:
    """Return a plan that is healed at its end, on the theme if there is one."""
    return _PlanWriter(choices, traits, theme).plan()


@dataclass(slots=True)
class _PlanWriter:
    """Writes one plan, turn by turn."""

    choices: ChoiceSource
    traits: Traits
    theme: Theme | None
    steps: list[Step] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)
    partitions: int = 0
    is_resubscribed: bool = False
    faults: int = 0
    time_ms: int = 0
    setting: Setting = field(init=False)
    app_actions: frozenset[AppAction] = field(init=False)

    def plan(self) -> Plan:
        self._choose()
        topics = {_TOPIC: self.partitions, "u": 2}
        coordinator = {"group.initial.rebalance.delay.ms": weighted_choice(self.choices, {300: 3, 0: 1, 1_000: 1})}
        self._begin()
        if self.theme is not None and self.theme.api is not Api.OFFSET_FETCH:  # `_begin` arms that one
            self._theme_turn(self.theme.api, self.theme.phase)
        for _ in range(self.choices.number(1, 4) if self.theme is None else self.choices.number(0, 2)):
            if self.time_ms < TIME_MS_MAX:
                self._turn()
        return with_healing(Plan(members=tuple(self.members), steps=tuple(self.steps), topics=topics, coordinator=coordinator))

    # The plan's settings.

    def _choose(self) -> None:
        choices = self.choices
        is_fenced = self.theme is not None and self.theme.code == ErrorCode.FENCED_INSTANCE_ID
        is_short, is_static = choices.chance(3), self._can("static") and (is_fenced or choices.chance(4))
        settings = self._settings(is_short=is_short)
        needs_two = self._is_about(Api.LEAVE_GROUP)
        count = min(weighted_choice(choices, {2: 3, 3: 1} if needs_two else {1: 2, 2: 3, 3: 1}), self.traits.members_max)
        for number in range(count):
            own = {**settings, "instance_id": f"i{number}"} if is_static else settings
            is_reference = number == count - 1 > needs_two and choices.chance(5)
            self.members.append(Member(name="z0" if is_reference else f"m{number}", kind="reference" if is_reference else "subject", settings=own))
        self.partitions = choices.number(1, 4)
        kinds = [kind for kind in Kind if choices.chance(2)] or [Kind.ANSWER]
        left_out = frozenset() if choices.chance(_PROCESS_ACTIONS_ONE_IN) else PROCESS_ACTIONS
        self.app_actions = frozenset(action for action in AppAction if self._can(NEEDS.get(action)) and choices.number(0, 2)) - left_out
        self.setting = Setting(
            profile=self.traits.profile,
            kinds=kinds,
            session_ms=settings["session_timeout_ms"],
            heartbeat_ms=settings["heartbeat_interval_ms"],
            is_static=is_static,
            is_final=choices.chance(5),
        )

    def _can(self, capability: str | None) -> bool:
        return capability is None or capability in self.traits.capabilities

    def _settings(self, *, is_short: bool) -> dict[str, Any]:
        """Return the settings of all members; a short session may come with a poll deadline that an application can miss."""
        choices = self.choices
        own = own_assignor_of(self.traits.capabilities)
        assignors = ("range" if own is None else own, "roundrobin", *((COOPERATIVE_STICKY,) * 2 if self._can("cooperative") else ()))
        settings: dict[str, Any] = {
            "assignors": [choices.one_of(assignors)],
            "session_timeout_ms": _SHORT_MS if is_short else 2 * _SHORT_MS,
            "heartbeat_interval_ms": weighted_choice(choices, {300: 4, 900: 1}),
            "max_poll_interval_ms": _SHORT_MS if is_short and choices.chance(2) else _POLL_MS,
        }
        if self._can("auto-commit") and choices.chance(4):
            settings |= {"auto_commit": True, "auto_commit_interval_ms": 500}
        if self._can("on-revoked") and choices.chance(4):
            settings["on_revoked"] = {"sleep_ms": choices.one_of((0, 500, 1_500)), "commit": self._can("commit") and choices.chance(2)}
        if choices.chance(3):
            settings["metadata_max_age_ms"] = 2_000
        if choices.chance(3):
            settings["request_timeout_ms"] = 2_500
        return settings

    # The turns.

    def _begin(self) -> None:
        """Start the members, at once or one by one; the last of several may start later."""
        names = [member.name for member in self.members]
        if len(names) > 1 and self.choices.chance(2) and not self._is_about(Api.LEAVE_GROUP):
            names.pop()
        if self._is_about(Api.OFFSET_FETCH):
            self._arm_theme(names[0])
        elif self.choices.chance(4):
            self._arm(self._fault(weighted_choice(self.choices, _JOINING_APIS), names[0]))
        is_slow = self.choices.chance(3)
        for name in names:
            self._start(name)
            if is_slow or name == names[-1]:
                self.steps.append(stable(*self.started, within_ms=_SETTLED_MS, go_on=True))
        self.steps.append(passing(_TAKEN_UP_MS))

    def _turn(self) -> None:
        if self.paused and self.choices.chance(2):
            self._resume(min(self.paused))
        if self.choices.chance(4):
            self._act(MEANWHILE)
        else:
            self._fault_turn()
        if self.choices.chance(3):
            self._pass()

    def _fault_turn(self) -> None:
        """Arm a fault, bring its request about, and half of the time run an action in between."""
        target, api = self.choices.one_of(self._active()), weighted_choice(self.choices, _FAULT_APIS)
        fault = self._fault(api, target)
        self._arm(fault)
        self._bring_about(api, target)
        self.steps.append(delivered(fault.name, within_ms=_DELIVERED_MS, go_on=True))
        if self.choices.chance(2):
            self._act(MEANWHILE, target)

    def _bring_about(self, api: Api, target: str) -> None:
        if api in _REBALANCE_APIS:
            self._act(REBALANCE_STARTS)
        elif api is Api.OFFSET_COMMIT and self._can("commit"):
            self._commit(target)
        elif api is Api.FIND_COORDINATOR:
            self._arm_answer(Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR, target)
        elif api is Api.LEAVE_GROUP:
            self._close(target)

    def _act(self, weights: dict[AppAction, int], who: str | None = None) -> None:
        """Run one of the weighted actions that this plan has. An injected REBALANCE_IN_PROGRESS is always among `REBALANCE_STARTS`."""
        possible = {
            action: weight
            for action, weight in weights.items()
            if action in self.app_actions or (action is AppAction.REBALANCE and weights is REBALANCE_STARTS)
        }
        if not possible:
            return
        name = who if who in self._active() else self.choices.one_of(self._active())
        _METHODS[weighted_choice(self.choices, possible)](self, name)

    def _theme_turn(self, api: Api, phase: Phase) -> None:
        """Arm the theme's fault in its phase and bring its request about. Often add an action or a pause, so that its effect shows alone."""
        target = self.choices.one_of([name for name in self._active() if name in self._subjects()])
        if phase is not Phase.SETTLED:
            hold = holds(self._fault_name(), _HELD_APIS[phase], ms=self.choices.one_of(_HELD_MS), client=target)
            self._arm(hold.fault)
            self._answer_members(target)
            self.steps.append(delivered(hold.fault.name, within_ms=_DELIVERED_MS, go_on=True))
        fault = self._arm_theme(target)
        if api in _REBALANCE_APIS:
            self._start_rebalance(target)
        else:
            self._bring_about(api, target)
        self.steps.append(delivered(fault, within_ms=_DELIVERED_MS, go_on=True))
        if self.choices.chance(3):
            self._act(MEANWHILE, target)
        elif self.choices.chance(2):
            self._pass()

    def _arm_theme(self, client: str) -> str:
        """Arm the theme's fault, and return its name."""
        assert self.theme is not None
        fault = random_fault(self.choices, self._fault_name(), self.theme.api, client, self.setting, kind=self.theme.kind, code=self.theme.code)
        self._arm(fault)
        return fault.name

    def _is_about(self, api: Api) -> bool:
        return self.theme is not None and self.theme.api is api

    def _start_rebalance(self, target: str) -> None:
        """Make a member join again: by an injected answer, or by a new member."""
        if len(self.started) < len(self.members) and self.choices.chance(2):
            self._newcomer(target)
        else:
            self._answer_members(target)

    # The actions.

    def _subjects(self) -> set[str]:
        return {member.name for member in self.members if member.kind == "subject"}

    def _active(self) -> list[str]:
        return [name for name in self.started if name not in self.closed]

    def _start(self, name: str) -> None:
        self.started.append(name)
        self.steps += start(name)

    def _newcomer(self, name: str) -> None:
        away = [member.name for member in self.members if member.name not in self.started]
        if away:
            self._start(away[0])

    def _commit(self, name: str, mode: str | None = None) -> None:
        """Commit the positions, or offsets that the application chooses."""
        if mode is None:
            mode = "async" if self._can("commit-async") and self.choices.chance(2) else "sync"
        offsets = ((_TOPIC, 0, self.choices.number(1, 9)),) if self.choices.chance(2) else ()
        self.busy.add(name)
        self.steps.append(commit(name, *offsets, mode=mode, wait=False))

    def _pause(self, name: str) -> None:
        """Stop the polls of a member without other pending work, which would show as its silence."""
        if name not in self.busy | self.paused:
            self.paused.add(name)
            self.steps.append(command(name, "pause", wait=False))
            self._pass()

    def _resume(self, name: str) -> None:
        self.paused.discard(name)
        self.steps.append(command(name, "resume", wait=False))

    def _resubscribe(self, name: str) -> None:
        self.is_resubscribed = not self.is_resubscribed
        self.busy.add(name)
        self.steps.append(command(name, "resubscribe", topics=[_TOPIC, "u"] if self.is_resubscribed else [_TOPIC], wait=False))

    def _close(self, name: str) -> None:
        """Close a member; keep at least one subject."""
        if self._subjects() & set(self._active()) - {name}:
            self.closed.add(name)
            self.paused.discard(name)
            self.steps.append(close(name, wait=False))

    def _answer_members(self, name: str) -> None:
        """Answer a member's Heartbeats with REBALANCE_IN_PROGRESS until it joins again: after a single one, the next answer could revoke it."""
        fault = self._fault_name()
        self.steps += [
            answers(fault, Api.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, client=name, count=None, direction="response"),
            requested(name, Api.JOIN_GROUP, after=fault, within_ms=_DELIVERED_MS, go_on=True),
            heal(fault),
        ]

    def _grow(self, name: str) -> None:
        self.partitions += 1
        self.steps.append(grow(_TOPIC, self.partitions))

    def _move(self, name: str) -> None:
        self.steps.append(move(state="lost" if self.choices.chance(3) else "kept", parked="drop" if self.choices.chance(2) else "answer"))

    def _kill(self, name: str) -> None:
        """Kill a member, and start it again soon, as a supervisor does."""
        self.steps.append(kill(name))
        self.paused.discard(name)
        self.busy.discard(name)
        self._pass()
        self.steps += start(name)

    def _freeze(self, name: str) -> None:
        """Freeze a member's process for a while, sometimes for longer than its session."""
        if name in self.paused:
            return
        session_ms = self.setting.session_ms
        ms = self.choices.one_of((800, 1_500, session_ms // 2, session_ms + 500))
        self.time_ms += ms
        self.steps += [freeze(name), passing(ms), thaw(name)]

    def _break(self, name: str) -> None:
        """Break the coordinator's broker, wait or commit meanwhile, and mend it."""
        self.steps.append(breaks(_BROKEN, self.choices.one_of(("pause", "kill", "slow-disk"))))
        if self._can("commit") and self.choices.chance(2):
            self._commit(name)
        self._pass()
        self.steps.append(mend(_BROKEN))

    def _pass(self, name: str = "") -> None:
        ms = self.choices.one_of((100, 300, 800, 1_500))
        self.time_ms += ms
        self.steps.append(passing(ms))

    # Faults.

    def _arm_another(self, name: str) -> None:
        self._arm(self._fault(weighted_choice(self.choices, _FAULT_APIS), name))

    def _fault(self, api: Api, client: str) -> Fault:
        return random_fault(self.choices, self._fault_name(), api, client, self.setting)

    def _fault_name(self) -> str:
        self.faults += 1
        return f"f{self.faults}"

    def _arm(self, fault: Fault) -> None:
        if isinstance(fault.action, Hold):
            self.time_ms += fault.action.ms or 0
        self.steps.append(Arm(fault=fault))

    def _arm_answer(self, api: Api, code: int, client: str) -> None:
        self.steps.append(answers(self._fault_name(), api, code, client=client))


_METHODS: Final[dict[AppAction, Any]] = {
    AppAction.COMMIT: lambda writer, name: writer._commit(name, "sync"),
    AppAction.COMMIT_ASYNC: lambda writer, name: writer._commit(name, "async"),
    AppAction.PAUSE: _PlanWriter._pause,
    AppAction.RESUBSCRIBE: _PlanWriter._resubscribe,
    AppAction.CLOSE: _PlanWriter._close,
    AppAction.NEWCOMER: _PlanWriter._newcomer,
    AppAction.REBALANCE: _PlanWriter._answer_members,
    AppAction.GROW: _PlanWriter._grow,
    AppAction.MOVE: _PlanWriter._move,
    AppAction.FAULT: _PlanWriter._arm_another,
    AppAction.PASS: _PlanWriter._pass,
    AppAction.KILL: _PlanWriter._kill,
    AppAction.FREEZE: _PlanWriter._freeze,
    AppAction.BREAK: _PlanWriter._break,
}
