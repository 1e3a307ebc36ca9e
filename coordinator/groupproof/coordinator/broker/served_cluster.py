"""The reference cluster on real ports: what `groupproof serve` runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.broker.rights.authorizer import Denial
from groupproof.coordinator.broker.sockets import Poller, Socket
from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.trace import Recorder

__all__ = ["CannotListen", "ServingCluster", "serve"]

_log = logging.getLogger(__name__)


class CannotListen(Exception):
    """A port is not free: an error of the environment. The message gives the address and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingCluster:
    """A running cluster. `addresses` are by node id, as clients get them."""

    cluster: Cluster
    addresses: tuple[tuple[str, int], ...]

    @property
    def bootstrap(self) -> str:
        """Return the addresses in the form of `bootstrap.servers`."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses)


async def serve(
    *,
    host: str = "127.0.0.1",
    ports: Sequence[int] = (0, 0),
    profile: str = "kafka-4.1",
    settings: Mapping[str, Any] | None = None,
    topics: Mapping[str, int] | None = None,
    records: int = 0,
    seed: int = 0,
    recorder: Recorder,
    advertise: str | None = None,
    variant: Variant = REFERENCE,
    denials: Collection[Denial] = (),
    stored: TopicRecords | None = None,
    say: Callable[[str], None] | None = None,
    task_status: trio.TaskStatus[ServingCluster] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve one broker on each of `ports` (0: a free one) until cancelled.

    Clients get `advertise` in place of `host`, where it is set. `stored` are the initial groups. `say` is called with one line when every broker
    listens. Raises `CannotListen`, `UnknownProfile` and `UnknownSetting`.
    """
    cluster = Cluster(
        profile=profile, settings=settings, brokers=len(ports), topics=topics, records=records, seed=seed, recorder=recorder, variant=variant,
        stored=stored,
    )  # fmt: skip
    cluster.deny(denials)
    listeners = [await _listen(host, port) for port in ports]
    addresses = tuple((advertise or host, _port_of(listener)) for listener in listeners)
    for node_id, address in enumerate(addresses):
        cluster.advertise(node_id, *address)
    serving = ServingCluster(cluster=cluster, addresses=addresses)
    with closing(Poller()) as poller:
        async with trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            await nursery.start(poller.run)
            for node_id, listener in zip(cluster.nodes, listeners, strict=True):
                # serve_listeners ignores connections that break before they are accepted, and waits when file descriptors run out.
                nursery.start_soon(trio.serve_listeners, partial(_serve_one, cluster, node_id, poller), listener)
            if say is not None:
                say(f"{profile} on {serving.bootstrap}")
            task_status.started(serving)


async def _listen(host: str, port: int) -> list[trio.SocketListener]:
    try:
        return await trio.open_tcp_listeners(port, host=host)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror or error}; choose another port, or 0 for a free one") from error


def _port_of(listeners: Sequence[trio.SocketListener]) -> int:
    port: int = listeners[0].socket.getsockname()[1]
    return port


async def _serve_one(cluster: Cluster, node_id: int, poller: Poller, stream: trio.SocketStream) -> None:
    try:
        peer = "{}:{}".format(*stream.socket.getpeername()[:2])
    except OSError:  # closed before it was served
        peer = "unknown:0"
    await cluster.serve_connection(node_id, Socket(stream, poller), peer)
