"""The shim of Faust (faust-streaming): an application with one agent, started as by its worker, all members on one event loop.

The agent receives the records. Faust commits its stream itself, so there is no commit on demand. A crashed application is stopped, as by its
worker. Members assign with Faust's own assignor, `faust`; without standbys Faust uses aiokafka's `roundrobin`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any

from groupproof_shim import AsyncMember, Partition, Subscribe, Unimplemented, cannot_run_here, serve

try:
    from faust import App, __version__  # not `faust` alone, which would import the rest when the first member subscribes
except ImportError as missing:
    cannot_run_here(f"faust-streaming cannot be imported here: {missing}")

SECONDS = {
    "session_timeout_ms": "broker_session_timeout", "heartbeat_interval_ms": "broker_heartbeat_interval", "request_timeout_ms": "broker_request_timeout",
}  # fmt: skip
SETTINGS = {
    "group": "id", "client_id": "broker_client_id", "instance_id": "consumer_group_instance_id", "auto_offset_reset": "consumer_auto_offset_reset",
    "metadata_max_age_ms": "consumer_metadata_max_age_ms",
}  # fmt: skip
STANDBYS = {"faust": 1, "roundrobin": 0}
"""The number of standbys that selects each assignor (AIOKafkaConsumerThread._create_worker_consumer)."""
NEVER_S = 24 * 3600.0


def main() -> None:
    serve("faust", __version__, ["classic", "auto-commit", "pause", "static", "on-revoked", "faust"], FaustMember)


class FaustMember(AsyncMember):
    app: Any = None

    async def open(self, subscribe: Subscribe) -> None:
        if subscribe.dialect != "classic":
            raise Unimplemented("Faust has the classic group protocol only")
        app = self.app = App(**_settings(subscribe))
        topic = app.topic(*subscribe.topics, key_serializer="raw", value_serializer="raw")
        app.agent(topic)(self._take)
        app.on_partitions_revoked.connect(self._revoked)
        app.on_partitions_assigned.connect(self._assigned_anew)
        self.spawn(self._run_app())

    async def _run_app(self) -> None:
        try:
            await self.app.start()  # it returns after its first assignment
            await self.app._crashed.wait()
        except Exception as error:
            self.failed(error)
            return
        self.failed(self.app.crash_reason)
        await self.app.stop()

    async def _take(self, stream: Any) -> None:
        async for event in stream.events():
            message = event.message
            await self.received({(message.topic, message.partition): (message.offset, message.offset, 1)})

    async def _revoked(self, _app: Any, revoked: Iterable[Any], **_: Any) -> None:
        await self.revoked(_pairs(revoked))

    async def _assigned_anew(self, _app: Any, assigned: Iterable[Any], **_: Any) -> None:
        self.assigned(_pairs(assigned))

    async def unsubscribe(self) -> None:
        raise Unimplemented("an application of Faust ends its membership by stopping")

    async def close(self) -> None:
        await self.app.stop()


def _settings(subscribe: Subscribe) -> dict[str, Any]:
    (assignor, *others) = subscribe.take("assignors", ["faust"])
    if assignor not in STANDBYS:
        raise Unimplemented(f"Faust has no assignor {assignor}")
    if others:
        subscribe.ignore("assignors")  # Faust uses one
    is_committing, interval_s = subscribe.take("auto_commit", default=True), subscribe.take("auto_commit_interval_ms", 5_000) / 1000
    return {
        "broker": f"kafka://{subscribe.take('bootstrap')}",
        "broker_commit_interval": interval_s if is_committing else NEVER_S,  # it cannot be turned off
        "broker_max_poll_interval": subscribe.take("max_poll_interval_ms", 300_000) / 1000,
        "broker_rebalance_timeout": subscribe.take("max_poll_interval_ms", 300_000) / 1000,
        "canonical_url": f"http://{subscribe.take('instance_id') or subscribe.take('client_id')}:6066",  # a restarted member keeps its URL
        "datadir": tempfile.mkdtemp(prefix="faust-"),
        "store": "memory://",
        "table_standby_replicas": STANDBYS[assignor],
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
        **subscribe.config(SETTINGS),
        **{name: value / 1000 for name, value in subscribe.config(SECONDS).items()},
        **subscribe.take("properties", {}),
    }


def _pairs(partitions: Iterable[Any]) -> list[Partition]:
    return [(tp.topic, tp.partition) for tp in partitions]


if __name__ == "__main__":
    main()
