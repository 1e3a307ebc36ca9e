"""Which processes a cluster of Apache Kafka is made of, and the properties file of each. Pure.

A single KRaft broker is its own controller. With several, a controller of its own stands beside them, so that any broker can be killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.ports import LOOPBACK

__all__ = ["CONTROLLER_ID", "KafkaNode", "Layout", "rendered", "zookeeper_properties"]

CONTROLLER_ID = 100
"""The node id of a controller that is no broker."""

# Where another broker can take over, it is to notice soon; but a machine that stalls for a moment must not move a group.
_SESSION_MS = 3_000
_ZOOKEEPER_UP_MS = 60_000
# The default of releases from 2.5 on; before it was a third of that.
_ZOOKEEPER_SESSION_MS = 18_000
# ZooKeeper looks for sessions that are over once a tick.
_EXPIRY_S = 1.0


_INNER = "INNER"
_PROTOCOLS = f"PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,{_INNER}:PLAINTEXT"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaNode:
    """One process: a broker, a controller, or both. Ports are 0 where it has no such listener; `data` is the folder it writes to.

    Where it tells clients another address than its own (`advertised`), the other brokers reach it at `inner_port`.
    """

    node_id: int
    data: Path
    port: int = 0
    controller_port: int = 0
    inner_port: int = 0
    advertised: Address | None = None

    @property
    def title(self) -> str:
        return f"broker {self.node_id}" if self.port else "the controller"

    @property
    def roles(self) -> str:
        return ",".join(role for role, port in (("broker", self.port), ("controller", self.controller_port)) if port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A cluster. `zookeeper_port` is 0 with KRaft; `fixed` are the release's own settings, `asked` come over them and are the caller's."""

    nodes: tuple[KafkaNode, ...]
    zookeeper_port: int
    fixed: Mapping[str, str]
    asked: Mapping[str, Any]

    @property
    def brokers(self) -> tuple[KafkaNode, ...]:
        return tuple(node for node in self.nodes if node.port)

    @property
    def lease_s(self) -> float:
        """Seconds for which ZooKeeper takes a killed broker to be alive, and refuses another of the same id; KRaft lets it wait by itself."""
        if not self.zookeeper_port:
            return 0.0
        return (_SESSION_MS if len(self.brokers) > 1 else _ZOOKEEPER_SESSION_MS) / 1000 + _EXPIRY_S

    def properties(self, node: KafkaNode) -> dict[str, str]:
        """Return the node's server.properties."""
        replicas = len(self.brokers)
        return {
            **dict(self._quorum(node)),
            "default.replication.factor": str(replicas),
            "offsets.topic.replication.factor": str(replicas),
            "transaction.state.log.replication.factor": str(replicas),
            "log.dirs": str(node.data),
            **self.fixed,
            **{name: _value(value) for name, value in self.asked.items()},
        }

    def _quorum(self, node: KafkaNode) -> Iterator[tuple[str, str]]:
        yield from self._advertised(node)
        if self.zookeeper_port:
            yield "broker.id", str(node.node_id)
            yield "listeners", ",".join(self._listeners(node))
            yield "zookeeper.connect", f"{LOOPBACK}:{self.zookeeper_port}"
            # Without it a broker that is quicker than its ZooKeeper gives up after a session.
            yield "zookeeper.connection.timeout.ms", str(_ZOOKEEPER_UP_MS)
            if len(self.brokers) > 1:
                yield "zookeeper.session.timeout.ms", str(_SESSION_MS)
            return
        controller = next(node for node in self.nodes if node.controller_port)
        yield "node.id", str(node.node_id)
        yield "process.roles", node.roles
        yield "controller.listener.names", "CONTROLLER"
        yield "controller.quorum.voters", f"{controller.node_id}@{LOOPBACK}:{controller.controller_port}"
        if len(self.brokers) > 1:
            yield "broker.session.timeout.ms", str(_SESSION_MS)
            yield "broker.heartbeat.interval.ms", str(_SESSION_MS // 6)
        yield "share.coordinator.state.topic.replication.factor", str(len(self.brokers))
        yield "listeners", ",".join(self._listeners(node))
        yield "listener.security.protocol.map", f"{_PROTOCOLS},CONTROLLER:PLAINTEXT"

    def _listeners(self, node: KafkaNode) -> Iterator[str]:
        for name, port in (("PLAINTEXT", node.port), (_INNER, node.inner_port), ("CONTROLLER", node.controller_port)):
            if port:
                yield f"{name}://{LOOPBACK}:{port}"

    def _advertised(self, node: KafkaNode) -> Iterator[tuple[str, str]]:
        """Yield what has clients come by another address; brokers among themselves do not."""
        if node.advertised is None:
            return
        host, port = node.advertised
        yield "advertised.listeners", f"PLAINTEXT://{host}:{port},{_INNER}://{LOOPBACK}:{node.inner_port}"
        yield "inter.broker.listener.name", _INNER
        yield "listener.security.protocol.map", _PROTOCOLS


def zookeeper_properties(port: int, data: Path) -> dict[str, str]:
    """Return the configuration of a single ZooKeeper; its sessions may be as short as its brokers ask for."""
    return {
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": LOOPBACK,
        "tickTime": "500",
        "minSessionTimeout": "1000",
        "maxSessionTimeout": "40000",
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
    }


def rendered(properties: Mapping[str, str]) -> str:
    """Return the text of a Java properties file; raise `ValueError` for a name or value that would not be read back as it is."""
    lines = []
    for name, value in properties.items():
        if any(character in f"{name}{value}" for character in "\n\r") or not name or any(character in name for character in " =:#!\\"):
            raise ValueError(f"{name!r} = {value!r} can't be written in a properties file")
        escaped = value.replace("\\", "\\\\")
        lines.append(f"{name}={escaped}\n")
    return "".join(lines)


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
