"""What a tap must know of the brokers to judge the coordinator of a consumer group, which assigns partitions by topics and settings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from groupproof.harness.judging.checkers.dialect_checkers import FieldDifference, UnexpectedAnswer
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.rules.consumer.group_configs import ASSIGNORS, HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from groupproof.protocol.rules.setting_values import listed
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["may_be_of_unobserved_member", "unmet"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_DECISIVE: Final = (SESSION_TIMEOUT, HEARTBEAT_INTERVAL, ASSIGNORS)
_OWN_ASSIGNORS: Final = frozenset({"uniform", "range"})

_CODES_OF_OWN_STATE: Final = frozenset({
    ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.INVALID_REQUEST, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNSUPPORTED_ASSIGNOR, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.INVALID_REGULAR_EXPRESSION,
})  # fmt: skip
_CODES_AFTER_REMOVAL: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})
_OWN_FIELDS: Final = frozenset({"heartbeat_interval_ms", "member_id"})


def unmet(story: Trace, upstream: Mapping[str, Any]) -> str:
    """Return what is unknown about the brokers, or has changed meanwhile; "" where the rules can predict each answer."""
    return next(_reasons(story, upstream), "")


def _reasons(story: Trace, upstream: Mapping[str, Any]) -> Iterator[str]:
    beats = [obs for obs in story if obs.api == _BEAT]
    topics: Mapping[str, Any] | None = upstream.get("topics")
    if topics is None:
        yield "its coordinator assigns partitions itself, and the tap does not know the cluster's topics"
        return
    if changed := sorted(_subscribed(beats, upstream.get("topic_changes") or ())):
        yield f"topics that it subscribes to came or grew meanwhile: {', '.join(changed)}"
    names = {*topics, *(str(topic_id) for topic_id, _ in topics.values())}
    if unknown := sorted({topic for obs in beats for topic, _ in obs.partitions} - names):
        yield f"partitions were assigned of topics that the tap knows nothing of: {', '.join(unknown)}"
    if "brokers" in upstream:
        yield from _settings(upstream)


def _settings(upstream: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is unknown about the timeouts of the brokers behind a tap."""
    settings: Mapping[str, Any] = upstream["settings"]
    if missing := [name for name in _DECISIVE if name not in settings]:
        yield f"the broker does not report {', '.join(missing)}"
    elif unknown := set(listed(settings[ASSIGNORS])) - _OWN_ASSIGNORS:
        yield f"its brokers have assignors of their own: {', '.join(sorted(unknown))}"
    own: Mapping[str, Any] = upstream.get("group_settings") or {"settings": None, "untold": "nobody asked"}
    if own["settings"] is None:
        yield f"it is not known whether it has settings of its own: {own['untold']}"
    elif own["settings"]:
        yield f"it had settings of its own: {', '.join(sorted(own['settings']))}"


def _subscribed(beats: Sequence[Observation], changed: Collection[str]) -> set[str]:
    """Return the changed topics to which members may have subscribed."""
    bodies = [obs.body for obs in beats if obs.kind == "request"]
    if any(body.get("subscribed_topic_regex") for body in bodies):
        return set(changed)
    return set(changed) & {name for body in bodies for name in body.get("subscribed_topic_names") or ()}


def may_be_of_unobserved_member(answer: UnexpectedAnswer) -> bool:
    """Return whether an unobserved member, administrator or tool can explain a different answer: it changes epochs and assignments, uses places and
    names, and removes members.

    An administrator removes a member by LeaveGroup with its id, and may then delete the empty group (CGM-25).
    """
    codes = [difference for difference in answer.differences if difference.field == "error_code"]
    if any(_is_removal(difference, answer.request) for difference in codes):
        return True
    return bool(answer.differences) and not any(_is_own(difference) for difference in answer.differences)


def _is_removal(difference: FieldDifference, request: Observation) -> bool:
    """Return whether a member that the rules accept is answered as if it had been removed. A join of an unknown member is no such request."""
    is_of_member = bool(request.member) and (request.member_epoch != 0 or request.api != _BEAT)
    return is_of_member and difference.expected == ErrorCode.NONE and difference.observed in _CODES_AFTER_REMOVAL


def _is_own(difference: FieldDifference) -> bool:
    if difference.field == "error_code":
        return {difference.expected, difference.observed} <= _CODES_OF_OWN_STATE
    return difference.field in _OWN_FIELDS
