"""Steps the machine with a broker's recorded choices, which may be impossible for the machine, and finds the answers of its rules. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ParamSpec

from groupproof.coordinator.machine.coordinator_settings import Settings, setting_names
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.wire.messages import JoinGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Output
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.protocol.rules import Row
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["ImpossibleChoice", "answers_by_rule", "breaks_off", "followed", "settings_of"]

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


@lru_cache(maxsize=64)  # as many as `bound_tables` keeps
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
