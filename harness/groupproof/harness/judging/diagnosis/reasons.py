"""The reasons that a coordinator gives for a rebalance, by release, and those that a client gives (KIP-800). Pure.

Kafka 1.1 to 2.1 give none. The wordings are those of Scala's `GroupCoordinator` (2.2 to 3.9), of the Java coordinator (4.0 on), and of the kit's
own table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.diagnosis.causes import Cause

__all__ = ["CLIENT_WORDS", "COORDINATOR_WORDS", "Reason", "cause_of_client_reason", "own_words", "reason_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A parsed reason. `client` is the member's own reason, or None."""

    cause: Cause
    member: str | None = None
    client: str | None = None


_CLIENT: Final = re.compile(r"; client reason: (?P<said>.*?)\.?$", re.S)
_SILENT: Final = re.compile(r"|not provided|unknown|None|null|need to re-join with the given member-id.*", re.S)

COORDINATOR_WORDS: Final[tuple[tuple[re.Pattern[str], Cause], ...]] = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"^[Aa]dding new (?:static )?member (?P<member>\S+)", Cause.NEW_MEMBER),
        (r"^[Rr]emoving member (?P<member>\S*) ?on LeaveGroup", Cause.LEFT),
        (r"^explicit `?LeaveGroup`? request(?: for \((?P<member>[^)]*)\) members)?(?: (?P<own>\S+))?", Cause.LEFT),
        (
            r"^[Rr]emoving (?:an evicted )?member (?:on heartbeat expiration (?P<own>\S+)|(?P<member>\S+) on heartbeat expiration)",
            Cause.HEARTBEAT_TIMEOUT,
        ),
        (r"^[Rr]emoving members? on pending sync request expiration(?: (?P<own>\S+))?", Cause.SYNC_TIMEOUT),
        (r"^[Rr]emoving (?:Set|HashSet)?[\[({]?(?P<member>[^\])}\s,]*).* on pending sync request expiration", Cause.SYNC_TIMEOUT),
        (r"^Group's selectedProtocol will change because static member (?P<member>\S+)", Cause.STATIC_REPLACED),
        (r"^static member (?:changed the group's protocol|returned with a new id) ?(?P<member>\S*)", Cause.STATIC_REPLACED),
        (r"^[Uu]pdating metadata for static member (?P<member>\S+)", Cause.STATIC_REPLACED),
        (r"^[Ll]eader (?:rejoined )?(?P<member>\S+)(?: re-joining group)?", Cause.LEADER_REJOINED),
        (r"^[Uu]pdating metadata (?:for|of) member (?P<member>\S+)", Cause.METADATA),
        (r"^Member (?P<member>\S+) is joining group during", Cause.METADATA),
        (r"^[Ff]reshly[- ]loaded group", Cause.OVER_CAPACITY),
        (r"^[Ee]rror\b.*when storing group assignment", Cause.NOT_STORED),
        (r"^forced by the operator", Cause.FORCED),
    )
)

CLIENT_WORDS: Final[tuple[tuple[str, Cause], ...]] = (
    ("poll timeout has expired", Cause.POLL_INTERVAL),
    ("max.poll.interval", Cause.POLL_INTERVAL),
    ("removed by an admin", Cause.ADMIN_REMOVAL),
    ("being closed", Cause.CLOSED),
    ("unsubscribed", Cause.CLOSED),
    ("close", Cause.CLOSED),
    ("need to revoke partitions", Cause.HANDOVER),
    ("cached metadata has changed", Cause.PARTITIONS),
    ("partitions changed", Cause.PARTITIONS),
    ("subscription", Cause.SUBSCRIPTION),
)
"""The words by which Java's consumer and the kit's state their own reasons."""


def reason_of(text: str) -> Reason | None:
    """Return the parsed reason of a coordinator, or None for an unknown one."""
    found = _CLIENT.search(text)
    client = found["said"].strip() if found else None
    own = text[: found.start()] if found else text
    for pattern, cause in COORDINATOR_WORDS:
        if matched := pattern.search(own.strip()):
            parts = matched.groupdict()
            member = (parts.get("member") or parts.get("own") or "").split(", ")[0].strip(" .,;")
            return Reason(cause=cause, member=member or None, client=own_words(client))
    return None


def own_words(reason: str | None) -> str | None:
    """Return a member's own reason, or None where it explains nothing."""
    return None if reason is None or _SILENT.fullmatch(reason) else reason


def cause_of_client_reason(reason: str | None) -> Cause | None:
    """Return the cause in a client's own reason, or None."""
    if reason is None:
        return None
    lower = reason.lower()
    return next((cause for words, cause in CLIENT_WORDS if words in lower), None)
