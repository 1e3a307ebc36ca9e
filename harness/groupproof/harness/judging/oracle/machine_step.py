"""Steps the machine with a broker's recorded choices, which may be impossible for the machine, and finds the answers of its rules. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, ParamSpec

from groupproof.coordinator.machine.bound_tables import PROFILES_MAX
from groupproof.coordinator.machine.coordinator_settings import Settings, setting_names
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.harness.judging.oracle.replay_result import Deviation
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.classic.classic_states import EMPTY, PREPARING
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.vocabulary import Api, ErrorCode, Level
from groupproof.protocol.wire.messages import JoinGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.coordinator import Coordinator, Output
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.harness.judging.oracle.recorded_choices import RecordedChoices
    from groupproof.protocol.rules import Row
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = [
    "EARLY_END",
    "ImpossibleChoice",
    "answers_by_rule",
    "arrival_of",
    "breaks_off",
    "end_delay",
    "first_admission",
    "followed",
    "is_delayed",
    "settings_of",
]

EARLY_END: Final = Deviation(
    requirement="IDJ-02",
    expected="The first join phase of a group ends with its initial delay.",
    observed="It ends before.",
    seq=0,
    level=Level.SHOULD,
)
"""A member that comes later costs another rebalance (the levels of IDJ and TR-062)."""

Arguments = ParamSpec("Arguments")


class ImpossibleChoice(Exception):
    """The broker's choices lead to a state that the machine's invariants forbid; `str()` names the invariant."""


def followed(step: Callable[Arguments, list[Output]], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> list[Output]:
    """Return the outputs of a machine's `step`. Raise `ImpossibleChoice` where it breaks an invariant of the machine.

    The reference keeps its invariants for all choices that it makes itself (the machine's tests prove that). Here the broker makes the choices.
    """
    try:
        return step(*arguments, **named)
    except (AssertionError, AttributeError, KeyError) as error:
        raise ImpossibleChoice(str(error.args[0]) if error.args else type(error).__name__) from error


def breaks_off(message: GroupResponse, asked: Exchange, fields: Mapping[str, int]) -> bool:
    """Return whether brokers of the release cannot write the answer and leave their group half answered (KAFKA-14422), and this broker did so."""
    if not isinstance(message, JoinGroupResponse) or asked.version >= fields["join_lists_instances_since"]:
        return False
    is_told = asked.code == message.error_code and (asked.answer or {}).get("generation_id") == message.generation_id
    return any(member.group_instance_id for member in message.members) and not is_told


def arrival_of(exchange: Exchange, choices: RecordedChoices) -> Arrival:
    return Arrival(exchange.number, exchange.version, exchange.client, "/127.0.0.1", choices.joins_at_once(exchange))


def is_delayed(group: AnyGroup | None) -> bool:
    """Return whether only its initial delay keeps a group from its next generation: nobody is absent."""
    if not isinstance(group, Group) or group.state is not PREPARING or group.before is not EMPTY:
        return False
    return group.members.joined == len(group.members)


def first_admission(parked: Iterable[Exchange]) -> tuple[float, int]:
    """Return when the first of the parked JoinGroups was answered 0, and the observation that shows it: never without one."""
    joins = (exchange for exchange in parked if exchange.api is Api.JOIN_GROUP and exchange.code == ErrorCode.NONE)
    return min(((exchange.answered_ms, exchange.seq) for exchange in joins if exchange.answered_ms is not None), default=(math.inf, 0))


def end_delay(machine: Coordinator, group_id: str, now_ms: int) -> list[Output]:
    """End the initial delay of a group. A newcomer extends it once (TR-051), and then there is none."""
    outputs = machine.operate(ClassicEvent.INITIAL_DELAY_END, group_id, now_ms)
    return [*outputs, *(machine.operate(ClassicEvent.INITIAL_DELAY_END, group_id, now_ms) if is_delayed(machine.group(group_id)) else ())]


@lru_cache(maxsize=PROFILES_MAX)
def answers_by_rule(profile: str) -> Mapping[str, Any]:
    """Return each row's answer to the request that it is applied to, by the row's name; None where the row does not answer it."""
    rows: dict[str, Row] = dict(profile_named(profile).named_rules())
    for table in profile_named(profile).tables.values():
        for kind, cell in table.before_group.items():
            rows.update((f"{kind.value}/before/{row.name}", row) for row in cell)
    return {name: row.answer for name, row in rows.items()}


on_change(answers_by_rule.cache_clear)


def settings_of(settings: Mapping[str, Any], profile: str) -> Settings:
    """Return the machine's settings of a profile from a broker's settings, by their dotted names."""
    names = setting_names(profile)
    return Settings.of({name: value for name, value in settings.items() if {name, name.replace("_", ".")} & names}, profile)
