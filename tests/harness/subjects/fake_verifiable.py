"""A program of level 0 without a client: prints its options, its events, and goes on SIGTERM.

The first argument says how; the rest are the options of a VerifiableConsumer.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

HOW, OPTIONS = sys.argv[1], sys.argv[2:]

HELP = {
    "kafka-2.0": "--topic --group-id --broker-list --session-timeout --enable-autocommit --reset-policy",
    "kafka-4.1": "--topic --group-id --broker-list --bootstrap-server --session-timeout --group-instance-id --assignment-strategy "
    "(e.g.  org.apache.kafka.\n        clients.consumer.RoundRobinAssignor) --enable-autocommit --reset-policy --consumer.config",
    "gives up": "--topic --group-id --bootstrap-server",
    "gives up, as Java's does": "--topic --group-id --bootstrap-server",
    "gives up, as Java's of 1.1 does, with a trace": "--topic --group-id --bootstrap-server",
    "logs an error": "--topic --group-id --bootstrap-server",
    "silent until assigned": "--topic --group-id --bootstrap-server",
    "other": "--verbose",
}


def say(name: str, **fields: object) -> None:
    print(json.dumps({"name": name, "timestamp": int(time.time() * 1000), **fields}), flush=True)


if "--help" in OPTIONS:
    if HOW == "silent":
        time.sleep(3600)
    print(HELP[HOW])
    sys.exit(1)  # as argparse4j does

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("log4j: no appender", flush=True)
config = OPTIONS[OPTIONS.index("--consumer.config") + 1] if "--consumer.config" in OPTIONS else ""
if HOW == "silent until assigned":
    with socket.create_connection(("127.0.0.1", int(OPTIONS[OPTIONS.index("--bootstrap-server") + 1].rpartition(":")[2]))):
        signal.sigwait({signal.SIGTERM})
        sys.exit(0)
say("startup_complete", options=OPTIONS, pid=os.getpid(), config=Path(config).read_text() if config else "")
if HOW == "logs an error":
    print("% 01:02:03 DEBUG: Commit", file=sys.stderr, flush=True)
    print(
        '% 01:02:03 ERROR: Consume failed: KafkaError{code=INVALID_GROUP_ID,val=24,str="JoinGroup failed: Broker: \\"?\\""}',
        file=sys.stderr,
        flush=True,
    )
if HOW.startswith("gives up"):
    say("shutdown_complete", **({"failed": True} if HOW == "gives up" else {}))
    sys.exit(1 if HOW.endswith("with a trace") else 0)
signal.sigwait({signal.SIGTERM})
say("shutdown_complete")
