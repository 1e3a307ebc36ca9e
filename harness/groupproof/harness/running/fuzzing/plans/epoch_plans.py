"""Random plans for a client of KIP-848's protocol: faults act on its heartbeats while partitions change owners, and its application continues. Pure.

A plan injects only answers after which a member goes on (`protocol/groupproof/protocol/rules/consumer/consumer_reactions.py`): at its end all is
healed, and the group must settle. Its members are dynamic. A static member that a fault made believe that it is fenced joins again, is refused
because of its own instance id, and rightly ends (CGS-06).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from groupproof.harness.cases.drawn_case import with_healing
from groupproof.harness.model.plan import Arm, Await, GroupSettled, Member, Plan, Step
from groupproof.harness.model.plan_builders import close, command, commit, delivered, grow, kill, move, passing, start
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource, weighted_choice
from groupproof.harness.running.fuzzing.plans.plan_source import Traits
from groupproof.protocol.faults import Action, Answer, Cut, Fault, Hold, Selector, Silence
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_reactions import CONSUMER_REACTIONS
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from groupproof.protocol.vocabulary import Api

__all__ = ["codes_to_go_on_after", "epoch_plan_drawn"]

_TOPIC: Final = "t"
_TURNS_MAX: Final = 5
_SETTLED_MS: Final = 12_000
_DELIVERED_MS: Final = 2_500
_SESSION_MS: Final = 6_000
_INTERVAL_MS: Final = 500
_POLL_MS: Final = 10_000
_BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT
_FAULT_APIS: Final = {_BEAT: 6, Api.OFFSET_COMMIT: 2, Api.OFFSET_FETCH: 1, Api.FIND_COORDINATOR: 1}
_COORDINATOR: Final = {SESSION_TIMEOUT: _SESSION_MS, HEARTBEAT_INTERVAL: _INTERVAL_MS, ASSIGNMENT_INTERVAL: 0}
_ENDS: Final = frozenset({Effect.RAISE, Effect.FAIL})


@cache
def codes_to_go_on_after(api: Api) -> tuple[int, ...]:
    """Return the error codes of a request after which the reference member goes on by itself, in order."""
    rows = CONSUMER_REACTIONS[api].rows
    return tuple(sorted(code for code, row in rows.items() if isinstance(code, int) and code and not _ENDS & set(row.effects)))


def epoch_plan_drawn(choices: ChoiceSource, traits: Traits) -> Plan:
    """Return a plan that is healed at its end."""
    return _PlanWriter(choices, traits).plan()


@dataclass(slots=True)
class _PlanWriter:
    """Writes one plan, turn by turn; a killed member is started again at once, as by a supervisor."""

    choices: ChoiceSource
    traits: Traits
    steps: list[Step] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    up: list[str] = field(default_factory=list)
    paused: set[str] = field(default_factory=set)
    partitions: int = 0
    faults: int = 0

    def plan(self) -> Plan:
        choices = self.choices
        self.partitions = first = choices.number(1, 4)
        settings = self._settings()
        for number in range(min(weighted_choice(choices, {1: 1, 2: 3, 3: 2}), self.traits.members_max)):
            self.members.append(Member(name=f"m{number}", settings=settings))
        self._begin()
        for _ in range(choices.number(1, _TURNS_MAX)):
            self._turn()
        return with_healing(Plan(members=tuple(self.members), steps=tuple(self.steps), topics={_TOPIC: first}, coordinator=_COORDINATOR))

    def _can(self, capability: str) -> bool:
        return capability in self.traits.capabilities

    def _settings(self) -> dict[str, Any]:
        choices = self.choices
        settings: dict[str, Any] = {"group_protocol": CONSUMER.name, "max_poll_interval_ms": _POLL_MS}
        if self._can("auto-commit") and choices.chance(3):
            settings |= {"auto_commit": True, "auto_commit_interval_ms": 500}
        if self._can("on-revoked") and choices.chance(3):
            settings["on_revoked"] = {"sleep_ms": choices.one_of((0, 500, 1_500)), "commit": self._can("commit") and choices.chance(2)}
        return settings

    # The turns.

    def _begin(self) -> None:
        """Start the members, at once or one by one; the last of several may start later."""
        names = [member.name for member in self.members]
        if len(names) > 1 and self.choices.chance(2):
            names.pop()
        if self.choices.chance(4):
            self._arm_fault(names[0], _BEAT)
        is_slow = self.choices.chance(3)
        for name in names:
            self._start(name)
            if is_slow or name == names[-1]:
                self._settle()

    def _turn(self) -> None:
        """Arm a fault on a member's request, or run an action, or both: clients fail when two things coincide."""
        who = self.choices.one_of(self.up)
        fault = self._arm_fault(who, weighted_choice(self.choices, _FAULT_APIS)) if self.choices.chance(3) or self.choices.chance(2) else None
        if fault is None or self.choices.chance(2):
            self._act(self.choices.one_of(self.up))
        if fault is not None:
            self.steps.append(delivered(fault, within_ms=_DELIVERED_MS, go_on=True))
        if self.choices.chance(2):
            self.steps.append(passing(self.choices.one_of((100, 600, 1_500))))
        if self.choices.chance(4):
            self._settle()

    def _act(self, name: str) -> None:
        weights = {
            "newcomer": 4,
            "grow": 2,
            "move": 2,
            "kill": 1,
            "close": 2,
            "commit": 3 * self._can("commit"),
            "pause": self._can("pause"),
        }
        getattr(self, f"_{weighted_choice(self.choices, {action: weight for action, weight in weights.items() if weight})}")(name)

    def _settle(self) -> None:
        settled = GroupSettled(members=tuple(self.up), topics={_TOPIC: self.partitions})
        self.steps.append(Await(until=settled, within_ms=_SETTLED_MS, go_on=True))

    # The actions.

    def _start(self, name: str) -> None:
        self.up.append(name)
        self.steps += start(name)

    def _newcomer(self, _: str) -> None:
        away = [member.name for member in self.members if member.name not in self.up]
        if away:
            self._start(away[0])

    def _grow(self, _: str) -> None:
        self.partitions += 1
        self.steps.append(grow(_TOPIC, self.partitions))

    def _move(self, _: str) -> None:
        self.steps.append(move(state="kept", parked="drop" if self.choices.chance(2) else "answer"))

    def _kill(self, name: str) -> None:
        self.paused.discard(name)
        self.steps.append(kill(name))
        self.steps += start(name)

    def _close(self, name: str) -> None:
        """Close a member; keep at least one."""
        if len(self.up) > 1:
            self.up.remove(name)
            self.paused.discard(name)
            self.steps.append(close(name))

    def _commit(self, name: str) -> None:
        self.steps.append(commit(name, wait=False))

    def _pause(self, name: str) -> None:
        """Stop the application's polls, or resume them."""
        self.steps.append(command(name, "resume" if name in self.paused else "pause", wait=False))
        self.paused ^= {name}

    # Faults.

    def _arm_fault(self, client: str, api: Api) -> str:
        """Arm a fault on a member's request, and return its name."""
        self.faults += 1
        action, direction = self._action(api)
        count = 1 if isinstance(action, Silence) else weighted_choice(self.choices, {1: 5, 2: 2, 3: 1})
        selector = Selector(api=api.title, direction=direction, client=client, nth=weighted_choice(self.choices, {1: 4, 2: 2, 3: 1}), count=count)
        self.steps.append(Arm(fault=Fault(name=f"f{self.faults}", selector=selector, action=action)))
        return f"f{self.faults}"

    def _action(self, api: Api) -> tuple[Action, str]:
        choices = self.choices
        side = "request" if choices.chance(2) else "response"
        codes = codes_to_go_on_after(api)
        kind = weighted_choice(
            choices, {"answer": 5 * bool(codes), "hold": 3, "cut": 3, "silence": 1} if codes else {"hold": 3, "cut": 3, "silence": 1}
        )
        if kind == "answer":
            return Answer(error_code=choices.one_of(codes)), "request"
        if kind == "hold":
            return Hold(ms=choices.one_of((_INTERVAL_MS // 2, 2 * _INTERVAL_MS, _SESSION_MS // 2, _SESSION_MS + 400))), side
        return (Cut(reset=choices.chance(2)), side) if kind == "cut" else (Silence(), side)
