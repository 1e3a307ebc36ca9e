"""What a broker's own settings make of a script that reckons with others: it is judged by them, but may show nothing of what it is for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from groupproof.harness.model.script import Ask, Script
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named

__all__ = ["another_course", "differs_for"]

DELAY: Final = "group.initial.rebalance.delay.ms"
MAX_SIZE: Final = "group.max.size"
METADATA_BYTES: Final = "offset.metadata.max.bytes"
SESSIONS: Final = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")

_METADATA_DEFAULT: Final = 4_096
_NO_ANSWER: Final = None
_SHOWS: Final[Mapping[str, int | None]] = {
    MAX_SIZE: ErrorCode.GROUP_MAX_SIZE_REACHED, METADATA_BYTES: ErrorCode.OFFSET_METADATA_TOO_LARGE, DELAY: _NO_ANSWER,
    **dict.fromkeys(SESSIONS, ErrorCode.INVALID_SESSION_TIMEOUT),
}  # fmt: skip
"""By what answer, or none in time, each setting shows itself."""


def another_course(script: Script, settings: Mapping[str, Any], codes: Iterable[tuple[str, int, int | None]]) -> str:
    """Return why the script did not take its course, "" where it did: the first answer that `settings` made another than it reckons with.

    `codes` are its labels with the code that it names and the one that came.
    """
    pairs = [(label, named, came) for label, named, came in codes if named != came]
    for name, value in settings.items():
        if name in _SHOWS and differs_for(script, name, int(value)):
            difference = next(((label, named, came) for label, named, came in pairs if _SHOWS[name] in (named, came)), None)
            if difference is not None:
                return f"The broker has {name}={value}, by which the case took another course: {_describe(*difference)}."
    return ""


def _describe(label: str, named: int, came: int | None) -> str:
    if came is None:
        return f"{label} was not answered in the time that it waits"
    return f"{label} was answered {came} {error_named(came)} where it reckons with {named} {error_named(named)}"


def differs_for(script: Script, name: str, value: int) -> bool:
    """Tell whether a setting of that value can make an answer another than the script reckons with."""
    if name == DELAY:
        return value != int(script.settings.get(name, 0))
    if name == MAX_SIZE:
        return value < len({step.member for step in _asks(script, Api.JOIN_GROUP)})
    if name == METADATA_BYTES:
        return any(min(value, _METADATA_DEFAULT) < length <= max(value, _METADATA_DEFAULT) for length in _metadata_lengths(script))
    sessions = [int(step.fields["session_timeout_ms"]) for step in _asks(script, Api.JOIN_GROUP) if "session_timeout_ms" in step.fields]
    if name == SESSIONS[0]:
        return any(session < value for session in sessions)
    return name == SESSIONS[1] and any(session > value for session in sessions)


def _asks(script: Script, api: Api) -> Iterator[Ask]:
    return (step for step in script.steps if isinstance(step, Ask) and step.api is api)


def _metadata_lengths(script: Script) -> Iterator[int]:
    for step in _asks(script, Api.OFFSET_COMMIT):
        for topic in step.fields.get("topics") or ():
            for partition in topic["partitions"]:
                yield len((partition.get("committed_metadata") or "").encode())
