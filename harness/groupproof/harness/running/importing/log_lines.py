"""Parses the lines of a log in any known layout: time, level and message.

The layouts are Kafka's own `log4j.properties` (`[%d] %p %m (%c)`), Strimzi's (`%d %p %m (%c) [%t]`), slf4j-simple's and Logback's
(`%d [%t] %p %c - %m`), ISO 8601 dates with or without a zone, and any of them after a prefix such as a container's name. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

__all__ = ["LogLine", "log_lines"]

PREFIX_CHARS_MAX: Final = 80
"""A date that begins later in a line belongs to the message."""

_DATE: Final = re.compile(
    r"(?:(?P<date>\d{4}-\d{2}-\d{2})[ T])?(?P<time>\d{2}:\d{2}:\d{2})[.,](?P<fraction>\d{3,9})(?P<zone>Z|[+-]\d{2}:?\d{2})?\]?\s+"
)
_LEVEL: Final = re.compile(r"(?:\[[^\]]*\]\s+)?(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\s+")
_LOGGER_BEFORE: Final = re.compile(r"(?P<logger>(?:[A-Za-z_$][\w$]*\.)+[\w$]+) - ")
_LOGGER_AFTER: Final = re.compile(r"\s\((?P<logger>(?:[A-Za-z_$][\w$]*\.)+[\w$]+)\)(?:\s\[[^\]]*\])?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line: `at_ms` counts from 1970, or from midnight where the line has no date (`is_dated` is False). A time without a zone is UTC."""

    at_ms: float
    is_dated: bool
    level: str
    logger: str
    message: str
    number: int


def log_lines(lines: Iterable[str]) -> Iterator[LogLine]:
    """Yield the lines that begin with a time; lines that continue another, such as a stack trace, are left out."""
    for number, line in enumerate(lines, 1):
        found = _DATE.search(line, 0, PREFIX_CHARS_MAX)
        if found is not None and (read := _read(found, line.rstrip("\r\n"), number)) is not None:
            yield read


def _read(found: re.Match[str], line: str, number: int) -> LogLine | None:
    at_ms = _at_ms(found)
    if at_ms is None:
        return None
    level = _LEVEL.match(line, found.end())
    message = line[level.end() if level else found.end() :]
    before, after = _LOGGER_BEFORE.match(message), _LOGGER_AFTER.search(message)
    if before is not None:
        message = message[before.end() :]
    elif after is not None:
        message = message[: after.start()]
    logger = before or after
    return LogLine(
        at_ms=at_ms, is_dated=found["date"] is not None, level=level["level"] if level else "", logger=logger["logger"] if logger else "",
        message=message, number=number,
    )  # fmt: skip


def _at_ms(found: re.Match[str]) -> float | None:
    text = f"{found['date'] or '1970-01-01'}T{found['time']}.{found['fraction'][:6]}{found['zone'] or '+00:00'}"
    try:
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000
    except ValueError:
        return None
