"""Compares two traces of one script: each subject's answers without ids and times, and the first answer that differs. Pure.

Ids of members and groups are replaced by names in the order of their appearance. Fields that no rule fixes (throttle times, messages, hosts) are
left out, as are times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from groupproof.harness.judging.oracle.answer_diff import as_answered
from groupproof.harness.model.common_versions import common_versions
from groupproof.harness.model.script import Ask, Script
from groupproof.harness.running.fuzzing.histories.model_state import Ranges
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import api_named, error_named
from groupproof.protocol.wire.error_responses import error_of

__all__ = ["Contrast", "contrast", "labelled_answers", "leveled", "overlap"]

_IDS = ("member_id", "leader", "group_id", "resource_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The first exchange of a script that two subjects answer differently: each answer in short and in full."""

    label: str
    first: str
    second: str
    bodies: tuple[Any, Any] = (None, None)


def overlap(first: Ranges, second: Ranges) -> Ranges:
    """Return the versions that both subjects support, so that both can get the same requests."""
    return {
        api: (low, high)
        for api in first
        if api in second and (low := max(first[api][0], second[api][0])) <= (high := min(first[api][1], second[api][1]))
    }


def leveled(script: Script, ranges: Ranges) -> Script:
    """Return the script with each request for the newest version fixed at the newest of `ranges`."""
    return replace(script, steps=tuple(_leveled(step, ranges) if isinstance(step, Ask) else step for step in script.steps))


def _leveled(ask: Ask, ranges: Ranges) -> Ask:
    common = common_versions(ask.api, ranges)
    return ask if common is None or ask.version is not None else replace(ask, version=common[1])


def contrast(first: Trace, second: Trace) -> Contrast | None:
    """Return the first exchange with two different answers, in the order of the first subject's requests; None where all are equal."""
    mine, theirs = dict(labelled_answers(first)), dict(labelled_answers(second))
    for label in dict.fromkeys([*mine, *theirs]):
        one, other = mine.get(label, "not asked"), theirs.get(label, "not asked")
        if one != other:
            return Contrast(label=label, first=_short(one), second=_short(other), bodies=(one, other))
    return None


def labelled_answers(trace: Trace) -> Iterator[tuple[str, Any]]:
    """Yield each exchange's label with its normalised answer, "no answer" without one; also the script's kit events that it could not go on."""
    answers = {obs.exchange_id: obs for obs in trace if obs.kind == "response" and obs.who == "member"}
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for observation in trace:
        if observation.who == "kit" and observation.body.get("name") in ("unimplemented", "unmet"):
            yield str(observation.body["name"]), str(observation.body["why"])
        if observation.kind != "request" or observation.who != "member":
            continue
        label = observation.detail or f"{observation.api} of {observation.client}"
        counts[label] = counts.get(label, 0) + 1
        yield f"{label} ({counts[label]})" if counts[label] > 1 else label, _normal(observation, answers.get(observation.exchange_id), names)


def _normal(request: Observation, answer: Observation | None, names: dict[str, str]) -> Any:
    if answer is None:
        return "no answer"
    body = as_answered(api_named(request.api or ""), request.version or 0, answer.body)
    code = error_of(api_named(request.api or ""), body)
    return {"code": code, "body": _named(body, request.group or "", names)}


def _named(value: Any, group: str, names: dict[str, str]) -> Any:
    """Return the value with names for ids, bytes as hex, and sorted lists. Of a list of groups only this group's entries remain."""
    if isinstance(value, Mapping):
        return {name: _id_of(item, names) if name in _IDS else _named(item, group, names) for name, item in value.items()}
    if isinstance(value, list):
        own = [item for item in value if not isinstance(item, Mapping) or not group or item.get("group_id") in (None, "", group)]
        return sorted((_named(item, group, names) for item in own), key=lambda item: json.dumps(item, sort_keys=True, default=str))
    return value.hex() if isinstance(value, bytes) else value


def _id_of(member_id: Any, names: dict[str, str]) -> str:
    return names.setdefault(str(member_id), f"id {len(names) + 1}") if member_id else ""


def _short(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    code = answer["code"]
    fields = {name: value for name, value in answer["body"].items() if name not in ("error_code",) and value not in (None, "", [], -1)}
    return f"{code} {error_named(code)}" if code else f"0 {json.dumps(fields, default=str)}"
