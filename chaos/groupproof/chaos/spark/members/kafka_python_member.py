"""A member of kafka-python: one consumer, with its own heartbeat thread."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from groupproof.chaos.spark.members.load_order import MemberOrder
from groupproof.chaos.spark.members.member_api import MemberEvent

__all__ = ["SETTINGS", "KafkaPythonMember", "config_of"]

SETTINGS: Final = frozenset(
    {
        "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "auto_offset_reset", "metadata_max_age_ms", "fetch_max_wait_ms",
        "retry_backoff_ms", "request_timeout_ms", "connections_max_idle_ms", "max_poll_records",
    }
)  # fmt: skip
"""The settings of `MemberSettings` that kafka-python has, under the same names."""

logging.getLogger("kafka").setLevel(logging.CRITICAL)


def config_of(member: MemberOrder, bootstrap: Iterable[tuple[str, int]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return kafka-python's own settings."""
    return {
        "bootstrap_servers": [f"{host}:{port}" for host, port in bootstrap], "group_id": member.group, "client_id": member.client,
        "enable_auto_commit": False, "auto_offset_reset": "earliest", **{name: value for name, value in settings.items() if name in SETTINGS},
    }  # fmt: skip


class KafkaPythonMember:
    """One consumer; a `ThirdPartyConsumer`."""

    def __init__(
        self, member: MemberOrder, topics: Sequence[str], bootstrap: Iterable[tuple[str, int]], settings: Mapping[str, Any], tell: MemberEvent
    ) -> None:
        # Its release is in a folder of its own, which is only known when a task begins.
        library: Any = importlib.import_module("kafka")
        self._errors: Any = importlib.import_module("kafka.errors")
        self._consumer: Any = library.KafkaConsumer(**config_of(member, bootstrap, settings))
        self._consumer.subscribe(topics=list(topics), listener=_listener(library, tell))

    def poll(self, timeout_s: float) -> None:
        self._consumer.poll(timeout_ms=round(timeout_s * 1000))

    def commit(self) -> str | None:
        try:
            self._consumer.commit()
        except self._errors.KafkaError as error:
            return type(error).__name__
        return None

    def leave(self) -> None:
        self._consumer.close(autocommit=False)

    def die(self) -> None:
        """Close without a LeaveGroup: the client has no call for it, so its own leave method is replaced."""
        coordinator = self._consumer._coordinator
        if coordinator is not None:
            coordinator.maybe_leave_group = _nothing
        takes = inspect.signature(self._consumer.close).parameters
        self._consumer.close(**{name: value for name, value in {"autocommit": False, "timeout_ms": 0}.items() if name in takes})


def _nothing(*_: Any, **__: Any) -> None:
    return


def _listener(library: Any, tell: MemberEvent) -> Any:
    class Listener(library.ConsumerRebalanceListener):  # type: ignore[misc]  # the client has no types
        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            tell("partitions_revoked", [(item.topic, item.partition) for item in revoked], None)

        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            tell("partitions_assigned", [(item.topic, item.partition) for item in assigned], None)

    return Listener()
