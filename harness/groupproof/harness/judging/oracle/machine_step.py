"""What a walk needs of the machine: to step it with what a broker did, which may be nothing that it can do, and what its rules and answers say. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec

from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.wire.messages import JoinGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Output
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.protocol.rules import Row
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["ImpossibleChoice", "answers_by_rule", "breaks_off", "followed"]

Arguments = ParamSpec("Arguments")


class ImpossibleChoice(Exception):
    """The broker's choices lead to a state that the machine's invariants forbid; `str()` says which invariant."""


def followed(step: Callable[Arguments, list[Output]], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> list[Output]:
    """Return what `step` of a machine puts out; raise `ImpossibleChoice` where it breaks one of its own invariants. Only a broker's answers can make it do so.

    The reference keeps its invariants for every choice that it makes itself (the tests of the machine prove that). Here the broker makes the choices.
    """
    try:
        return step(*arguments, **named)
    except (AssertionError, AttributeError, KeyError) as error:
        raise ImpossibleChoice(str(error.args[0]) if error.args else type(error).__name__) from error


def breaks_off(message: GroupResponse, asked: Exchange, fields: Mapping[str, int]) -> bool:
    """Tell whether the answer is one that brokers of the release can't write, over which they leave their group half answered (KAFKA-14422), and this broker did."""
    if not isinstance(message, JoinGroupResponse) or asked.version >= fields["join_lists_instances_since"]:
        return False
    is_told = asked.code == message.error_code and (asked.answer or {}).get("generation_id") == message.generation_id
    return any(member.group_instance_id for member in message.members) and not is_told


@cache
def answers_by_rule(profile: str) -> Mapping[str, Any]:
    """Return what each row says to the request that it is applied to, by the row's name; None where it says nothing itself."""
    rows: dict[str, Row] = dict(profile_named(profile).named_rules())
    for table in profile_named(profile).tables.values():
        for kind, cell in table.before_group.items():
            rows.update((f"{kind.value}/before/{row.name}", row) for row in cell)
    return {name: row.answer for name, row in rows.items()}


on_change(answers_by_rule.cache_clear)
