"""How a broker's own settings change the course of a script that assumes others. Pure.

The answers are judged by the broker's settings, but may not test what the case is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from groupproof.harness.model.script import Ask, Script
from groupproof.protocol.rules.classic.classic_settings import GROUP_MAX_SIZE, INITIAL_DELAY, MAX_SESSION, METADATA_BYTES, MIN_SESSION, NO_LIMIT
from groupproof.protocol.rules.consumer.group_configs import ASSIGNORS, BROKER_SETTINGS, GROUP_CONFIGS, MIGRATION_POLICY, SESSION_TIMEOUT
from groupproof.protocol.rules.consumer.group_configs import MAX_SIZE as CONSUMER_MAX_SIZE
from groupproof.protocol.rules.setting_values import as_text
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named

__all__ = ["UNREPORTED", "another_course", "bounded_course", "differs_for", "missing_limit", "other_values", "throttled_course"]

SESSIONS: Final = (MIN_SESSION, MAX_SESSION)

UNREPORTED: Final = (*SESSIONS, GROUP_MAX_SIZE, METADATA_BYTES, CONSUMER_MAX_SIZE, ASSIGNORS, MIGRATION_POLICY)
"""The settings whose value decides an answer. A broker that the kit did not start may have any value of those that it does not report."""

_DEFAULTS: Final = {METADATA_BYTES: 4_096, SESSIONS[1]: 1_800_000}
"""The upper bounds that the scripts assume: those of Kafka's newest release."""

_SIZES_MAX: Final = 8
"""The largest maximum group size that is tried: scripts have fewer members."""

_POLICIES: Final = ("disabled", "upgrade", "downgrade")
_THROTTLE_MS_MIN: Final = 100.0
"""A busy host has the same effects as a throttle time below this."""

_NO_ANSWER: Final = None
_JOINS: Final = {GROUP_MAX_SIZE: (Api.JOIN_GROUP,), CONSUMER_MAX_SIZE: (Api.JOIN_GROUP, Api.CONSUMER_GROUP_HEARTBEAT)}
_OF_GROUPS: Final = frozenset(name for config in GROUP_CONFIGS.values() for name in (config.broker, config.low, config.high))
"""The broker settings that bound or enable the configs of a group (CGD-30 to CGD-32)."""

_SHOWS: Final[Mapping[str, frozenset[int | None]]] = {
    **dict.fromkeys(_OF_GROUPS, frozenset({ErrorCode.INVALID_CONFIG})),
    GROUP_MAX_SIZE: frozenset({ErrorCode.GROUP_MAX_SIZE_REACHED}),
    METADATA_BYTES: frozenset({ErrorCode.OFFSET_METADATA_TOO_LARGE}),
    INITIAL_DELAY: frozenset({_NO_ANSWER}),
    **dict.fromkeys(SESSIONS, frozenset({ErrorCode.INVALID_SESSION_TIMEOUT})),
    CONSUMER_MAX_SIZE: frozenset({ErrorCode.GROUP_MAX_SIZE_REACHED}),
    ASSIGNORS: frozenset({ErrorCode.UNSUPPORTED_ASSIGNOR}),
    # A group that may not be upgraded refuses the other protocol's members. One that may not be downgraded lets its classic members go on.
    MIGRATION_POLICY: frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.REBALANCE_IN_PROGRESS}),
    # A member that is silent for this long is removed, and the group's epochs change.
    SESSION_TIMEOUT: frozenset({
        ErrorCode.INVALID_CONFIG, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.NON_EMPTY_GROUP,
    }),
}  # fmt: skip
"""The answers by which each setting shows itself; None: no answer in time."""

_REFUSALS: Final = frozenset({ErrorCode.INVALID_CONFIG, ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.UNSUPPORTED_ASSIGNOR})

Codes = tuple[str, int | None, int | None]


def another_course(script: Script, settings: Mapping[str, Any], codes: Iterable[Codes]) -> str:
    """Return why the script took another course, "" where it did not: the first answer that `settings` made another than the script expects.

    `codes` are the script's labels, each with the code that the script names (None for none) and the recorded one.
    """
    pairs = [(label, named, came) for label, named, came in codes if named != came]
    for name, value in settings.items():
        if name in _SHOWS and differs_for(script, name, value):
            difference = next((pair for pair in pairs if _is_shown(_SHOWS[name], *pair[1:])), None)
            if difference is not None:
                return f"The broker has {name}={value}, by which the case took another course: {_describe(*difference)}."
    return ""


def missing_limit(script: Script, settings: Mapping[str, Any], codes: Iterable[Codes]) -> str:
    """Return which limit the script is about and the broker does not have, "" for none. No KIP asks for one."""
    unlimited = {name: value for name, value in settings.items() if name in _DEFAULTS and int(value) >= NO_LIMIT}
    refusals = [(label, named, came) for label, named, came in codes if named not in (None, ErrorCode.NONE) and came == ErrorCode.NONE]
    for name, value in unlimited.items():
        if differs_for(script, name, value) and any(named in _SHOWS[name] for _, named, _ in refusals):
            return f"{name}: the broker has no such limit, or none that its answers show"
    return ""


def other_values(name: str, exchanges: Iterable[tuple[Observation, int | None]]) -> Sequence[int | str]:
    """Return the values of an unreported setting that may explain answers: `exchanges` are the requests, each with the code of its answer."""
    pairs = list(exchanges)
    codes = {code for _, code in pairs}
    if name in _DEFAULTS:
        sizes = [(size, code) for request, code in pairs for size in _SIZES[name](request)]
        refused = [size - 1 for size, code in sizes if code in _SHOWS[name]]
        return [*([min(refused)] if refused else []), *([NO_LIMIT] if any(size > _DEFAULTS[name] for size, _ in sizes) else [])]
    if not codes & _SHOWS.get(name, frozenset()):
        return []
    if name == SESSIONS[0]:
        refused = [session + 1 for request, code in pairs for session in _sessions(request) if code in _SHOWS[name]]
        return [max(refused)] if refused else []
    if name in _JOINS:
        return list(range(1, _SIZES_MAX + 1))
    return {ASSIGNORS: ["uniform", "range"], MIGRATION_POLICY: list(_POLICIES)}.get(name, [])


def _sessions(request: Observation) -> Iterator[int]:
    if request.api == Api.JOIN_GROUP.title:
        yield int(request.body["session_timeout_ms"])


def _lengths(request: Observation) -> Iterator[int]:
    if request.api == Api.OFFSET_COMMIT.title:
        yield from _topics_lengths(request.body.get("topics") or ())


_SIZES: Final[Mapping[str, Callable[[Observation], Iterator[int]]]] = {METADATA_BYTES: _lengths, SESSIONS[1]: _sessions}


def bounded_course(codes: Iterable[Codes]) -> str:
    """Return why the script took another course, "" where it did not, on a cluster whose controllers' bounds for the configs of groups are
    unknown."""
    pairs = ((label, named, came) for label, named, came in codes if {named, came} == {ErrorCode.NONE, ErrorCode.INVALID_CONFIG})
    difference = next(pairs, None)
    return "" if difference is None else f"Controllers check the configs of groups, by bounds that the kit cannot ask for: {_describe(*difference)}."


def throttled_course(throttle_ms: float, codes: Iterable[Codes]) -> str:
    """Return why the script took another course, "" where it did not, on a broker that throttled its connections for up to `throttle_ms`
    (KIP-124, KIP-219)."""
    difference = next(((label, named, came) for label, named, came in codes if named is not None and named != came), None)
    if throttle_ms < _THROTTLE_MS_MIN or difference is None:
        return ""
    return (
        f"The broker throttled its clients for up to {throttle_ms:.0f} ms, by which the case may have taken another course: {_describe(*difference)}."
    )


def _is_shown(codes: frozenset[int | None], named: int | None, came: int | None) -> bool:
    """Return whether a difference is one of these: where the script names no code, a refusal that only a setting causes is one."""
    return came in codes & _REFUSALS if named is None else bool(codes & {named, came})


def _describe(label: str, named: int | None, came: int | None) -> str:
    if came is None:
        return f"{label} was not answered in the time that it waits"
    answered = f"{label} was answered {came} {error_named(came)}"
    return answered if named is None else f"{answered} where it reckons with {named} {error_named(named)}"


def differs_for(script: Script, name: str, value: Any) -> bool:
    """Return whether a setting of that value can make an answer other than the script expects."""
    if name == INITIAL_DELAY:
        return int(value) != int(script.settings.get(name, 0))
    if name in _JOINS:
        return int(value) < int(script.settings.get(name, len({step.member for step in _asks(script, *_JOINS[name])})))
    if name in BROKER_SETTINGS:
        return as_text(value) != as_text(script.settings.get(name, BROKER_SETTINGS[name]))
    sessions = [int(step.fields["session_timeout_ms"]) for step in _asks(script, Api.JOIN_GROUP) if "session_timeout_ms" in step.fields]
    if name == SESSIONS[0]:
        return any(session < int(value) for session in sessions)
    lengths = {METADATA_BYTES: list(_metadata_lengths(script)), SESSIONS[1]: sessions}.get(name, [])
    return any(min(int(value), _DEFAULTS[name]) < length <= max(int(value), _DEFAULTS[name]) for length in lengths)


def _asks(script: Script, *apis: Api) -> Iterator[Ask]:
    return (step for step in script.steps if isinstance(step, Ask) and step.api in apis)


def _metadata_lengths(script: Script) -> Iterator[int]:
    for step in _asks(script, Api.OFFSET_COMMIT):
        yield from _topics_lengths(step.fields.get("topics") or ())


def _topics_lengths(topics: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    for topic in topics:
        for partition in topic["partitions"]:
            yield len((partition.get("committed_metadata") or "").encode())
