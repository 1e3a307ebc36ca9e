"""Observations in words: a line of a trace in readable form. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from groupproof.harness.model.case_names import NAMES, CaseNames
from groupproof.harness.reports.pictures.timeline import listed
from groupproof.harness.reports.texts.counter_words import counter_of
from groupproof.harness.reports.texts.embedded_text import embedded_facts, is_embedded
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["FrameLine", "line_of", "short_id"]

_ID_CHARS_KEPT = 8
_UUID = re.compile(r"[^\s]*[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TEXT_CHARS_MAX = 240
_BEAT: Final = Api.CONSUMER_GROUP_HEARTBEAT.title
_MEMBERSHIP = frozenset(
    api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.CONSUMER_GROUP_HEARTBEAT)
)
_OWNING: Final = frozenset({Api.JOIN_GROUP.title, _BEAT})
_EPOCHS: Final = {0: "joins at epoch 0", -1: "leaves", -2: "leaves for a while"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLine:
    """One line. `arrow` is → for a request of a member, ← for a response to it, and empty otherwise. `tone` is a style's name."""

    seq: int
    ms: float
    who: str
    arrow: str
    text: str
    tone: str = ""


def line_of(obs: Observation) -> FrameLine:
    """Return `obs` as a line. Every observation has one."""
    if obs.kind in ("request", "response"):
        return _frame(obs)
    who, text, tone = _WORDS.get(obs.kind, _other)(obs)
    return _line(obs, who, "", text, tone)


def _line(obs: Observation, who: str, arrow: str, text: str, tone: str) -> FrameLine:
    if len(text) > _TEXT_CHARS_MAX:
        text = text[:_TEXT_CHARS_MAX] + "…"
    return FrameLine(seq=obs.seq, ms=obs.at_ms, who=who, arrow=arrow, text=text, tone=tone)


def short_id(member: str) -> str:
    """Return the last characters of a member id, which distinguish it from others."""
    return member if len(member) <= _ID_CHARS_KEPT + 4 else f"…{member[-_ID_CHARS_KEPT:]}"


def _frame(obs: Observation) -> FrameLine:
    is_request = obs.kind == "request"
    version = f" v{obs.version}" if is_request and obs.version is not None else ""
    facts = list(_asked(obs) if is_request else _answered(obs))
    text = " · ".join((f"{obs.api}{version}", *facts))
    tone = "request" if is_request else "error" if obs.error else "answer"
    return _line(obs, obs.client or "?", "→" if is_request else "←", text, tone)


def _asked(obs: Observation) -> Iterator[str]:
    if obs.generation is not None:
        yield f"generation {obs.generation}"
    if obs.member_epoch is not None:
        yield _EPOCHS.get(obs.member_epoch, f"epoch {obs.member_epoch}")
    if obs.api in _MEMBERSHIP and not (obs.api == Api.LEAVE_GROUP.title and obs.member is None):
        yield f"member {short_id(obs.member)}" if obs.member else "member ''"
    if obs.instance:
        yield f"instance {obs.instance}"
    if obs.partitions:
        yield f"{'owns' if obs.api in _OWNING else 'of'} {listed(obs.partitions)}"
    elif obs.api == _BEAT and obs.body.get("topic_partitions") is not None:
        yield "owns nothing"
    if obs.offsets:
        yield _offsets(obs)
    yield from embedded_facts(obs)


def _answered(obs: Observation) -> Iterator[str]:
    yield error_named(obs.error or 0)
    if obs.api == Api.JOIN_GROUP.title and not obs.error:
        yield f"generation {obs.generation}"
        yield f"member {short_id(obs.member or '')}"
        yield "leader" if obs.body.get("leader") == obs.member else f"leader is {short_id(str(obs.body.get('leader')))}"
    elif obs.api == Api.JOIN_GROUP.title and obs.member:
        yield f"member {short_id(obs.member)}"
    if obs.api == _BEAT and not obs.error:
        yield f"epoch {obs.member_epoch}"
        if obs.body.get("assignment") is not None:
            yield f"assigned {listed(obs.partitions) or 'nothing'}"
    if obs.api == Api.SYNC_GROUP.title and not obs.error:
        if not is_embedded(obs):
            yield f"assigned {listed(obs.partitions) or 'nothing'}"
        yield from embedded_facts(obs)
    if obs.offsets:
        yield _offsets(obs)
    if obs.fault:
        yield f"put in by fault {obs.fault}"


def _offsets(obs: Observation) -> str:
    return ", ".join(f"{topic}-{partition}@{offset}" for topic, partition, offset in obs.offsets)


Words = tuple[str, str, str]


def _transition(obs: Observation) -> Words:
    before = f"{obs.state_before} → " if obs.state_before else ""
    reason = f": {_UUID.sub(lambda found: short_id(found[0]), obs.detail)}" if obs.detail else ""
    return "group", f"{before}{obs.state_after} · {counter_of(obs)} {obs.generation}{reason}", "transition"


def _fault(obs: Observation) -> Words:
    frame = f" · {obs.api}" if obs.api else ""
    whose = f" of {obs.client}" if obs.client else ""
    why = f" · {obs.body['why']}" if obs.body.get("why") else ""
    return "fault", f"{obs.fault}: {obs.detail} ({obs.body.get('action', '?')}){frame}{whose}{why}", "fault"


def _processed(obs: Observation) -> Words:
    return "coordinator", f"processes {obs.api} of {obs.client} · {obs.rule or 'no rule'}", "soft"


def _event(obs: Observation) -> Words:
    who = obs.client or {"kit": "plan", "link": "link"}.get(obs.who, obs.who)
    name = str(obs.body.get("name", obs.detail or "event"))
    make = _EVENTS.get((obs.who, name))
    if make is not None:
        text, tone = make(obs)
        return who, text, tone
    return who, f"{name}{_fields(obs.body)}", "soft" if obs.who == "link" else "event"


def _other(obs: Observation) -> Words:
    return obs.client or obs.who, f"{obs.kind} {obs.detail or ''}".strip(), "soft"


_WORDS: dict[str, Callable[[Observation], Words]] = {"transition": _transition, "fault": _fault, "processed": _processed, "event": _event}


def _fields(body: dict[str, Any]) -> str:
    lines = [f"{name}={value}" for name, value in body.items() if name not in ("name", "timestamp", "id") and value not in (None, [], {})]
    return f" · {', '.join(lines)}" if lines else ""


def _callback(obs: Observation) -> tuple[str, str]:
    return f"application: {obs.body['name']} · {listed(obs.partitions) or 'nothing'}", "event"


def _answer(obs: Observation) -> tuple[str, str]:
    if "error" in obs.body:
        return f"application: the call fails with {obs.body['error']} · {obs.body.get('message', '')}".rstrip(" ·"), "event"
    if "unimplemented" in obs.body:
        return f"shim: unimplemented · {obs.body['unimplemented']}", "event"
    return f"application: the call returns{_fields({name: value for name, value in obs.body.items() if name != 'ok'})}", "event"


def _reported_error(obs: Observation) -> tuple[str, str]:
    fatal = " (fatal)" if obs.body.get("fatal") else ""
    return f"application: error {obs.body.get('error', '')}{fatal} · {obs.body.get('message', '')}".rstrip(" ·"), "error"


def _committed(obs: Observation) -> tuple[str, str]:
    places = ", ".join(f"{offset.get('topic')}-{offset.get('partition')}@{offset.get('offset')}" for offset in obs.body.get("offsets", ()))
    if obs.body.get("outcome") == "unknown":
        return f"application: a commit whose outcome the client does not report · {places}".rstrip(" ·"), "event"
    outcome = "succeeds" if obs.body.get("success") else f"fails with {obs.body.get('error', '?')}"
    return f"application: the commit {outcome} · {places}".rstrip(" ·"), "event" if obs.body.get("success") else "error"


def _consumed(obs: Observation) -> tuple[str, str]:
    return f"application: consumes {obs.body.get('count', '?')} records of {listed(obs.partitions)}", "soft"


def _command(obs: Observation) -> tuple[str, str]:
    fields = obs.body.get("fields") or {}
    text = "" if obs.body.get("command") == "subscribe" else _fields(dict(fields))
    return f"is told to {obs.body.get('command')}{text}", "command"


def _exit(obs: Observation) -> tuple[str, str]:
    how = f"process {obs.body.get('how', 'ended')}"
    return (how, "soft") if obs.body.get("commanded") else (f"{how}, without being asked to", "error")


def _names(obs: Observation) -> tuple[str, str]:
    names = msgspec.convert(obs.body, CaseNames, strict=False)
    kinds = (("group", names.group), ("topic", names.topics), ("error", names.codes))
    lines = [f"{kind} {written} is {name}" for kind, entry in kinds for written, name in entry.items()]
    return f"names of the case in this run: {', '.join(lines)}", "soft"


_EVENTS: dict[tuple[str, str], Callable[[Observation], tuple[str, str]]] = {
    ("shim", "partitions_assigned"): _callback,
    ("shim", "partitions_revoked"): _callback,
    ("shim", "partitions_lost"): _callback,
    ("shim", "answer"): _answer,
    ("shim", "error"): _reported_error,
    ("shim", "offsets_committed"): _committed,
    ("shim", "records_consumed"): _consumed,
    ("shim", "startup_complete"): lambda obs: ("application: started", "soft"),
    ("shim", "shutdown_complete"): lambda obs: ("application: closed", "event"),
    ("kit", "command"): _command,
    ("kit", NAMES): _names,
    ("kit", "mark"): lambda obs: (f"— {obs.body.get('mark')} —", "mark"),
    ("kit", "end"): lambda obs: ("the plan is at its end: faults are healed, members closed", "mark"),
    ("kit", "timeout"): lambda obs: (f"time is out, waiting for {obs.body.get('waiting')}", "error"),
    ("kit", "lost"): lambda obs: ("the case has failed: nothing long is waited for any more", "mark"),
    ("kit", "lag"): lambda obs: (f"the kit itself lagged {obs.body.get('lag_ms')} ms", "error"),
    ("kit", "exit"): _exit,
    ("kit", "kill"): lambda obs: ("is killed", "command"),
    ("kit", "freeze"): lambda obs: ("is frozen", "command"),
    ("kit", "thaw"): lambda obs: ("goes on", "command"),
    ("kit", "overdue"): lambda obs: ("did not end in time and is killed", "error"),
    ("coordinator", "moved"): lambda obs: (
        f"the coordinator moves · its state is {obs.body.get('state')}, parked requests: {obs.body.get('parked')}",
        "fault",
    ),
    ("link", "connected"): lambda obs: (f"connection {obs.connection} to node {obs.node} opens", "soft"),
    ("link", "closed"): lambda obs: (
        f"connection {obs.connection} to node {obs.node} closes · {obs.body.get('reason', '')}".rstrip(" ·"),
        "soft",
    ),
    ("link", "unsent"): lambda obs: (f"the answer to {obs.api} never left", "error"),
}
