"""What a shim claims, held against the wire: client id, group, session timeout, instance id, protocols, and pause by silent polls. Pure.

The rebalance timeout is not held against max.poll.interval.ms: a setting of the client's own is legal (CLIENT-23 judges it).

A claim that does not hold means that the shim lied, so the case is BROKEN and never FAILED: it says nothing about the client. What the
answer to `subscribe` lists as `ignored` was not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.judging.record_claims import refuted_records
from groupproof.harness.judging.setting_claims import refuted_settings
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api

__all__ = ["GROUP_TITLES", "broken_claims", "unattributed"]

GROUP_TITLES = frozenset(
    api.title for api in (Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH)
)

_FIELD_OF = {"static": "instance_id", "cooperative": "assignors", "auto-commit": "auto_commit", "on-revoked": "on_revoked"}
"""The field of `subscribe` by which a capability is used."""

_INSTANCE_SINCE = 5  # KIP-345: JoinGroup v5 carries the instance id


@dataclass(slots=True)
class _Asked:
    """What one client was told to be."""

    fields: Mapping[str, Any]
    capabilities: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    commands: list[str] = field(default_factory=list)
    is_paused: bool = False


def broken_claims(trace: Trace) -> list[str]:
    """Return each claim that the trace refutes, once, as a sentence."""
    return list(dict.fromkeys((*_refuted(trace), *refuted_records(trace), *refuted_settings(trace))))


def unattributed(trace: Trace) -> str | None:
    """Return the client id of requests that can't be laid at a member's door: its client can't be told an id, as its shim says, and chose this one."""
    asked: dict[str, _Asked] = {}
    strangers: list[str] = []
    for seen in trace:
        if seen.who == "kit" and seen.client is not None and seen.body.get("name") == "command":
            _follow_command(asked, seen)
        elif seen.who == "shim" and seen.client in asked:
            _follow_ignored(asked[seen.client], seen)
        elif seen.kind == "request" and seen.api in GROUP_TITLES and asked and seen.client not in asked:
            strangers.append(seen.client or "")
    is_unnamed = any("client_id" in each.ignored for each in asked.values())
    return strangers[0] if strangers and is_unnamed else None


def _refuted(trace: Trace) -> Iterator[str]:
    asked: dict[str, _Asked] = {}
    able: dict[str, frozenset[str]] = {}
    for seen in trace:
        if seen.who == "kit" and seen.client is not None and seen.body.get("name") == "hello":
            able[seen.client] = frozenset(seen.body["capabilities"])
        if seen.who == "kit" and seen.client is not None and seen.body.get("name") == "command":
            _follow_command(asked, seen)
            if seen.client in asked:
                asked[seen.client].capabilities = able.get(seen.client, frozenset())
        elif seen.who == "shim" and seen.client in asked:
            yield from _follow_shim(asked[seen.client], seen)
        elif seen.kind == "request" and seen.api in GROUP_TITLES:
            yield from _request(asked, seen)


def _follow_command(asked: dict[str, _Asked], seen: Observation) -> None:
    assert seen.client is not None
    command = seen.body["command"]
    if command == "subscribe":
        asked[seen.client] = _Asked(fields=seen.body["fields"])
    elif seen.client in asked and command == "resume":
        asked[seen.client].is_paused = False
    if seen.client in asked:
        asked[seen.client].commands.append(command)


def _follow_shim(asked: _Asked, seen: Observation) -> Iterator[str]:
    name = seen.body.get("name")
    if name == "answer" and asked.commands:
        if asked.commands == ["subscribe"]:
            _follow_ignored(asked, seen)
            yield from _ignored_claims(asked, str(seen.client))
        elif asked.commands[-1] == "pause":
            # Commands are answered in any order: a pause is certain only when asked alone.
            asked.is_paused = bool(seen.body.get("ok"))
    elif name == "records_consumed" and asked.is_paused and seen.body.get("count"):
        yield f"{seen.client} was paused, yet its polls returned records"


def _follow_ignored(asked: _Asked, seen: Observation) -> None:
    """Take what the answer to `subscribe`, which comes alone, lists."""
    if seen.body.get("name") == "answer" and asked.commands == ["subscribe"]:
        asked.ignored = frozenset(seen.body.get("ignored") or ())


def _ignored_claims(asked: _Asked, client: str) -> Iterator[str]:
    """Yield each capability that hello claims and that the answer takes back."""
    for capability, name in _FIELD_OF.items():
        if capability in asked.capabilities and name in asked.ignored and _uses(capability, asked.fields.get(name)):
            yield f"the shim claims {capability}, yet {client} lists {name} among ignored"


def _uses(capability: str, value: Any) -> bool:
    return COOPERATIVE_STICKY in (value or ()) if capability == "cooperative" else bool(value)


def _request(asked: Mapping[str, _Asked], seen: Observation) -> Iterator[str]:
    if seen.client is None or seen.client not in asked:
        if asked and not any("client_id" in each.ignored for each in asked.values()):
            yield f"client_id: requests came as {seen.client!r}, which no member was told to be ({', '.join(sorted(asked))})"
        return
    told = asked[seen.client]
    if seen.group not in (None, told.fields["group"]) and "group" not in told.ignored:
        yield f"group: {seen.client} speaks for group {seen.group!r}, asked was {told.fields['group']!r}"
    if seen.api == Api.JOIN_GROUP.title and told.fields.get("protocol", CLASSIC.name) == CLASSIC.name:
        yield from _join(told, seen)


def _join(told: _Asked, seen: Observation) -> Iterator[str]:
    for name, wanted, met in _join_claims(told.fields, seen):
        if name not in told.ignored and wanted != met:
            yield f"{name}: {seen.client} was told {wanted!r}, its JoinGroup says {met!r}"


def _join_claims(fields: Mapping[str, Any], seen: Observation) -> Iterator[tuple[str, Any, Any]]:
    version = seen.version if seen.version is not None else _INSTANCE_SINCE
    yield "session_timeout_ms", fields["session_timeout_ms"], seen.body.get("session_timeout_ms")
    met = seen.body.get("group_instance_id") if version >= _INSTANCE_SINCE else None
    yield "instance_id", fields.get("instance_id"), met
    listed = sorted(each["name"] for each in seen.body.get("protocols") or ())
    # A client that lists only some of its assignors breaks ASSIGN-13 itself; one that lists none of them was never told.
    yield "assignors", sorted(fields["assignors"]), sorted(fields["assignors"]) if set(listed) & set(fields["assignors"]) else listed
