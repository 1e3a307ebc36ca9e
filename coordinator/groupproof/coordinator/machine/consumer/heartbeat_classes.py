"""The classes of ConsumerGroupHeartbeats. A typical heartbeat, which only reports that its member lives, matches few rows. Pure.

Three facts define a class: the sign of the epoch, whether an instance id is present, and whether a rack, an assignor or an expression is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from groupproof.coordinator.machine.dialect_functions import RequestClasses
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerGuard

if TYPE_CHECKING:
    from groupproof.protocol.rules.cells import GuardName
    from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

__all__ = ["HEARTBEAT_CLASSES", "class_of"]

_ESTABLISHED: Final = 0
_JOINS: Final = 1
_LEAVES: Final = 2  # or an invalid negative epoch
_SIGNS: Final = 3


class _Facts(NamedTuple):
    """The facts common to all heartbeats of a class. `is_bare` means that neither rack, assignor nor expression is present."""

    sign: int
    has_instance: bool
    is_bare: bool


def class_of(request: ConsumerGroupHeartbeatRequest) -> int:
    """Return the number of the heartbeat's class."""
    epoch = request.member_epoch
    number = 1 + _ESTABLISHED if epoch > 0 else 1 + _JOINS if epoch == 0 else 1 + _LEAVES
    if request.instance_id is not None:
        number += _SIGNS
    if request.rack_id is not None or request.server_assignor is not None or request.subscribed_topic_regex is not None:
        number += 2 * _SIGNS
    return number


def _facts(number: int) -> _Facts:
    rest, sign = divmod(number - 1, _SIGNS)
    return _Facts(sign=sign, has_instance=bool(rest % 2), is_bare=rest < 2)


def _joins(facts: _Facts) -> bool:
    return facts.sign == _JOINS


def _leaves(facts: _Facts) -> bool:
    return facts.sign == _LEAVES


def _leaves_statically(facts: _Facts) -> bool:
    return _leaves(facts) and facts.has_instance


def _is_established(facts: _Facts) -> bool:
    return facts.sign == _ESTABLISHED


def _joins_statically(facts: _Facts) -> bool:
    return _joins(facts) and facts.has_instance


def _is_established_static(facts: _Facts) -> bool:
    return _is_established(facts) and facts.has_instance


def _says_more(facts: _Facts) -> bool:
    return not facts.is_bare


_MAY_HOLD: Final[Mapping[GuardName, Callable[[_Facts], bool]]] = {
    ConsumerGuard.INSTANCE_ID_EMPTY: lambda facts: facts.has_instance,
    ConsumerGuard.RACK_ID_EMPTY: _says_more,
    ConsumerGuard.JOIN_WITHOUT_TIMEOUT: _joins,
    ConsumerGuard.JOIN_OWNS: _joins,
    ConsumerGuard.JOIN_WITHOUT_SUBSCRIPTION: _joins,
    ConsumerGuard.STATIC_LEAVE_WITHOUT_INSTANCE: lambda facts: _leaves(facts) and not facts.has_instance,
    ConsumerGuard.EPOCH_TOO_LOW: _leaves,
    ConsumerGuard.ASSIGNOR_UNKNOWN: _says_more,
    ConsumerGuard.REGEX_INVALID: _says_more,
    ConsumerGuard.REGEX_INVALID_OR_NAMES: _says_more,
    ConsumerGuard.LEAVES: _leaves,
    ConsumerGuard.IS_ESTABLISHED: _is_established,
    ConsumerGuard.LEAVING_STRANGER: lambda facts: _leaves(facts) and not facts.has_instance,
    ConsumerGuard.LEAVING_INSTANCE_UNKNOWN: _leaves_statically,
    ConsumerGuard.LEAVING_INSTANCE_FENCED: _leaves_statically,
    ConsumerGuard.LEAVES_FOR_NOW: _leaves,
    ConsumerGuard.DOWNGRADES: _leaves,
    ConsumerGuard.STRANGER: lambda facts: _is_established(facts) and not facts.has_instance,
    ConsumerGuard.OWN_INSTANCE_HELD: _joins_statically,
    ConsumerGuard.INSTANCE_HELD: _joins_statically,
    ConsumerGuard.INSTANCE_UNKNOWN: _is_established_static,
    ConsumerGuard.INSTANCE_FENCED: _is_established_static,
    ConsumerGuard.EPOCH_FENCED: lambda facts: not _joins(facts),
    ConsumerGuard.STATE_UNKNOWN: _is_established,
}
"""The heartbeats for which a guard may hold. A guard that is missing here may hold for any."""


def _rules_out(guard: GuardName, number: int) -> bool:
    may_hold = _MAY_HOLD.get(guard)
    return may_hold is not None and not may_hold(_facts(number))


HEARTBEAT_CLASSES: Final = RequestClasses(count=4 * _SIGNS, rules_out=_rules_out)
