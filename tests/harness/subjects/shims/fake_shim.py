"""A shim without a client, that breaks the contract in the way its first argument names: what the kit must bear.

It needs nothing but the standard library. `honest` keeps the contract as far as one can without a client. Those that end after their client has
spoken ask the broker for a coordinator first, with a frame of their own making.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

HOW = sys.argv[1]
CAPABILITIES = ["classic", "commit", "pause", *sys.argv[2:]]


def say(*lines: dict[str, Any]) -> None:
    """Write the lines at once: whoever reads one finds the next."""
    print(*map(json.dumps, lines), sep="\n", flush=True)


def hello() -> None:
    say({"name": "hello", "contract": 1, "client": "fake", "version": "1.0", "language": "python", "capabilities": CAPABILITIES})


def before_hello() -> None:
    """Do what `HOW` asks for before the first line."""
    if HOW == "cannot-run":
        print("no such runtime here", file=sys.stderr, flush=True)
        sys.exit(89)
    if HOW == "dies-at-once":
        print("Traceback: no module named kafka", file=sys.stderr, flush=True)
        sys.exit(1)
    if HOW == "silent":
        time.sleep(3600)
    if HOW == "starts-once":
        if os.path.exists(os.environ["ONCE"]):
            print("only once", file=sys.stderr, flush=True)
            sys.exit(1)
        open(os.environ["ONCE"], "w").close()
    if HOW == "no-hello":
        say({"name": "startup_complete"})
    if HOW == "bad-hello":
        print('{"name":"hello","contract":', flush=True)
    if HOW == "ignores-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if HOW == "has-a-child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        print(f"child {child.pid}", file=sys.stderr, flush=True)


def obey(command: dict[str, Any]) -> None:
    addressed = {"member": command["member"]} if "member" in command else {}
    if HOW == "deaf":
        return
    is_command = command["command"] in ("subscribe", "pause", "resume", "commit", "close", "exit")
    if HOW == "knows-everything":
        say({"id": command["id"], "ok": True, **addressed})
    elif not is_command:
        say({"id": command["id"], "unimplemented": "unknown", **addressed})
    elif HOW == "answers-nothing":
        return
    elif HOW == "lies-about-pause" and command["command"] == "pause":
        say({"id": command["id"], "unimplemented": "cannot pause", **addressed})
    elif HOW == "refuses" and command["command"] == "subscribe":
        say({"id": command["id"], "error": "INVALID_CONFIG", "message": "bad", "fatal": True, **addressed})
    elif HOW in LAST_ACTS:
        LAST_ACTS[HOW]()
    elif HOW in (*ENDS, "answers-twice", "tells-a-story") and command["command"] == "subscribe":
        subscribed(command, addressed)
    elif HOW == "bad-line":
        print("{not json", flush=True)
    else:
        fine(command, addressed)


def speak(command: dict[str, Any]) -> None:
    """Ask for the group's coordinator, as a client would (FindCoordinator v0), and wait for the answer."""
    host, _, port = command["bootstrap"].partition(",")[0].rpartition(":")
    client, group = command["client_id"].encode(), command["group"].encode()
    frame = struct.pack(">hhih", 10, 0, 1, len(client)) + client + struct.pack(">h", len(group)) + group
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        connection.recv(4)


def die() -> None:
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)


def close_stdout() -> None:
    os.close(1)
    time.sleep(3600)


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def panic() -> None:
    os._exit(2)


LAST_ACTS: dict[str, Callable[[], None]] = {"dies-on-subscribe": die, "closes-stdout": close_stdout}
ENDS: dict[str, Callable[[], None]] = {"killed": be_killed, "aborts": os.abort, "panics": panic}


def subscribed(command: dict[str, Any], addressed: dict[str, Any]) -> None:
    """End once the client has spoken, or say more than was done."""
    if HOW in ENDS:
        speak(command)
        print("goroutine 17 [running]", "panic: nil", sep="\n", file=sys.stderr, flush=True)
        ENDS[HOW]()
    answer = {"id": command["id"], "ok": True, **addressed}
    event = {"name": "partitions_assigned", "partitions": [{"topic": "t", "partition": 0}], **addressed}
    say(answer, answer if HOW == "answers-twice" else event)


def fine(command: dict[str, Any], addressed: dict[str, Any]) -> None:
    if command["command"] == "subscribe":
        say({"name": "startup_complete", **addressed})
        if HOW == "odd":
            sys.stdout.buffer.write(b"caf\xe9\n")
            say({"name": "callback_done", "mood": "good", **addressed})
        say({"name": "environment", **addressed, "pid": os.getpid(), "marked": os.environ.get("MARK")})
    ignored = {"ignored": ["client_id"]} if HOW == "unnamed" and command["command"] == "subscribe" else {}
    say({"id": command["id"], "ok": True, **ignored, **addressed})
    if HOW == "never-goes":
        return
    if command["command"] == "exit" or (command["command"] == "close" and "multi" not in CAPABILITIES):
        sys.exit(0)


def main() -> None:
    before_hello()
    hello()
    if HOW == "floods":
        for number in range(20_000):
            print(f"noise {number:050d}", file=sys.stderr)
        print("x" * 3_000_000, flush=True)
    for line in sys.stdin:
        obey(json.loads(line))
    if HOW in ("never-goes", "ignores-sigterm"):
        time.sleep(3600)


main()
