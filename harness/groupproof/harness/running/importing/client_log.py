"""Reads a Java consumer's log as a trace's events: its LeaveGroup requests, failed heartbeats and rejoins, with their reasons. Pure.

The wordings are those of `AbstractCoordinator` and `ConsumerCoordinator`, 1.1 to 4.1. The clock is the client's own: its times are as near
to those of a broker's log as the two hosts' clocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from groupproof.harness.running.importing.imported_event import ImportedEvent
from groupproof.harness.running.importing.log_lines import LogLine, log_lines

__all__ = ["read_client_log"]

_WHO: Final = re.compile(r"\[Consumer (?:instanceId=(?P<instance>.*?), )?clientId=(?P<client>.*?), groupId=(?P<group>.*?)\] (?P<said>.*)")

_WORDINGS: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (name, marks, re.compile(pattern))
    for name, marks, pattern in (
        ("poll-expired", "DIAG-07", r"consumer poll timeout has expired\. This means"),
        ("leaving", "DIAG-07", r"Member (?P<member>\S+) sending LeaveGroup request to coordinator .*?(?: due to (?P<reason>.*))?$"),
        ("leaving", "DIAG-07", r"Sending LeaveGroup request to coordinator"),
        ("heartbeat-failed", "DIAG-08", r"Attempt to heartbeat failed since (?:the )?(?P<cause>group is rebalancing)"),
        ("heartbeat-failed", "DIAG-08", r"Attempt to heartbeat failed since (?P<cause>coordinator) .*? is either not started or not valid"),
        ("heartbeat-failed", "DIAG-08", r"Attempt to heartbeat failed since (?P<cause>generation) .*? is not current"),
        ("heartbeat-failed", "DIAG-08", r"Attempt to heartbeat failed (?:for )?since (?P<cause>member id) (?P<member>\S+) is not valid"),
        ("heartbeat-failed", "DIAG-08", r"Attempt to heartbeat with .*? failed due to (?P<cause>\w+)"),
        ("heartbeat-failed", "DIAG-08", r"Group coordinator .*? is unavailable or invalid.*(?:due to cause: (?P<cause>session timed out without receiving a heartbeat response))"),
        ("rejoins", "", r"Request joining group due to: (?P<reason>.*)$"),
    )
)  # fmt: skip
_TELLING: Final = ("LeaveGroup", "poll timeout has expired", "heartbeat", "Request joining group")
_CAUSES: Final = {
    "coordinator": "coordinator invalid", "group is rebalancing": "group rebalancing", "generation": "generation not current", "member id": "member id not valid",
    "NOT_COORDINATOR": "coordinator invalid", "COORDINATOR_NOT_AVAILABLE": "coordinator invalid", "REBALANCE_IN_PROGRESS": "group rebalancing",
    "ILLEGAL_GENERATION": "generation not current", "UNKNOWN_MEMBER_ID": "member id not valid", "FENCED_INSTANCE_ID": "instance id fenced",
}  # fmt: skip
"""The causes in the catalogue's words (DIAG-08)."""


def read_client_log(lines: Iterable[str]) -> Iterator[ImportedEvent]:
    """Yield the events of consumers; other lines are skipped."""
    for line in log_lines(line for line in lines if any(word in line for word in _TELLING)):
        who = _WHO.search(line.message)
        if who is not None and (event := _event(line, who)) is not None:
            yield event


def _event(line: LogLine, who: re.Match[str]) -> ImportedEvent | None:
    for name, marks, pattern in _WORDINGS:
        found = pattern.search(who["said"])
        if found is not None:
            parts = found.groupdict()
            cause = parts.get("cause")
            body = {
                "name": name,
                "line": line.message,
                "marks": marks,
                "level": line.level,
                "reason": parts.get("reason"),
                "cause": cause and _CAUSES.get(cause, cause),
            }
            columns = {
                "who": "member", "client": who["client"], "group": who["group"], "instance": who["instance"], "member": parts.get("member"),
                "body": {key: value for key, value in body.items() if value},
            }  # fmt: skip
            return ImportedEvent(at_ms=line.at_ms, is_dated=line.is_dated, kind="event", columns=columns)
    return None
