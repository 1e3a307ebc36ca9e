"""The frames around what a verdict rests on, as few as tell the story: the last before it, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from groupproof.harness.model.case_names import NAMES
from groupproof.harness.reports.pictures.timeline import GROUP_FRAMES
from groupproof.harness.reports.texts.frame_text import Line, line_of
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["Excerpt", "excerpt_of"]

BEFORE_MAX = 12
AFTER_MAX = 6
_BEATS_ALIKE = 3
_HEAD = 2
"""Where the names of the case are told that its run drew: findings speak in those of the case."""

_QUIET_EVENTS = frozenset({"records_consumed", "callback_done", "startup_complete", "step", "hello", "connected", "closed", NAMES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines of a trace; the one of `seq` is what the verdict rests on (None: nothing there is)."""

    lines: tuple[Line, ...]
    seq: int | None


def excerpt_of(trace: Trace, seq: int | None) -> Excerpt:
    """Return the lines around `seq`; without one, the last before the members were closed."""
    at = len(trace) if seq is None else min(seq, len(trace))
    if seq is None:
        at = next((seen.seq for seen in trace if seen.who == "kit" and seen.body.get("name") == "end"), at)
    before = _folded(line for seen in trace[:at] if _tells(seen) for line in [_beat(seen)])
    here = [_beat(seen) for seen in trace[at : at + 1]] if seq is not None else []
    after = _folded(_beat(seen) for seen in trace[at + len(here) :] if _tells(seen))
    names = [line_of(seen) for seen in trace[: min(at, _HEAD)] if seen.who == "kit" and seen.body.get("name") == NAMES]
    lines = [*names, *_lines(before[-BEFORE_MAX:]), *(beat.line for beat in here), *_lines(after[:AFTER_MAX])]
    return Excerpt(lines=tuple(lines), seq=here[0].line.seq if here else None)


@dataclass(frozen=True, slots=True)
class _Told:
    """A line, and what it is when it is a Heartbeat like any other: the member it is of."""

    line: Line
    beat: str | None = None
    alike: int = 1


def _beat(seen: Observation) -> _Told:
    is_beat = seen.api == Api.HEARTBEAT.title and seen.kind in ("request", "response") and not seen.error and not seen.fault
    return _Told(line_of(seen), seen.client if is_beat else None)


def _tells(seen: Observation) -> bool:
    """Tell whether an observation belongs to the group's story rather than to what every consumer does all the time."""
    if seen.kind in ("request", "response"):
        return seen.api in GROUP_FRAMES
    if seen.kind == "event":
        return _event_tells(seen)
    if seen.kind == "fault":
        return seen.detail not in ("armed", "healed") or bool(seen.body.get("held"))
    return seen.kind == "transition"


def _event_tells(seen: Observation) -> bool:
    name = seen.body.get("name")
    if seen.who == "shim" and name == "answer":
        return "error" in seen.body or "unimplemented" in seen.body
    if seen.who == "link" and name == "closed":
        return seen.body.get("by") != "client"
    return name not in _QUIET_EVENTS


def _folded(told: Iterable[_Told]) -> list[_Told]:
    """Fold Heartbeats that follow each other, and their answers, into one line for each member."""
    folded: list[_Told] = []
    run: dict[str, _Told] = {}
    for each in told:
        if each.beat is None:
            folded.extend(run.values())
            run.clear()
            folded.append(each)
        elif each.beat in run:
            run[each.beat] = replace(run[each.beat], alike=run[each.beat].alike + 1)
        else:
            run[each.beat] = each
    return [*folded, *run.values()]


def _lines(told: Sequence[_Told]) -> Iterator[Line]:
    for each in told:
        if each.alike < _BEATS_ALIKE:
            yield each.line
        else:
            beats = (each.alike + 1) // 2
            yield replace(each.line, arrow="⇄", text=f"{beats} Heartbeats and their answers, all NONE", tone="soft")
