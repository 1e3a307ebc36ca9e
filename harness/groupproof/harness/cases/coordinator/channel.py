"""Connections: the order of answers, broken connections, clients that do not read, and bytes that are no request (INV-08)."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    Steps,
    all_joined,
    alone,
    api_versions,
    case,
    gathered,
    passing,
    preparing,
    rejoined,
)
from groupproof.harness.judging.script_checkers.expected_answers import raw_is_answered
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.script import AwaitClose, Cut, Raw, ReadAgain, ScriptStep, StopReading, SubscriptionBytes
from groupproof.harness.model.script_builders import answered, beat, commit, describe, fetch, join, joined, stable, sync
from groupproof.protocol.vocabulary import Api, ErrorCode, Level
from groupproof.protocol.wire.message_codec import frame

__all__ = ["CASES"]

_CORRELATION: Final = 0x7FFF0000
_AT_ONCE: Final[dict[str, Any]] = {"wait": False, "settles": False}


def _header(api_key: int, version: int, client_id: str = "raw") -> bytes:
    """Return a request header of version 1."""
    return struct.pack(">hhih", api_key, version, _CORRELATION, len(client_id)) + client_id.encode()


_ORDER = (
    case(
        "channel/answers-in-order",
        "answers the requests of one connection in their order",
        ("INV-08", "JOIN-34"),
        stable("a"),
        beat("a", **_AT_ONCE),
        commit("a", {("t", 0): 5}, **_AT_ONCE),
        fetch("a", **_AT_ONCE),
        beat("a", generation_id=77, label="late", **_AT_ONCE),
        answered("late", code=22),
        answered("fetch a", code=0),
        answered("commit a", code=0),
        answered("beat a", code=0),
    ),
    case(
        "channel/waiting-join-holds-the-next-back",
        "answers nothing on a connection before the join that waits on it",
        ("INV-08", "JOIN-12"),
        stable("a"),
        joined("b", is_parked=True),
        beat("b", is_parked=True, **_AT_ONCE),
        passing(300),
        all_joined("a", "b"),
        answered("beat b", code=22),
    ),
    case(
        "channel/waiting-sync-holds-the-next-back",
        "answers nothing on a connection before the sync that waits on it",
        ("INV-08", "SYNC-05"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        beat("b", is_parked=True, **_AT_ONCE),
        passing(300),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        answered("sync b", code=0),
        answered("beat b", code=0),
    ),
    case(
        "channel/two-members-on-one",
        "keeps two members apart that share a connection",
        ("JOIN-34", "INV-08"),
        stable("a", "b"),
        beat("a", over="shared", code=0),
        beat("b", over="shared", code=0),
        commit("b", over="shared", code=0),
        beat("a", over="shared", generation_id=77, code=22),
    ),
    case(
        "channel/member-on-another-connection",
        "knows a member by its id, whatever connection it comes by",
        ("JOIN-34",),
        stable("a"),
        beat("a", over="a/2", code=0),
        Cut(connection="a"),
        beat("a", over="a/3", code=0),
        commit("a", over="a/3", code=0),
    ),
)

_BREAKS = (
    *(
        case(
            f"channel/{name}-while-join-waits",
            f"keeps a member whose connection {words} while its join waits",
            ("INV-08", "DJOIN-15", "JOIN-58"),
            preparing("a", "b"),
            Cut(connection="a", resets=resets),
            passing(300),
            rejoined("b"),
            join("a", over="a/2", wait=True, label="again", code=0),
            sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, over="a/2", code=0),
            sync("b", code=0),
        )
        for name, words, resets in (("closed", "is closed", False), ("reset", "is reset", True))
    ),
    case(
        "channel/closed-while-sync-waits",
        "keeps the assignment of a member whose connection is closed while its sync waits",
        ("INV-08", "SYNC-53"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        Cut(connection="b"),
        passing(300),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        sync("b", over="b/2", code=0),
    ),
    case(
        "channel/closed-is-no-leave",
        "takes the end of a connection for no leave: the member stays until its session ends",
        ("HB-11", "LEAVE-07"),
        stable("a", "b"),
        Cut(connection="b"),
        passing(300),
        beat("a", code=0),
        beat("b", over="b/2", code=0),
    ),
)


def _malformed(name: str, words: str, *steps: ScriptStep, level: Level = Level.SHOULD, judges: tuple[Judge, ...] = ()) -> Case:
    made = case(
        f"malformed/{name}",
        f"{words}, and goes on serving everybody else",
        ("INV-10", "JOIN-34"),
        stable("a"),
        *steps,
        beat("a", code=0),
        beat("b", code=25, member_id="b", generation_id=1),
        level=level,
        required=False,
    )
    return replace(made, judges=judges)


def _closes(name: str, words: str, data: bytes, level: Level = Level.SHOULD) -> Case:
    return _malformed(name, f"closes a connection {words}", Raw(connection="raw", data=data), AwaitClose(connection="raw"), level=level)


_MALFORMED = (
    _closes("length-of-2-gib", "that announces a request of 2 GiB", struct.pack(">i", 0x7FFFFFFF) + b"\x00" * 64),
    _closes("negative-length", "that announces a request of negative length", struct.pack(">i", -1) + b"\x00" * 64),
    _closes("no-header", "on which a request comes that is too short for its header", frame(b"\x00\x0b")),
    _closes("unknown-api", "on which an API is asked for that does not exist", frame(_header(9_999, 0))),
    _closes(
        "unsupported-version", "on which an API is asked for by a version that it does not speak", frame(_header(Api.HEARTBEAT, 99) + b"\x00" * 16)
    ),
    _closes("garbage-body", "on which a request cannot be read", frame(_header(Api.JOIN_GROUP, 2) + b"\xff" * 40)),
    _closes("body-too-short", "on which a request ends before its fields do", frame(_header(Api.HEARTBEAT, 0) + b"\x00\x20ab")),
    _malformed(
        "half-a-request",
        "waits for the rest of a request that never comes",
        Raw(connection="raw", data=struct.pack(">i", 200) + _header(Api.HEARTBEAT, 0)),
        passing(300),
        Cut(connection="raw"),
    ),
    _malformed(
        "api-versions-of-the-future",
        "answers ApiVersions by a version to come with 35 in its oldest form, and keeps the connection",
        Raw(connection="raw", data=frame(_header(Api.API_VERSIONS, 99) + b"\x00\x01\x01\x00")),
        api_versions("raw", to="coordinator", code=0),
        level=Level.MUST,
        judges=(raw_is_answered(Api.API_VERSIONS, ErrorCode.UNSUPPORTED_VERSION, "INV-10"),),
    ),
    case(
        "malformed/among-waiting-joins",
        "answers those who wait though another connection sends garbage meanwhile",
        ("INV-08", "INV-10"),
        preparing("a", "b"),
        Raw(connection="raw", data=struct.pack(">i", -5)),
        AwaitClose(connection="raw"),
        all_joined("b", "a"),
        level=Level.SHOULD,
        required=False,
    ),
)

_BIG: Final = SubscriptionBytes(user_data=b"u" * 60_000)
_MANY: Final = 40


def _unread() -> tuple[Steps, ...]:
    """Return the steps of a connection that requests several megabytes and does not read for a while."""
    asks = (describe("slow", label=f"describe {number}", **_AT_ONCE) for number in range(_MANY))
    return (
        alone("a", metadata=_BIG, session_timeout_ms=60_000),
        sync("a", {"a": [("t", 0)]}, code=0),
        describe("slow", code=0),
        StopReading(connection="slow"),
        *asks,
    )


_SLOW = (
    case(
        "slow/reader-holds-up-nobody",
        "serves everybody else while one connection does not take its answers, and then that one too",
        ("INV-08", "INV-10"),
        *_unread(),
        passing(300),
        beat("a", code=0),
        commit("a", code=0),
        ReadAgain(connection="slow"),
        answered(f"describe {_MANY - 1}", code=0, within_ms=20_000),
        beat("a", code=0),
    ),
    case(
        "slow/reader-goes-away",
        "gets over a connection that goes away with answers untaken",
        ("INV-10", "JOIN-34"),
        *_unread(),
        Cut(connection="slow", resets=True),
        beat("a", code=0),
        describe("x", code=0),
    ),
)

CASES: tuple[Case, ...] = (*_ORDER, *_BREAKS, *_MALFORMED, *_SLOW)
