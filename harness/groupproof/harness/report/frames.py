"""Frames as lines for a person: when, who, what, and what mattered in it."""

from __future__ import annotations

from collections.abc import Iterable

from groupproof.harness.timeline import listed
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import error_named

__all__ = ["LAST_MAX", "Line", "last_frames", "line_of"]

LAST_MAX = 14

_NOISE = frozenset({"ApiVersions", "Metadata", "Fetch", "ListOffsets"})

Line = tuple[int, str]
"""The observation's number and its words."""


def last_frames(trace: Trace, until: int | None, lines_max: int = LAST_MAX) -> list[Line]:
    """Return the last things of interest up to observation `until`, itself included (None: up to the trace's end)."""
    upto = trace if until is None else trace[: until + 1]
    return [(seen.seq, line_of(seen)) for seen in upto if _matters(seen)][-lines_max:]


def _matters(seen: Observation) -> bool:
    if seen.kind in ("request", "response"):
        return seen.api not in _NOISE
    if seen.kind == "fault":
        return seen.detail in ("triggered", "delivered", "released", "healed")
    if seen.kind == "event":
        return seen.body.get("name") not in ("step", "hello", "records_consumed", "callback_done", "lag", "connected", "origin", "names")
    return seen.kind == "transition"


def line_of(seen: Observation) -> str:
    """Return one observation as one line."""
    return f"{seen.at_ms:10.1f} ms  {seen.client or '':<4} {_words(seen)}".rstrip()


def _words(seen: Observation) -> str:
    if seen.kind == "request":
        return f"→ {seen.api} v{seen.version} {_fields(seen)}"
    if seen.kind == "response":
        return f"← {seen.api} {error_named(seen.error or 0)} {_fields(seen)}"
    if seen.kind == "transition":
        return f"  group {seen.group}: {seen.state_before} → {seen.state_after}, generation {seen.generation} [{seen.rule or ''}]"
    if seen.kind == "fault":
        return f"⚡ fault {seen.fault}: {seen.detail} ({seen.body.get('action', '')})"
    return f"{'•' if seen.who == 'shim' else '–'} {_event(seen)}"


def _fields(seen: Observation) -> str:
    told = [
        f"generation {seen.generation}" if seen.generation is not None and seen.generation >= 0 else "",
        f"member {_brief(seen.member)}" if seen.member else "",
        f"instance {seen.instance}" if seen.instance else "",
        listed(seen.partitions),
        ", ".join(f"{topic}-{partition}@{offset}" for topic, partition, offset in seen.offsets[:4]),
    ]
    return " · ".join(part for part in told if part)


def _brief(member: str) -> str:
    return member if len(member) <= 14 else f"{member[:12]}…"


def _event(seen: Observation) -> str:
    name = str(seen.body.get("name", ""))
    rest = {key: value for key, value in seen.body.items() if key not in ("name", "partitions", "offsets", "timestamp", "stderr", "fields", "id")}
    return " ".join([name, *_pairs(rest), listed(seen.partitions)]).strip()


def _pairs(rest: dict[str, object]) -> Iterable[str]:
    return (f"{key}={value}" for key, value in rest.items() if value not in (None, "", [], {}))
