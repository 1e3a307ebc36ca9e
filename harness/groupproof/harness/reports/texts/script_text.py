"""A script in words: what is sent to the broker, step by step, so that a reader can do the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groupproof.harness.model.script import (
    Ask,
    AssignmentBytes,
    AwaitAnswer,
    AwaitClose,
    Cut,
    DeleteTopic,
    Group,
    GrowTopic,
    MoveGroup,
    OwnedById,
    PartitionsById,
    Pass,
    Raw,
    ReadAgain,
    Ref,
    Script,
    ScriptStep,
    StopReading,
    SubscriptionBytes,
    Topic,
    TopicId,
    TopicPattern,
)  # fmt: skip
from groupproof.harness.reports.pictures.svg import time_label
from groupproof.protocol.vocabulary import error_named

__all__ = ["script_in_words", "value_in_words"]

_BYTES_MAX = 24
_LIST_MAX = 4


def script_in_words(script: Script) -> list[str]:
    """Return one sentence for each step."""
    return [_STEPS[type(step)](step) for step in script.steps]


def _ask(step: Ask) -> str:
    version = f" v{step.version}" if step.version is not None else ""
    over = f" on connection {step.over}" if step.over not in (None, step.member) else ""
    to = {"coordinator": "", "other": " to a broker that is not the coordinator", "any": " to any broker"}[step.to]
    fields = ", ".join(f"{name}={value_in_words(value)}" for name, value in step.fields.items())
    where = f", where the broker speaks v{step.since}" if step.since else ""
    return f"{step.member} sends {step.api.title}{version}{to}{over} ({fields}){where}{_expected(step)}."


def _expected(step: Ask) -> str:
    if step.is_parked:
        return "; no answer comes yet"
    if step.wait:
        return f"; it is answered{_code(step.code)} within {time_label(step.within_ms)}"
    return ", without waiting for the answer" if step.settles else ", and the next at once"


def _answered(step: AwaitAnswer) -> str:
    return f"Wait for the answer to {step.label!r}{_code(step.code)}, at most {time_label(step.within_ms)}."


def _code(code: int | None) -> str:
    return "" if code is None else f" {int(code)} {error_named(code)}"


def value_in_words(value: Any) -> str:
    """Return a field's value for a sentence. Long lists and bytes are cut."""
    if type(value) in _MARKERS:
        return _MARKERS[type(value)](value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes {_hex(value)}".strip()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}={value_in_words(item)}" for name, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        more = [f"{len(value) - _LIST_MAX} more"] if len(value) > _LIST_MAX else []
        return "[" + ", ".join([*(value_in_words(item) for item in value[:_LIST_MAX]), *more]) + "]"
    return repr(value) if isinstance(value, str) else str(value)


def _ref(ref: Ref) -> str:
    plus = f"{ref.plus:+d}" if ref.plus else ""
    return f"{ref.member}'s {ref.attribute.replace('_', ' ')}{plus}"


def _subscribed(subscription: SubscriptionBytes) -> str:
    owned = f", owning {_partitions(subscription.owned)}" if subscription.owned else ""
    return f"a subscription v{subscription.version} to {', '.join(subscription.topics) or 'nothing'}{owned}"


def _partitions(partitions: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{topic}-{index}" for topic, index in partitions) or "nothing"


def _hex(data: bytes) -> str:
    return data[:_BYTES_MAX].hex() + ("…" if len(data) > _BYTES_MAX else "")


_MARKERS: dict[type[Any], Callable[[Any], str]] = {
    Ref: _ref,
    Group: lambda group: f"group {group.name}",
    Topic: lambda topic: f"topic {topic.name}",
    SubscriptionBytes: _subscribed,
    AssignmentBytes: lambda entry: f"an assignment of {_partitions(entry.partitions)}",
    TopicId: lambda topic: f"the id of topic {topic.name}",
    TopicPattern: lambda pattern: repr(pattern.text),
    PartitionsById: lambda entry: _partitions(entry.partitions),
    OwnedById: lambda owned: f"what {owned.member} was last assigned",
}

_STEPS: dict[type[ScriptStep], Callable[[Any], str]] = {
    Ask: _ask,
    AwaitAnswer: _answered,
    Pass: lambda step: f"Let {time_label(step.ms)} pass.",
    Cut: lambda step: f"{'Reset' if step.resets else 'Cut'} connection {step.connection}.",
    Raw: lambda step: f"Send {len(step.data)} bytes as they are on connection {step.connection}: {_hex(step.data)}.",
    AwaitClose: lambda step: f"Wait until the broker has ended connection {step.connection}, at most {time_label(step.within_ms)}.",
    StopReading: lambda step: f"Read nothing more from connection {step.connection}.",
    ReadAgain: lambda step: f"Read from connection {step.connection} again.",
    GrowTopic: lambda step: (
        f"Give topic {step.topic} of its own {step.partitions} partitions, and wait until the brokers report them, at most {time_label(step.within_ms)}."
    ),
    DeleteTopic: lambda step: f"Delete topic {step.topic} of its own, and wait until no broker reports it, at most {time_label(step.within_ms)}.",
    MoveGroup: lambda step: (
        f"Let another broker become the coordinator of group {step.group}, and wait until it says so, at most {time_label(step.within_ms)}."
    ),
}
