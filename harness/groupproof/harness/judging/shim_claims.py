"""What a shim claims, compared with the wire: client id, group, session timeout, instance id, protocols, and pause by silent polls. Pure.

The rebalance timeout is not compared with max.poll.interval.ms: a client may have its own setting for it (CLIENT-23 judges it). A refuted claim
means that the shim reported falsely. The case is then BROKEN and never FAILED, because it proves nothing about the client. What the answer to
`subscribe` lists as `ignored` was not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.judging.record_claims import refuted_records
from groupproof.harness.judging.setting_claims import refuted_settings
from groupproof.harness.model.case_dialect import dialect_asked
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR

__all__ = ["GROUP_TITLES", "broken_claims", "unattributed"]

GROUP_TITLES = frozenset(
    api.title
    for api in (
        Api.FIND_COORDINATOR,
        Api.JOIN_GROUP,
        Api.SYNC_GROUP,
        Api.HEARTBEAT,
        Api.LEAVE_GROUP,
        Api.OFFSET_COMMIT,
        Api.OFFSET_FETCH,
        Api.CONSUMER_GROUP_HEARTBEAT,
    )
)

_FIELD_OF = {"static": "instance_id", "cooperative": "assignors", "auto-commit": "auto_commit", "on-revoked": "on_revoked"}
"""The field of `subscribe` that uses a capability."""

_INSTANCE_SINCE = 5  # KIP-345: JoinGroup v5 carries the instance id


@dataclass(slots=True)
class _ClientSettings:
    """The settings and commands that one client got."""

    fields: Mapping[str, Any]
    capabilities: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    commands: list[str] = field(default_factory=list)
    is_paused: bool = False


def broken_claims(trace: Trace) -> list[str]:
    """Return each claim that the trace refutes, once, as a sentence."""
    return list(dict.fromkeys((*_refuted(trace), *refuted_records(trace), *refuted_settings(trace))))


def unattributed(trace: Trace) -> str | None:
    """Return the client id of requests that belong to no known member: the shim says that its client accepts no id, and the client chose this one."""
    asked: dict[str, _ClientSettings] = {}
    strangers: list[str] = []
    for obs in trace:
        if obs.who == "kit" and obs.client is not None and obs.body.get("name") == "command":
            _follow_command(asked, obs)
        elif obs.who == "shim" and obs.client in asked:
            _follow_ignored(asked[obs.client], obs)
        elif obs.kind == "request" and obs.api in GROUP_TITLES and asked and obs.client not in asked:
            strangers.append(obs.client or "")
    is_unnamed = any("client_id" in request.ignored for request in asked.values())
    return strangers[0] if strangers and is_unnamed else None


def _refuted(trace: Trace) -> Iterator[str]:
    asked: dict[str, _ClientSettings] = {}
    able: dict[str, frozenset[str]] = {}
    for obs in trace:
        if obs.who == "kit" and obs.client is not None and obs.body.get("name") == "hello":
            able[obs.client] = frozenset(obs.body["capabilities"])
        if obs.who == "kit" and obs.client is not None and obs.body.get("name") == "command":
            _follow_command(asked, obs)
            if obs.client in asked:
                asked[obs.client].capabilities = able.get(obs.client, frozenset())
        elif obs.who == "shim" and obs.client in asked:
            yield from _follow_shim(asked[obs.client], obs)
        elif obs.kind == "request" and obs.api in GROUP_TITLES:
            yield from _request(asked, obs)


def _follow_command(asked: dict[str, _ClientSettings], obs: Observation) -> None:
    assert obs.client is not None
    command = obs.body["command"]
    if command == "subscribe":
        asked[obs.client] = _ClientSettings(fields=obs.body["fields"])
    elif obs.client in asked and command == "resume":
        asked[obs.client].is_paused = False
    if obs.client in asked:
        asked[obs.client].commands.append(command)


def _follow_shim(settings: _ClientSettings, obs: Observation) -> Iterator[str]:
    name = obs.body.get("name")
    if name == "answer" and settings.commands:
        if settings.commands == ["subscribe"]:
            _follow_ignored(settings, obs)
            yield from _ignored_claims(settings, str(obs.client))
        elif settings.commands[-1] == "pause":
            # Commands may be answered in any order. A pause is certain only when it was the only command.
            settings.is_paused = bool(obs.body.get("ok"))
    elif name == "records_consumed" and settings.is_paused and obs.body.get("count"):
        yield f"{obs.client} was paused, yet its polls returned records"


def _follow_ignored(settings: _ClientSettings, obs: Observation) -> None:
    """Record what the answer to `subscribe` lists. That answer comes alone."""
    if obs.body.get("name") == "answer" and settings.commands == ["subscribe"]:
        settings.ignored = frozenset(obs.body.get("ignored") or ())


def _ignored_claims(settings: _ClientSettings, client: str) -> Iterator[str]:
    """Yield each capability that hello claims and that the answer takes back."""
    for capability, name in _FIELD_OF.items():
        if capability in settings.capabilities and name in settings.ignored and _uses(capability, settings.fields.get(name)):
            yield f"the shim claims {capability}, yet {client} lists {name} among ignored"


def _uses(capability: str, value: Any) -> bool:
    return COOPERATIVE_STICKY in (value or ()) if capability == "cooperative" else bool(value)


def _request(asked: Mapping[str, _ClientSettings], obs: Observation) -> Iterator[str]:
    if obs.client is None or obs.client not in asked:
        if asked and not any("client_id" in request.ignored or _is_beside(name, request, obs) for name, request in asked.items()):
            yield f"client_id: requests came as {obs.client!r}, which no member was told to be ({', '.join(sorted(asked))})"
        return
    settings = asked[obs.client]
    if obs.group not in (None, settings.fields["group"]) and "group" not in settings.ignored:
        yield f"group: {obs.client} speaks for group {obs.group!r}, asked was {settings.fields['group']!r}"
    if obs.api == Api.JOIN_GROUP.title and dialect_asked(settings.fields) == CLASSIC.name:
        yield from _join(settings, obs)


def _is_beside(name: str, settings: _ClientSettings, obs: Observation) -> bool:
    """Return whether a request comes from a client that Kafka Streams has beside its member: a restore consumer, an administrator, a producer."""
    return settings.fields.get("assignors") == [ASSIGNOR] and str(obs.client).startswith(f"{name}-")


def _join(settings: _ClientSettings, obs: Observation) -> Iterator[str]:
    for name, wanted, on_wire in _join_claims(settings.fields, obs):
        if name not in settings.ignored and wanted != on_wire:
            yield f"{name}: {obs.client} was told {wanted!r}, its JoinGroup says {on_wire!r}"


def _join_claims(fields: Mapping[str, Any], obs: Observation) -> Iterator[tuple[str, Any, Any]]:
    version = obs.version if obs.version is not None else _INSTANCE_SINCE
    yield "session_timeout_ms", fields["session_timeout_ms"], obs.body.get("session_timeout_ms")
    on_wire = obs.body.get("group_instance_id") if version >= _INSTANCE_SINCE else None
    yield "instance_id", fields.get("instance_id"), on_wire
    listed = sorted(protocol["name"] for protocol in obs.body.get("protocols") or ())
    # A client that lists only some of its assignors breaks ASSIGN-13 itself. A client that lists none of them never got the setting.
    yield "assignors", sorted(fields["assignors"]), sorted(fields["assignors"]) if set(listed) & set(fields["assignors"]) else listed
