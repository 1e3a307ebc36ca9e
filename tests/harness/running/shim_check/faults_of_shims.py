"""Shims with a planted fault, around the reference member's own: what each does wrong, how `shim check` names it, and what a run says of it.

A fault changes what the shim hears (`heard`) or what it says (`lines_of`); nothing of the client's frames is touched unless the fault is that the
client was told something else.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import trio

from groupproof.clients.consumer.connection import Connect
from groupproof.clients.shims.reference import run_shim
from groupproof.harness.subjects.shims.shim_memory import RunShim

__all__ = ["FAULTS", "NOT_ASKED", "ShimFault", "run_faulty"]

Body = dict[str, Any]
Lines = list[str | Body]

STEADY = "heartbeat/classic/steady"
BUSY = "heartbeat/classic/application-busy"
STATIC = "static/classic/instance-id"
COOPERATIVE = "cooperative/classic/hand-over"
COMMIT = "commit/classic/illegal-generation"
REVOKED = "commit/classic/on-revoked"
CLOSE = "leave/classic/close"
SUBSCRIPTION = "join/classic/subscription"

IGNORED = "what the contract does not know is ignored with a warning"
NOT_ASKED = "no case asks for `{command}`, so that no verdict rests on its answer"


class Plain:
    """No fault: what the others change."""

    def __init__(self) -> None:
        self.commands: dict[int, Body] = {}
        self.kept: list[Body] = []

    def heard(self, command: Body) -> Body:
        return command

    def lines_of(self, body: Body) -> Lines:
        return [body]

    def command_of(self, body: Body) -> str:
        """Return which command a line answers; empty for an event."""
        return str(self.commands.get(body.get("id", -1), {}).get("command", ""))


Make = Callable[[], Plain]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShimFault:
    """`problem` is part of what the check says; `line` is part of what a run of `case` says, which is BROKEN.

    Where one play of the case alone says something else, `verdict`, `why` tells the reason: it reads nothing of it, or no frame tells the fault from one of
    the client's (`twin` is the misbehaviour of the reference member that leaves the same frames and lines, and that has to be caught). There `certify` tries
    the shim's word for `word`, and says BROKEN. `blames` are the cases that lay the fault at the client's door as long as the shim's word is not tried.
    """

    name: str
    make: Make
    problem: str
    case: str = STEADY
    line: str = ""
    verdict: str = "BROKEN"
    word: str = ""
    why: str = ""
    twin: str = ""
    blames: tuple[str, ...] = ()

    @property
    def is_broken(self) -> bool:
        """Whether `certify` says BROKEN."""
        return self.verdict == "BROKEN" or bool(self.word)


def _of(name: str, change: Callable[[Body], Lines]) -> Make:
    """Return a fault that changes each event `name`."""

    class Changed(Plain):
        def lines_of(self, body: Body) -> Lines:
            return change(body) if body.get("name") == name else [body]

    return Changed


def _answers(command: str, change: Callable[[Body], Lines]) -> Make:
    """Return a fault that changes each answer to `command`."""

    class Changed(Plain):
        def lines_of(self, body: Body) -> Lines:
            return change(body) if self.command_of(body) == command else [body]

    return Changed


def _hears(change: Callable[[Body], Body], command: str = "subscribe") -> Make:
    """Return a fault that tells the client something else than was asked."""

    class Changed(Plain):
        def heard(self, fields: Body) -> Body:
            return change(fields) if fields.get("command") == command else fields

    return Changed


def _without(body: Body, *names: str) -> Body:
    return {name: value for name, value in body.items() if name not in names}


def _parts(body: Body, change: Callable[[Body], Any], key: str = "partitions") -> Lines:
    return [{**body, key: [change(item) for item in body[key]]}]


def _moved(part: Body) -> Body:
    return {**part, "minOffset": part["minOffset"] + 3, "maxOffset": part["maxOffset"] + 3}


class AnswersLate(Plain):
    """The answer to `subscribe` waits for the join."""

    def lines_of(self, body: Body) -> Lines:
        if self.command_of(body) == "subscribe":
            self.kept = [body]
            return []
        if body.get("name") == "partitions_assigned":
            kept, self.kept = self.kept, []
            return [body, *kept]
        return [body]


class PausesNothing(Plain):
    """Answers `pause` and polls on."""

    def heard(self, command: Body) -> Body:
        return {**command, "command": "resume"} if command.get("command") == "pause" else command


class SaysYes(Plain):
    """Answers ok to what it does not know."""

    def lines_of(self, body: Body) -> Lines:
        return [{**_without(body, "unimplemented"), "ok": True}] if "unimplemented" in body else [body]


class TellsOldRecords(Plain):
    """Prints the records before the first rebalance again with each later line of records, whoever has their partitions now."""

    was_revoked = False

    def lines_of(self, body: Body) -> Lines:
        self.was_revoked |= body.get("name") == "partitions_revoked"
        if body.get("name") != "records_consumed":
            return [body]
        if not self.was_revoked:
            self.kept.append(body)
        return [body, *self.kept] if self.was_revoked else [body]


class Swallows(Plain):
    """Tells every commit as done."""

    def lines_of(self, body: Body) -> Lines:
        if body.get("name") == "offsets_committed":
            return [{**_without(body, "error"), "success": True}]
        if self.command_of(body) == "commit":
            return [{**_without(body, "error", "message", "fatal"), "ok": True, "offsets": body.get("offsets", [])}]
        return [body]


class EventAfterAnswer(Plain):
    """Holds `offsets_committed` back until the answer is out."""

    def lines_of(self, body: Body) -> Lines:
        if body.get("name") == "offsets_committed":
            self.kept = [*self.kept, body]
            return []
        kept, self.kept = (self.kept, []) if self.command_of(body) in ("commit", "committed") else ([], self.kept)
        return [body, *kept]


class Claims(Plain):
    """Claims what it takes back in `ignored`, and does not tell the client."""

    def __init__(self, name: str, is_listed: bool) -> None:
        super().__init__()
        self.name = name
        self.is_listed = is_listed

    def heard(self, command: Body) -> Body:
        return _without(command, self.name) if command.get("command") == "subscribe" else command

    def lines_of(self, body: Body) -> Lines:
        if self.is_listed and self.command_of(body) == "subscribe" and body.get("ok"):
            return [{**body, "ignored": [*body["ignored"], self.name]}]
        return [body]


class OfAnother(Plain):
    """Names a member that nobody has started."""

    def lines_of(self, body: Body) -> Lines:
        return [body, {**body, "member": "somebody"}] if body.get("name") == "partitions_assigned" else [body]


class Floods(Plain):
    """Tells of the first assignment six thousand times."""

    def lines_of(self, body: Body) -> Lines:
        return [body] * 6_000 if body.get("name") == "callback_done" else [body]


class Refuses(Plain):
    """Answers `unimplemented` to what it declares."""

    def heard(self, command: Body) -> Body:
        return {**command, "command": "no-such"} if command.get("command") == "pause" else command


FAULTS = (
    # What the client is told.
    ShimFault(name="client-id", make=_hears(lambda c: {**c, "client_id": "somebody"}), problem="client_id: requests came as 'somebody'", line="requests came as"),
    ShimFault(name="session-timeout", make=_hears(lambda c: {**c, "session_timeout_ms": 9_000}), problem="session_timeout_ms: m0 was told 6000", line="m0 was told"),
    ShimFault(name="group", make=_hears(lambda c: {**c, "group": "mine"}), problem="group: m0 speaks for group 'mine'", line="speaks for group"),
    ShimFault(name="assignor", make=_hears(lambda c: {**c, "assignors": ["roundrobin"]}), problem="assignors: m0 was told ['range']", line="assignors: m0 was told", blames=(SUBSCRIPTION,)),
    ShimFault(
        name="static-claimed", make=lambda: Claims("instance_id", is_listed=False), problem="instance_id: m0 was told 'i0', its JoinGroup says None", case=STATIC,
        line="its JoinGroup says None",
    ),
    ShimFault(
        name="static-taken-back", make=lambda: Claims("instance_id", is_listed=True), problem="the shim claims static, yet m0 lists instance_id", case=STATIC,
        line="the shim claims static",
    ),
    ShimFault(
        name="cooperative-claimed", make=_hears(lambda c: {**c, "assignors": ["range"]}), problem="assignors: m0 was told ['cooperative-sticky']", case=COOPERATIVE,
        line="was told ['cooperative-sticky']", blames=(SUBSCRIPTION,),
    ),
    ShimFault(
        name="auto-commit-claimed", make=_hears(lambda c: {**c, "auto_commit": False}), problem="hello declares auto-commit, and no OffsetCommit came",
        case="commit/classic/auto-by-interval", line="the shim claims auto-commit, yet m0 sent no OffsetCommit at all",
        blames=("commit/classic/auto-before-rejoin", "commit/classic/auto-at-close"),
    ),
    ShimFault(
        name="on-revoked-claimed", make=_hears(lambda c: _without(c, "on_revoked")), problem="on_revoked asked for 300 ms in partitions_revoked",
        case=REVOKED, line="yet came back from it and joined again at once",
    ),
    # What it does not do.
    ShimFault(name="pauses-nothing", make=PausesNothing, problem="pause was answered, and records_consumed came after it", case=BUSY, line="was paused, yet its polls"),
    ShimFault(name="refuses-pause", make=Refuses, problem="although hello declares pause", case=BUSY, line="the shim claims pause, yet answers unimplemented"),
    ShimFault(name="says-yes", make=SaysYes, problem="a command that does not exist", line="a command that does not exist"),
    ShimFault(name="answers-late", make=AnswersLate, problem="subscribe is answered after the join", case="find/classic/invalid-group-id", line="subscribe was not answered within 30 s"),
    ShimFault(
        name="swallows-errors", make=Swallows, problem="commit (sync) is answered ok, although each OffsetCommit was refused",
        case="commit/classic/offset-metadata-too-large", verdict="FAILED", word="offsets_committed",
        twin="takes-failed-commit-for-done", blames=("commit/classic/*", "rebalance/*", "cooperative/*", "link/*", "poll/*", "static/*", "move/*"),
        why="a client that takes a refused commit for done gets the same OffsetCommit answered the same, and only the shim hears what it tells its application",
    ),
    ShimFault(
        name="unsubscribes-nothing", make=_hears(lambda c: {**c, "command": "resume"}, "unsubscribe"), problem="unsubscribe is answered ok, and no LeaveGroup came",
        case="leave/classic/unsubscribe", verdict="NON_STRICT", word="unsubscribe", twin="pretends-to-leave", blames=("leave/classic/unsubscribe*",),
        why="a client that goes on as a member when it is told to unsubscribe sends the same Heartbeats and Fetches",
    ),
    ShimFault(
        name="resumes-nothing", make=_hears(lambda c: {**c, "command": "pause"}, "resume"), problem="no records_consumed within 15 s of resume",
        case="poll/classic/stopped-leaves", verdict="FAILED", word="resume", blames=("poll/classic/stopped-leaves",),
        why="neither a poll that returns nothing nor one that is not made leaves a frame or a line: a client that never comes back looks the same",
    ),
    # What it says of what happened.
    ShimFault(
        name="never-revoked", make=_of("partitions_revoked", lambda b: []), problem="no partitions_revoked came although another member",
        case="rebalance/classic/second-member", verdict="FAILED", word="partitions_revoked", twin="never-revokes",
        blames=("rebalance/*", "cooperative/*", "heartbeat/classic/while-handing-over"),
        why="a client that lets go of its partitions and calls no callback sends the same JoinGroup, and stops the same Fetches",
    ),
    ShimFault(
        name="old-records", make=TellsOldRecords, problem="which the member did not have",
        case="rebalance/classic/twice-in-a-row", verdict="FAILED", word="records_consumed",
        blames=("rebalance/classic/twice-in-a-row", "rebalance/classic/resubscription-slowly", "cooperative/classic/among-eager-members"),
        why="a client that gives its application records that it fetched before it gave the partitions up sends the same frames",
    ),
    ShimFault(name="no-callback-done", make=_of("callback_done", lambda b: []), problem="before its callback_done", verdict="OK", why="when a callback began is told by its own line; no verdict needs to know that it is over"),
    ShimFault(name="wrong-offsets", make=_of("records_consumed", lambda b: _parts(b, _moved)), problem="were reported with offsets 3 to 22; it holds 0 to 19", case="fetch/classic/nothing-committed", line="never asked for one beyond 20"),
    ShimFault(
        name="counts-wrong", make=_of("records_consumed", lambda b: [{**b, "count": b["count"] + 1}]), problem="its partitions add up to", line="and its partitions add up to",
    ),
    ShimFault(
        name="committed-off-by-one", make=_answers("committed", lambda b: [{**b, "offsets": [[t, p, o + 1] for t, p, o in b["offsets"]]}]),
        problem="committed answers [['t', 0, 4], ['t', 1, 5]]",
        verdict="OK", why=NOT_ASKED.format(command="committed"),
    ),
    ShimFault(
        name="position-off-by-one", make=_answers("position", lambda b: [{**b, "offsets": [[t, p, o + 1] for t, p, o in b["offsets"]]}]),
        problem="position answers [21]",
        verdict="OK", why=NOT_ASKED.format(command="position"),
    ),
    ShimFault(name="event-after-answer", make=EventAfterAnswer, problem="the answer to commit (sync) came before the offsets_committed", case=COMMIT, verdict="OK", why="the outcome is read from the event or from the answer, whichever comes"),
    ShimFault(name="half-an-assignment", make=_answers("assignment", lambda b: [{**b, "partitions": b.get("partitions", [])[:2]}] if b.get("ok") else [b]), problem="assignment answers [['t', 0], ['t', 1]]", verdict="OK", why=NOT_ASKED.format(command="assignment")),
    ShimFault(name="no-shutdown-complete", make=_of("shutdown_complete", lambda b: []), problem="close was not followed by shutdown_complete", case=CLOSE, line="close of m0 was answered ok, and no shutdown_complete came"),
    # What a line is like.
    ShimFault(name="broken-json", make=_of("partitions_assigned", lambda b: ['{"name":"partitions_assigned","partitions":[']), problem="is no JSON", line="is no JSON"),
    ShimFault(
        name="partition-without-topic", make=_of("records_consumed", lambda b: _parts(b, lambda p: _without(p, "topic"))),
        problem="in partitions there is {'partition'", line="in partitions there is {'partition'",
    ),
    ShimFault(
        name="offsets-as-lists", make=_of("offsets_committed", lambda b: _parts(b, lambda o: [o["topic"], o["partition"], o["offset"]], "offsets")),
        problem="in offsets there is ['t', 0, 3], not {topic, partition, offset}", case=COMMIT, line="not {topic, partition, offset}",
    ),
    ShimFault(name="count-as-text", make=_of("records_consumed", lambda b: [{**b, "count": str(b["count"])}]), problem="count is '", line="count is '"),
    ShimFault(name="nan", make=_of("records_consumed", lambda b: [json.dumps({**b, "lag": math.nan})]), problem="NaN is no number", line="NaN is no number"),
    ShimFault(name="surrogate", make=_of("callback_done", lambda b: [json.dumps({**b, "why": "\ud800"})]), problem="surrogates not allowed", line="surrogates not allowed"),
    ShimFault(name="too-long", make=_of("partitions_assigned", lambda b: [{**b, "padding": "x" * (1 << 20)}]), problem="a line longer than 1 MiB", line="a line longer than 1 MiB"),
    ShimFault(name="ignored-as-text", make=_answers("subscribe", lambda b: [{**b, "ignored": "nothing"}]), problem="ignored is 'nothing', not a list", line="ignored is 'nothing'"),
    ShimFault(name="answers-twice", make=_answers("subscribe", lambda b: [b, b]), problem="a second answer to command", line="a second answer to command"),
    ShimFault(name="answers-nobody", make=_answers("subscribe", lambda b: [b, {**b, "id": 999}]), problem="an answer to command 999, which is not open", line="which is not open"),
    ShimFault(name="of-a-stranger", make=OfAnother, problem="of member 'somebody', which nobody has started", line="which nobody has started"),
    ShimFault(name="floods", make=Floods, problem="a flood: more than 5000 events", line="a flood: more than 5000 events"),
    ShimFault(name="says-hello-twice", make=_of("startup_complete", lambda b: [b, {"name": "hello", "contract": 1, "client": "x", "version": "1", "language": "x", "capabilities": []}]), problem="hello must be the first line", line="a second hello"),
    # What a run ignores, with a warning.
    ShimFault(name="unknown-event", make=_of("startup_complete", lambda b: [b, {**b, "name": "ready"}]), problem="event 'ready' is not in the contract", verdict="OK", why=IGNORED),
    ShimFault(name="unknown-field", make=_of("callback_done", lambda b: [{**b, "mood": "good"}]), problem="carries mood, which the contract does not know", verdict="OK", why=IGNORED),
    ShimFault(name="noise", make=_of("startup_complete", lambda b: ["Welcome to my client!", b]), problem="noise on stdout", verdict="OK", why=IGNORED),
)  # fmt: skip


def run_faulty(fault: ShimFault, *, variant: str | None = None) -> RunShim:
    """Return the reference's shim with the fault in it, around a member that is perhaps a `variant` itself."""
    of_member = variant

    async def run(
        lines: AsyncIterator[str], emit: Callable[[str], Awaitable[None]], connect: Connect, *, seed: int, variant: str | None = None
    ) -> None:
        planted = fault.make()

        async def lines_of(line: str) -> None:
            for item in planted.lines_of(json.loads(line)):
                await emit(item if isinstance(item, str) else json.dumps(item))

        async def heard() -> AsyncIterator[str]:
            async for line in lines:
                command = json.loads(line)
                planted.commands[command["id"]] = command
                yield json.dumps(planted.heard(command))

        await run_shim(heard(), lines_of, connect, seed=seed, variant=of_member or variant)
        await trio.lowlevel.checkpoint()

    return run
