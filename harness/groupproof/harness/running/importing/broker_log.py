"""Reads a broker's server log as a trace: the messages of its group coordinators become transitions and events. Pure.

A transition has the coordinator's reason in `detail`. Each observation has the line in `body["line"]`, a marker that an
operator can grep, with the id of the requirement for it (`body["marks"]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from groupproof.harness.running.importing.broker_messages import MESSAGE_PATTERNS, MessagePattern, may_match, prefix_of
from groupproof.harness.running.importing.imported_event import ImportedEvent
from groupproof.harness.running.importing.log_lines import LogLine, log_lines

__all__ = ["LINE_CHARS_MAX", "read_broker_log"]

LINE_CHARS_MAX: Final = 400
"""The characters of a line that are kept; some lines of DEBUG list every member."""

_KEPT: Final = ("reason", "members", "state", "replaced", "client", "elected", "topic", "partition", "timeout")
_SEVERAL: Final = re.compile(r"[^\s,{}()\[\]]+")


def read_broker_log(lines: Iterable[str]) -> Iterator[ImportedEvent]:
    """Yield the lines' events of groups; other lines are skipped."""
    for line in log_lines(line for line in lines if may_match(line)):
        event = _event(line)
        if event is not None:
            yield event


def _event(line: LogLine) -> ImportedEvent | None:
    node, offsets, message = prefix_of(line.message)
    if "request.logger" in line.logger or message.startswith("Completed request:"):
        return None
    for message_pattern in MESSAGE_PATTERNS:
        found = message_pattern.pattern.search(message)
        if found is not None:
            return _meant(line, node, offsets, message_pattern, found.groupdict())
    return None


def _meant(line: LogLine, node: int | None, offsets: int | None, message_pattern: MessagePattern, parts: dict[str, str | None]) -> ImportedEvent:
    named = parts.get("offsets")
    body: dict[str, Any] = {"name": message_pattern.name, "line": line.message[:LINE_CHARS_MAX], "level": line.level}
    body |= {"marks": message_pattern.marks} if message_pattern.marks else {}
    body |= {name: value for name in _KEPT if (value := parts.get(name)) is not None}
    if offsets is not None or named is not None:
        body["offsets_partition"] = offsets if named is None else int(named)
    if (several := parts.get("several")) is not None:
        body["several"] = _members(several)
    generation = parts.get("generation")
    columns: dict[str, Any] = {
        "who": "coordinator", "node": node, "group": parts.get("group"), "member": parts.get("member") or parts.get("bracketed"),
        "instance": _instance(parts), "generation": int(generation) if generation is not None else None, "body": body,
    }  # fmt: skip
    if message_pattern.after is None:
        return ImportedEvent(at_ms=line.at_ms, is_dated=line.is_dated, kind="event", columns=columns)
    columns |= {
        "state_before": message_pattern.before.value if message_pattern.before else None,
        "state_after": message_pattern.after.value,
        "detail": parts.get("reason"),
    }
    return ImportedEvent(at_ms=line.at_ms, is_dated=line.is_dated, kind="transition", columns=columns)


def _instance(parts: dict[str, str | None]) -> str | None:
    found = next((value for name in ("instance", "known", "older") if (value := parts.get(name))), None)
    return None if found in (None, "None", "null") else found


def _members(several: str) -> list[str]:
    """Return the ids in Scala's or Java's print of a collection: a Set, or a Map by id."""
    if "MemberMetadata(memberId=" in several:
        return re.findall(r"MemberMetadata\(memberId=(.+?), ", several)
    return [item for item in _SEVERAL.findall(several) if item not in ("->", "Set", "Map")]
