"""The paths in a report: the files of its folder, and a safe folder for each case, whatever its name. Pure."""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import PurePosixPath

__all__ = ["CASES", "METERS", "PLAN", "REPLAY", "STDERR", "TIMELINE", "TRACE", "case_place", "replay_line", "trace_name", "trace_place"]

CASES = "cases"
METERS = "meters.json"
TRACE, TIMELINE, PLAN, STDERR, REPLAY = "trace.ndjson", "timeline.svg", "plan.json", "stderr.txt", "replay"

_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_RESERVED = frozenset({METERS, TRACE, TIMELINE, PLAN, STDERR, REPLAY, "readme.txt"})
_PART_CHARS_MAX = 80


def case_place(case: str) -> str:
    """Return the folder of a case, relative to the report's: `cases/ID`. Unsafe characters are replaced, and a hash distinguishes such names."""
    return "/".join((CASES, *(_safe(part) for part in case.split("/"))))


def trace_name(run: int = 0) -> str:
    """Return the name of the trace file of the first run (0), or of a repetition."""
    return TRACE if run == 0 else f"trace-{run + 1}.ndjson"


def trace_place(case: str, run: int = 0) -> str:
    return f"{case_place(case)}/{trace_name(run)}"


def replay_line(output: str, case: str) -> str:
    """Return the command that runs the case again, called from the folder where the report was requested. `output` is as the user wrote it."""
    return f"groupproof replay {shlex.quote(str(PurePosixPath(output) / case_place(case) / PLAN))}"


def _safe(part: str) -> str:
    safe = _UNSAFE.sub("_", part.lower())[:_PART_CHARS_MAX]
    if safe == part and safe.strip(".") and safe not in _RESERVED and not re.fullmatch(r"trace-\d+\.ndjson", safe):
        return safe
    return f"{safe.strip('.') or '_'}-{hashlib.sha256(part.encode(errors='surrogatepass')).hexdigest()[:8]}"
