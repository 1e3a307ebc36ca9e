"""What a group of KIP-848's protocol waits for, in sentences: which member has not released which partition, since when, and what frees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from groupproof.harness.judging.diagnosis.epoch_history import EpochHistory, Order, Pending
from groupproof.harness.reports.texts.moments import moment
from groupproof.protocol.vocabulary import ErrorCode, TopicPartition

__all__ = ["epochs_to_json", "tell_epochs"]

_SLOW_MS: Final = 1_000.0
"""Orders that were done sooner than this (ms) are not reported."""


def tell_epochs(histories: Sequence[EpochHistory], epoch_ms: int | None = None) -> Iterator[str]:
    """Yield the slow and the open orders, the errors with their reasons, and what members lack of their targets."""
    for history in histories:
        for order in history.orders:
            if order.released_ms is None or order.lasted_ms >= _SLOW_MS:
                yield from _order(order, history, epoch_ms)
        for fencing in history.fencings:
            error = ErrorCode(fencing.error)
            yield f"group {history.group}: {fencing.api} of {fencing.member} was answered {error.name} ({error}) at {moment(fencing.at_ms, epoch_ms)}: {fencing.why}"
        for pending in history.pending:
            yield _pending(pending, epoch_ms)


def epochs_to_json(histories: Sequence[EpochHistory]) -> dict[str, Any]:
    """Return the same as data. Return {} where no group uses the protocol."""
    if not histories:
        return {}
    return {
        "orders": [order.to_json() for history in histories for order in history.orders],
        "fencings": [fencing.to_json() for history in histories for fencing in history.fencings],
        "pending": [pending.to_json() for history in histories for pending in history.pending],
    }


def _order(order: Order, history: EpochHistory, epoch_ms: int | None) -> Iterator[str]:
    names, begun = _names(order.partitions), moment(order.at_ms, epoch_ms)
    text = f"group {order.group}: {order.member} was to give up {names} at {begun} (epoch {order.epoch})"
    if order.released_ms is not None:
        yield f"{text}, and did after {order.lasted_ms / 1000:.1f} s: {order.how}"
        return
    yield f"{text}, and has not released {'it' if len(order.partitions) == 1 else 'them'} {order.lasted_ms / 1000:.1f} s later, where the trace ends"
    yield f"  {_alive(order, epoch_ms)}"
    yield f"  freed by {_freed(order, epoch_ms)}"
    if waiting := _waiting(order, history):
        yield f"  waits    {waiting}"
    elif not history.has_target:
        yield "  waits    its next owner is unknown: a ConsumerGroupDescribe shows the target"


def _alive(order: Order, epoch_ms: int | None) -> str:
    heard = moment(order.heard_ms, epoch_ms)
    if order.is_silent:
        return f"silent   last heard at {heard}: its session ends unless it comes back"
    return f"alive    it heartbeats, last at {heard}: its application has not returned from its callback, or does not poll"


def _freed(order: Order, epoch_ms: int | None) -> str:
    ways = [f"{order.member} when it says so or leaves"]
    if order.rebalance_ms is not None:
        ways.append(
            f"its rebalance timeout of {order.rebalance_ms / 1000:g} s, at {moment(order.at_ms + order.rebalance_ms, epoch_ms)} at the latest"
        )
    ways.append("the end of its session" + ("" if order.is_silent else ", which its heartbeats put off"))
    return "; ".join(ways)


def _waiting(order: Order, history: EpochHistory) -> str:
    lacking = {pending.member: set(pending.lacks) & order.partitions for pending in history.pending}
    return ", ".join(f"{member} for {_names(partitions)}" for member, partitions in lacking.items() if partitions)


def _pending(pending: Pending, epoch_ms: int | None) -> str:
    lacks = [f"lacks {_name(partition)} ({owner + ' has it' if owner else 'nobody has it'})" for partition, owner in sorted(pending.lacks.items())]
    gives = [f"has {_names(pending.gives)} to give up"] if pending.gives else []
    short = ", ".join([*lacks, *gives])
    return f"group {pending.group}: {pending.member} at epoch {pending.epoch} of {pending.target_epoch} {short}, as described at {moment(pending.at_ms, epoch_ms)}"


def _names(partitions: Sequence[TopicPartition] | set[TopicPartition] | frozenset[TopicPartition]) -> str:
    return ", ".join(_name(partition) for partition in sorted(partitions))


def _name(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"
