"""Observations in words: a line of a trace as a person reads it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from groupproof.harness.model.case_names import NAMES, CaseNames
from groupproof.harness.reports.pictures.timeline import listed
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["Line", "line_of", "short_id"]

_ID_CHARS_KEPT = 8
_UUID = re.compile(r"[^\s]*[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TEXT_CHARS_MAX = 240
_MEMBERSHIP = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: `arrow` is → for what a member sends, ← for what it is sent, and empty otherwise; `tone` is a style's name."""

    seq: int
    ms: float
    who: str
    arrow: str
    text: str
    tone: str = ""


def line_of(seen: Observation) -> Line:
    """Return `seen` as a line; whatever it holds, there is one."""
    if seen.kind in ("request", "response"):
        return _frame(seen)
    who, text, tone = _WORDS.get(seen.kind, _other)(seen)
    return _line(seen, who, "", text, tone)


def _line(seen: Observation, who: str, arrow: str, text: str, tone: str) -> Line:
    if len(text) > _TEXT_CHARS_MAX:
        text = text[:_TEXT_CHARS_MAX] + "…"
    return Line(seq=seen.seq, ms=seen.at_ms, who=who, arrow=arrow, text=text, tone=tone)


def short_id(member: str) -> str:
    """Return a member id as a reader can tell it from others: its last characters."""
    return member if len(member) <= _ID_CHARS_KEPT + 4 else f"…{member[-_ID_CHARS_KEPT:]}"


def _frame(seen: Observation) -> Line:
    is_request = seen.kind == "request"
    version = f" v{seen.version}" if is_request and seen.version is not None else ""
    facts = list(_asked(seen) if is_request else _answered(seen))
    text = " · ".join((f"{seen.api}{version}", *facts))
    tone = "request" if is_request else "error" if seen.error else "answer"
    return _line(seen, seen.client or "?", "→" if is_request else "←", text, tone)


def _asked(seen: Observation) -> Iterator[str]:
    if seen.generation is not None:
        yield f"generation {seen.generation}"
    if seen.api in _MEMBERSHIP and not (seen.api == Api.LEAVE_GROUP.title and seen.member is None):
        yield f"member {short_id(seen.member)}" if seen.member else "member ''"
    if seen.instance:
        yield f"instance {seen.instance}"
    if seen.partitions:
        yield f"{'owns' if seen.api == Api.JOIN_GROUP.title else 'of'} {listed(seen.partitions)}"
    if seen.offsets:
        yield _offsets(seen)


def _answered(seen: Observation) -> Iterator[str]:
    yield error_named(seen.error or 0)
    if seen.api == Api.JOIN_GROUP.title and not seen.error:
        yield f"generation {seen.generation}"
        yield f"member {short_id(seen.member or '')}"
        yield "leader" if seen.body.get("leader") == seen.member else f"leader is {short_id(str(seen.body.get('leader')))}"
    elif seen.api == Api.JOIN_GROUP.title and seen.member:
        yield f"member {short_id(seen.member)}"
    if seen.api == Api.SYNC_GROUP.title and not seen.error:
        yield f"assigned {listed(seen.partitions) or 'nothing'}"
    if seen.offsets:
        yield _offsets(seen)
    if seen.fault:
        yield f"put in by fault {seen.fault}"


def _offsets(seen: Observation) -> str:
    return ", ".join(f"{topic}-{partition}@{offset}" for topic, partition, offset in seen.offsets)


Words = tuple[str, str, str]


def _transition(seen: Observation) -> Words:
    before = f"{seen.state_before} → " if seen.state_before else ""
    reason = f": {_UUID.sub(lambda found: short_id(found[0]), seen.detail)}" if seen.detail else ""
    return "group", f"{before}{seen.state_after} · generation {seen.generation}{reason}", "transition"


def _fault(seen: Observation) -> Words:
    frame = f" · {seen.api}" if seen.api else ""
    whose = f" of {seen.client}" if seen.client else ""
    why = f" · {seen.body['why']}" if seen.body.get("why") else ""
    return "fault", f"{seen.fault}: {seen.detail} ({seen.body.get('action', '?')}){frame}{whose}{why}", "fault"


def _processed(seen: Observation) -> Words:
    return "coordinator", f"takes up {seen.api} of {seen.client} · {seen.rule or 'no rule'}", "soft"


def _event(seen: Observation) -> Words:
    who = seen.client or {"kit": "plan", "link": "link"}.get(seen.who, seen.who)
    name = str(seen.body.get("name", seen.detail or "event"))
    make = _EVENTS.get((seen.who, name))
    if make is not None:
        text, tone = make(seen)
        return who, text, tone
    return who, f"{name}{_fields(seen.body)}", "soft" if seen.who == "link" else "event"


def _other(seen: Observation) -> Words:
    return seen.client or seen.who, f"{seen.kind} {seen.detail or ''}".strip(), "soft"


_WORDS: dict[str, Callable[[Observation], Words]] = {"transition": _transition, "fault": _fault, "processed": _processed, "event": _event}


def _fields(body: dict[str, Any]) -> str:
    told = [f"{name}={value}" for name, value in body.items() if name not in ("name", "timestamp", "id") and value not in (None, [], {})]
    return f" · {', '.join(told)}" if told else ""


def _callback(seen: Observation) -> tuple[str, str]:
    return f"application: {seen.body['name']} · {listed(seen.partitions) or 'nothing'}", "event"


def _answer(seen: Observation) -> tuple[str, str]:
    if "error" in seen.body:
        return f"application: the call fails with {seen.body['error']} · {seen.body.get('message', '')}".rstrip(" ·"), "event"
    if "unimplemented" in seen.body:
        return f"shim: unimplemented · {seen.body['unimplemented']}", "event"
    return f"application: the call returns{_fields({name: value for name, value in seen.body.items() if name != 'ok'})}", "event"


def _told_error(seen: Observation) -> tuple[str, str]:
    fatal = " (fatal)" if seen.body.get("fatal") else ""
    return f"application: error {seen.body.get('error', '')}{fatal} · {seen.body.get('message', '')}".rstrip(" ·"), "error"


def _committed(seen: Observation) -> tuple[str, str]:
    places = ", ".join(f"{each.get('topic')}-{each.get('partition')}@{each.get('offset')}" for each in seen.body.get("offsets", ()))
    if seen.body.get("outcome") == "unknown":
        return f"application: a commit of whose outcome the client tells nothing · {places}".rstrip(" ·"), "event"
    outcome = "succeeds" if seen.body.get("success") else f"fails with {seen.body.get('error', '?')}"
    return f"application: the commit {outcome} · {places}".rstrip(" ·"), "event" if seen.body.get("success") else "error"


def _consumed(seen: Observation) -> tuple[str, str]:
    return f"application: consumes {seen.body.get('count', '?')} records of {listed(seen.partitions)}", "soft"


def _command(seen: Observation) -> tuple[str, str]:
    fields = seen.body.get("fields") or {}
    told = "" if seen.body.get("command") == "subscribe" else _fields(dict(fields))
    return f"is told to {seen.body.get('command')}{told}", "command"


def _exit(seen: Observation) -> tuple[str, str]:
    how = f"process {seen.body.get('how', 'ended')}"
    return (how, "soft") if seen.body.get("commanded") else (f"{how}, without being asked to", "error")


def _names(seen: Observation) -> tuple[str, str]:
    names = msgspec.convert(seen.body, CaseNames, strict=False)
    kinds = (("group", names.group), ("topic", names.topics), ("error", names.codes))
    told = [f"{kind} {written} is {name}" for kind, each in kinds for written, name in each.items()]
    return f"names of the case in this run: {', '.join(told)}", "soft"


_EVENTS: dict[tuple[str, str], Callable[[Observation], tuple[str, str]]] = {
    ("shim", "partitions_assigned"): _callback,
    ("shim", "partitions_revoked"): _callback,
    ("shim", "partitions_lost"): _callback,
    ("shim", "answer"): _answer,
    ("shim", "error"): _told_error,
    ("shim", "offsets_committed"): _committed,
    ("shim", "records_consumed"): _consumed,
    ("shim", "startup_complete"): lambda seen: ("application: started", "soft"),
    ("shim", "shutdown_complete"): lambda seen: ("application: closed", "event"),
    ("kit", "command"): _command,
    ("kit", NAMES): _names,
    ("kit", "mark"): lambda seen: (f"— {seen.body.get('mark')} —", "mark"),
    ("kit", "end"): lambda seen: ("the plan is at its end: faults are healed, members closed", "mark"),
    ("kit", "timeout"): lambda seen: (f"time is out, waiting for {seen.body.get('waiting')}", "error"),
    ("kit", "lost"): lambda seen: ("the case has failed: nothing long is waited for any more", "mark"),
    ("kit", "lag"): lambda seen: (f"the kit itself lagged {seen.body.get('lag_ms')} ms", "error"),
    ("kit", "exit"): _exit,
    ("kit", "kill"): lambda seen: ("is killed", "command"),
    ("kit", "freeze"): lambda seen: ("is frozen", "command"),
    ("kit", "thaw"): lambda seen: ("goes on", "command"),
    ("kit", "overdue"): lambda seen: ("did not end in time and is killed", "error"),
    ("coordinator", "moved"): lambda seen: (
        f"the coordinator moves · its state is {seen.body.get('state')}, parked requests: {seen.body.get('parked')}",
        "fault",
    ),
    ("link", "connected"): lambda seen: (f"connection {seen.connection} to node {seen.node} opens", "soft"),
    ("link", "closed"): lambda seen: (
        f"connection {seen.connection} to node {seen.node} closes · {seen.body.get('reason', '')}".rstrip(" ·"),
        "soft",
    ),
    ("link", "unsent"): lambda seen: (f"the answer to {seen.api} never left", "error"),
}
