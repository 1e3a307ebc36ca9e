"""Converts the fields of the shim contract's `subscribe` into member settings. Fields without effect are listed as ignored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
from groupproof.clients.member.connect_settings import WorkerSettings
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.policy import Policy
from groupproof.clients.member.streams_settings import ThreadSettings
from groupproof.protocol.vocabulary import COOPERATIVE
from groupproof.protocol.wire.embedded.connect_protocol import PROTOCOL_TYPE
from groupproof.protocol.wire.embedded.faust_metadata import ASSIGNOR as FAUST
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR

__all__ = ["NotImplementedHere", "Subscribe", "WrongField"]

VARIANT_PROPERTY: Final = "groupproof.variant"
# The client's own names, which are Kafka's names.
_PROPERTIES: Final = {
    "client.rack": ("rack", str),
    "default.api.timeout.ms": ("default_api_timeout_ms", int),
    "fetch.max.wait.ms": ("fetch_max_wait_ms", int),
    "max.poll.records": ("max_poll_records", int),
    "metadata.max.age.ms": ("metadata_max_age_ms", int),
    "request.timeout.ms": ("request_timeout_ms", int),
    "retry.backoff.ms": ("retry_backoff_ms", int),
    "retry.backoff.max.ms": ("retry_backoff_max_ms", int),
}
_WORKER_PROPERTIES: Final = {
    "connect.protocol": ("protocol", str),
    "scheduled.rebalance.max.delay.ms": ("rebalance_max_delay_ms", int),
    "tasks.max": ("tasks_max", int),
    "kit.config.offset": ("config_offset", int),
    "kit.config.end": ("config_end", int),
}
_THREAD_PROPERTIES: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "num.standby.replicas": ("standbys", int),
    "kit.stateful": ("is_stateful", lambda text: str(text).lower() == "true"),
    "kit.latest": ("latest", int),
    "kit.first": ("first", int),
    "kit.error": ("error", int),
    "kit.fails.at": ("fails_at", int),
    "kit.process": ("process", lambda text: _process(str(text))),
}
_WORKERS_OWN: Final = ("worker.sync.timeout.ms",)
"""Properties without effect: the reference worker reads its configuration in no time."""
_CONSUMERS: Final = frozenset({"assignors", "auto_commit", "auto_offset_reset", "poll_timeout_ms"})
"""Fields that no worker of Kafka Connect accepts."""
_PLAIN: Final = (
    "instance_id", "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "auto_commit", "auto_commit_interval_ms",
    "auto_offset_reset", "metadata_max_age_ms", "request_timeout_ms", "default_api_timeout_ms",
)  # fmt: skip
_OTHERS: Final = frozenset({
    "broker_release", "group_protocol", "handler_delay_ms", "id", "command", "member", "bootstrap", "group", "topics", "client_id", "protocol", "protocol_type", "assignors", "assignor", "pattern", "poll_timeout_ms", "on_revoked",
    "properties",
})  # fmt: skip


_DIALECTS: Final = {
    "classic": frozenset({"pattern", "assignor"}),
    "consumer": frozenset({"assignors", "session_timeout_ms", "heartbeat_interval_ms"}),
}
"""The protocols that the member speaks, each with the fields that it does not have (CGC-34)."""


class WrongField(Exception):
    """A field is missing or invalid. `str()` names it."""


class NotImplementedHere(Exception):
    """The member lacks a requested feature. `str()` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """The content of one `subscribe`."""

    settings: MemberSettings
    bootstrap: tuple[tuple[str, int], ...]
    client_id: str
    poll_timeout_ms: int = 100
    handler_delay_ms: int = 0
    on_revoked: Mapping[str, Any] = field(default_factory=dict)
    variant: str | None = None
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: Mapping[str, Any], own: Mapping[str, Any] = MappingProxyType({})) -> Subscribe:
        """Parse `asked`. Values in `own` win over it and are listed as ignored. Raise `WrongField` or `NotImplementedHere`."""
        fields = {**asked, **own}
        dialect = fields.get("group_protocol") or fields.get("protocol") or "classic"
        if dialect not in _DIALECTS:
            raise NotImplementedHere(f"group.protocol {dialect}: this member speaks {' and '.join(_DIALECTS)}")
        subscription = "pattern" if dialect == "consumer" and fields.get("pattern") else "topics"
        missing = [name for name in ("bootstrap", "group", subscription) if not fields.get(name)]
        if missing:
            raise WrongField(f"subscribe lacks {', '.join(missing)}")
        fields = {name: value for name, value in fields.items() if name not in _DIALECTS[dialect]} | {"group_protocol": dialect}
        properties = dict(fields.get("properties") or {})
        variant = properties.pop(VARIANT_PROPERTY, None)
        is_worker = fields.get("protocol_type") == PROTOCOL_TYPE
        embedded = {"worker": _worker(fields, properties) if is_worker else None, "thread": _thread(fields, properties)}
        settings, unknown = _properties({name: value for name, value in properties.items() if not is_worker or name not in _WORKERS_OWN})
        own_kinds = fields.keys() & _CONSUMERS if is_worker else asked.keys() & _DIALECTS[dialect]
        ignored = sorted(fields.keys() - _OTHERS - set(_PLAIN) | (asked.keys() & own.keys()) | own_kinds)
        return cls(
            settings=_settings(fields, settings | embedded),
            bootstrap=tuple(_address(part) for part in str(fields["bootstrap"]).split(",")),
            client_id=fields.get("client_id") or "groupproof",
            poll_timeout_ms=int(fields.get("poll_timeout_ms") or 100),
            handler_delay_ms=int(fields.get("handler_delay_ms") or 0),
            on_revoked=fields.get("on_revoked") or {},
            variant=variant,
            ignored=tuple(ignored + [f"properties.{name}" for name in unknown]),
        )

    @staticmethod
    def variant_in(fields: Mapping[str, Any]) -> str | None:
        """Return the variant in the properties of a `subscribe`, or None."""
        return (fields.get("properties") or {}).get(VARIANT_PROPERTY)

    def check_against(self, policy: Policy) -> None:
        """Raise `NotImplementedHere` if the settings need something that the policy's versions lack."""
        if self.settings.instance_id is not None and not policy.can_be_static:
            raise NotImplementedHere("static membership: this variant speaks no version that has it")
        if not policy.can_cooperate and any(name in COOPERATIVE for name in self.settings.assignors):
            raise NotImplementedHere("cooperative rebalancing: this variant's subscription names no owned partitions")


def _settings(fields: Mapping[str, Any], properties: Mapping[str, Any]) -> MemberSettings:
    assignors = tuple(fields.get("assignors") or ("range",))
    lacking = [name for name in assignors if name not in ASSIGNORS and assignors not in ((ASSIGNOR,), (FAUST,))]
    if lacking:
        raise NotImplementedHere(f"assignor {lacking[0]}: this member has {', '.join(ASSIGNORS)}")
    plain = {name: fields[name] for name in _PLAIN if fields.get(name) is not None}
    plain |= {
        "by_epochs": fields["group_protocol"] == "consumer",
        "topic_regex": fields.get("pattern") or None,
        "remote_assignor": fields.get("assignor") or None,
    }
    try:
        return MemberSettings(group=fields["group"], topics=tuple(fields.get("topics") or ()), assignors=assignors, **plain, **properties)
    except (TypeError, ValueError) as error:
        raise WrongField(str(error)) from error


def _worker(fields: Mapping[str, Any], properties: dict[str, Any]) -> WorkerSettings:
    """Return the settings of a worker, and remove them from the properties."""
    try:
        settings = {name: kind(properties.pop(own)) for own, (name, kind) in _WORKER_PROPERTIES.items() if own in properties}
        return WorkerSettings(url=f"http://{fields.get('client_id') or 'groupproof'}.invalid:8083/", **settings)
    except (TypeError, ValueError) as error:
        raise WrongField(str(error)) from error


def _thread(fields: Mapping[str, Any], properties: dict[str, Any]) -> ThreadSettings | None:
    """Return the settings of a Kafka Streams thread, and remove them from the properties. Return None if the assignor is not that of Streams."""
    if tuple(fields.get("assignors") or ()) != (ASSIGNOR,):
        return None
    try:
        settings = {name: kind(properties.pop(own)) for own, (name, kind) in _THREAD_PROPERTIES.items() if own in properties}
        return ThreadSettings(**{"process": _process(str(fields.get("client_id"))), **settings})
    except (TypeError, ValueError) as error:
        raise WrongField(str(error)) from error


def _process(name: str) -> str:
    """Return the process id for a name."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def _properties(properties: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    settings: dict[str, Any] = {}
    for name in properties.keys() & _PROPERTIES.keys():
        field_name, kind = _PROPERTIES[name]
        try:
            settings[field_name] = kind(properties[name])
        except (TypeError, ValueError) as error:
            raise WrongField(f"property {name} is {properties[name]!r}: {error}") from error
    return settings, sorted(properties.keys() - _PROPERTIES.keys())


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdigit():
        raise WrongField(f"bootstrap is host:port, not {text!r}")
    return host.strip("[]"), int(port)
