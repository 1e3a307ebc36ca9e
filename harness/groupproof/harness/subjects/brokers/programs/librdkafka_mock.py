"""Runs librdkafka's mock cluster for as long as the standard input is open; the library is the one in confluent-kafka's wheel.

It is started by its path in an environment of that wheel alone. Its one argument is JSON: brokers, topics (name to partitions), settings. The
first line it says is JSON with the brokers' addresses, by node id from 1 on, and the library's version. It reads commands, one a
line: "stop N" takes a broker down, and is answered "stopped N" or "error WHY".
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

_DELAY = "group.initial.rebalance.delay.ms"
_PRODUCER = 0
_ERROR_CHARS = 512


def main(plan: str) -> int:
    arguments = json.loads(plan)
    library = _library()
    cluster = _cluster(library, int(arguments["brokers"]))
    for topic, partitions in arguments["topics"].items():
        library.rd_kafka_mock_topic_create(cluster, topic.encode(), int(partitions), 1)
    if _DELAY in arguments["settings"]:
        if not hasattr(library, "rd_kafka_mock_group_initial_rebalance_delay_ms"):
            raise SystemExit("this librdkafka has no setting for an initial delay")
        library.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, int(arguments["settings"][_DELAY]))
    addresses = library.rd_kafka_mock_cluster_bootstraps(cluster).decode().split(",")
    print(json.dumps({"addresses": addresses, "version": library.rd_kafka_version_str().decode()}), flush=True)
    for line in sys.stdin:
        print(_stopped(library, cluster, line, len(addresses)), flush=True)
    return 0


def _library() -> Any:
    """Load the library that the wheel bundles; importing the wheel loads what that needs."""
    importlib.import_module("confluent_kafka")
    found = importlib.util.find_spec("confluent_kafka")
    if found is None or found.origin is None:
        raise SystemExit("confluent_kafka is not there")
    site = Path(found.origin).parents[1]
    bundled = [*site.glob("confluent_kafka.libs/librdkafka*"), *site.glob("confluent_kafka/.dylibs/librdkafka*")]
    library: Any = ctypes.CDLL(str(bundled[0]) if bundled else "librdkafka.so.1")
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_handle_mock_cluster"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("rd_kafka_mock_cluster_bootstraps", "rd_kafka_version_str", "rd_kafka_err2str"):
        getattr(library, name).restype = ctypes.c_char_p
    library.rd_kafka_conf_set.argtypes = [ctypes.c_void_p, *[ctypes.c_char_p] * 3, ctypes.c_size_t]
    library.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.rd_kafka_handle_mock_cluster.argtypes = [ctypes.c_void_p]
    library.rd_kafka_mock_cluster_bootstraps.argtypes = [ctypes.c_void_p]
    library.rd_kafka_mock_topic_create.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    library.rd_kafka_mock_broker_set_down.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    if hasattr(library, "rd_kafka_mock_group_initial_rebalance_delay_ms"):
        library.rd_kafka_mock_group_initial_rebalance_delay_ms.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    return library


def _cluster(library: Any, brokers: int) -> int:
    """Return the mock cluster of a new client with `test.mock.num.brokers`."""
    error = ctypes.create_string_buffer(_ERROR_CHARS)
    settings = library.rd_kafka_conf_new()
    if library.rd_kafka_conf_set(settings, b"test.mock.num.brokers", str(brokers).encode(), error, _ERROR_CHARS) != 0:
        raise SystemExit(f"librdkafka refuses test.mock.num.brokers: {error.value.decode()}")
    client = library.rd_kafka_new(_PRODUCER, settings, error, _ERROR_CHARS)
    if not client:
        raise SystemExit(f"librdkafka can't be started: {error.value.decode()}")
    return int(library.rd_kafka_handle_mock_cluster(client))


def _stopped(library: Any, cluster: int, command: str, brokers: int) -> str:
    word, _, node = command.strip().partition(" ")
    if word != "stop" or not node.isdigit() or not 1 <= int(node) <= brokers:
        return f"error there is no such node: {command.strip()}"
    error = library.rd_kafka_mock_broker_set_down(cluster, int(node))
    return f"error {library.rd_kafka_err2str(error).decode()}" if error else f"stopped {node}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
