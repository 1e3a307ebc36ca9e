"""The few frames around the one that a verdict rests on: the last ones before it, and its consequences. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from groupproof.harness.model.case_names import NAMES
from groupproof.harness.reports.pictures.timeline import GROUP_FRAMES
from groupproof.harness.reports.texts.frame_text import FrameLine, line_of
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["Excerpt", "excerpt_of"]

BEFORE_MAX = 12
AFTER_MAX = 6
_BEATS_ALIKE = 3
_HEAD = 2
"""The number of observations at the head of a trace in which the event `NAMES` may be. It has the drawn names; findings use those of the case."""

_QUIET_EVENTS = frozenset({"records_consumed", "callback_done", "startup_complete", "step", "hello", "connected", "closed", NAMES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines of a trace. The verdict rests on the line of `seq` (None: on no line)."""

    lines: tuple[FrameLine, ...]
    seq: int | None


def excerpt_of(trace: Trace, seq: int | None) -> Excerpt:
    """Return the lines around `seq`. Without one, return the last lines before the members were closed."""
    at = len(trace) if seq is None else min(seq, len(trace))
    if seq is None:
        at = next((obs.seq for obs in trace if obs.who == "kit" and obs.body.get("name") == "end"), at)
    before = _folded(line for obs in trace[:at] if _is_of_interest(obs) for line in [_beat(obs)])
    here = [_beat(obs) for obs in trace[at : at + 1]] if seq is not None else []
    after = _folded(_beat(obs) for obs in trace[at + len(here) :] if _is_of_interest(obs))
    names = [line_of(obs) for obs in trace[: min(at, _HEAD)] if obs.who == "kit" and obs.body.get("name") == NAMES]
    lines = [*names, *_lines(before[-BEFORE_MAX:]), *(beat.line for beat in here), *_lines(after[:AFTER_MAX])]
    return Excerpt(lines=tuple(lines), seq=here[0].line.seq if here else None)


@dataclass(frozen=True, slots=True)
class _ExcerptLine:
    """A line, and for an ordinary Heartbeat the member that it belongs to."""

    line: FrameLine
    beat: str | None = None
    alike: int = 1


def _beat(obs: Observation) -> _ExcerptLine:
    is_beat = obs.api == Api.HEARTBEAT.title and obs.kind in ("request", "response") and not obs.error and not obs.fault
    return _ExcerptLine(line_of(obs), obs.client if is_beat else None)


def _is_of_interest(obs: Observation) -> bool:
    """Return whether an observation belongs to the group's story, and is not what every consumer does all the time."""
    if obs.kind in ("request", "response"):
        return obs.api in GROUP_FRAMES
    if obs.kind == "event":
        return _is_event_of_interest(obs)
    if obs.kind == "fault":
        return obs.detail not in ("armed", "healed") or bool(obs.body.get("held"))
    return obs.kind == "transition"


def _is_event_of_interest(obs: Observation) -> bool:
    name = obs.body.get("name")
    if obs.who == "shim" and name == "answer":
        return "error" in obs.body or "unimplemented" in obs.body
    if obs.who == "link" and name == "closed":
        return obs.body.get("by") != "client"
    return name not in _QUIET_EVENTS


def _folded(entries: Iterable[_ExcerptLine]) -> list[_ExcerptLine]:
    """Fold consecutive Heartbeats and their answers into one line for each member."""
    folded: list[_ExcerptLine] = []
    run: dict[str, _ExcerptLine] = {}
    for item in entries:
        if item.beat is None:
            folded.extend(run.values())
            run.clear()
            folded.append(item)
        elif item.beat in run:
            run[item.beat] = replace(run[item.beat], alike=run[item.beat].alike + 1)
        else:
            run[item.beat] = item
    return [*folded, *run.values()]


def _lines(entries: Sequence[_ExcerptLine]) -> Iterator[FrameLine]:
    for item in entries:
        if item.alike < _BEATS_ALIKE:
            yield item.line
        else:
            beats = (item.alike + 1) // 2
            yield replace(item.line, arrow="⇄", text=f"{beats} Heartbeats and their answers, all NONE", tone="soft")
