"""One member of a running plan: its shim's events become observations, and the plan's steps become commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from groupproof.harness.model.plan import DEFAULT_ASSIGNORS, DEFAULT_NAMES, Member
from groupproof.harness.subjects.shims.contract_lines import EVENTS, Answer
from groupproof.harness.subjects.shims.conversation import Ending
from groupproof.harness.subjects.subject import Handle
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.trace import Recorder

__all__ = ["DEFAULTS", "Actor", "subscription_of"]

DEFAULTS: Mapping[str, Any] = {
    **DEFAULT_NAMES,
    "protocol": CLASSIC.name,
    "assignors": list(DEFAULT_ASSIGNORS),
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 300,
    "max_poll_interval_ms": 30_000,
    "poll_timeout_ms": 100,
    "auto_commit": False,
    "auto_offset_reset": "earliest",
}
"""The fields of `subscribe` that a member's settings do not set."""

_CLOSING_COMMANDS = frozenset({"close", "exit"})


def subscription_of(member: Member, bootstrap: str, profile: str = "") -> dict[str, Any]:
    """Return the fields of the member's `subscribe`; its name is its client id. Brokers that are no Kafka release get no `broker_release`."""
    release = {"broker_release": ".".join(map(str, RELEASES[profile]))} if profile in RELEASES else {}
    by_pattern: dict[str, Any] = {"topics": []} if "pattern" in member.settings else {}
    return {"bootstrap": bootstrap, "client_id": member.name, **release, **DEFAULTS, **member.settings, **by_pattern}


class Actor:
    """One member; the `Listener` of its shim's conversation. `ended` is set when its shim has ended, for any reason. `close_requested` is set when its
    `close` was answered or can no longer be. `gone` is set when it is no longer hosted; cancel `hosting` to end that."""

    def __init__(self, member: Member, recorder: Recorder) -> None:
        self.member = member
        self.name = member.name
        self.ended = trio.Event()
        self.close_requested = trio.Event()
        self.gone = trio.Event()
        self.hosting = trio.CancelScope()
        self.handle: Handle | None = None
        self.is_dismissed = False
        self._recorder = recorder

    @property
    def is_alone(self) -> bool:
        """Whether another member cannot have caused its end."""
        return self.handle is not None and not self.handle.shared

    @property
    def has_crashed(self) -> bool:
        return self.ended.is_set() and not self.is_dismissed

    def greet(self, handle: Handle) -> None:
        """Attach the member's shim, and record its hello."""
        self.handle = handle
        hello = handle.hello
        facts: dict[str, Any] = {
            "client": hello.client,
            "version": hello.version,
            "language": hello.language,
            "capabilities": sorted(hello.capabilities),
        }
        if hello.level == 0:
            facts |= {"level": 0, "unreported": sorted(hello.unreported)}
        self.note("hello", **facts)

    @property
    def commits_unasked(self) -> bool:
        """Whether it commits what it has read without a command; a level 0 program does."""
        return self.handle is not None and self.handle.hello.level == 0

    def note(self, name: str, **body: Any) -> None:
        """Record an action of the kit on this member."""
        self._recorder.record("event", who="kit", client=self.name, body={"name": name, **body})

    async def ask(self, command: str, fields: Mapping[str, Any]) -> Answer:
        """Send a command; raise `ShimGone` when the shim ends before it answers."""
        assert self.handle is not None
        self.is_dismissed = self.is_dismissed or command in _CLOSING_COMMANDS
        self.note("command", command=command, fields=dict(fields))
        try:
            return await self.handle.ask(command, fields)
        finally:
            if command in _CLOSING_COMMANDS:
                self.close_requested.set()

    async def subscribe(self, fields: Mapping[str, Any], *, needed: frozenset[str]) -> bool:
        """Return whether the member is subscribed with all settings that the case needs; a refusal is recorded."""
        answer = await self.ask("subscribe", fields)
        if not answer.ok:
            reason = answer.unimplemented if answer.unimplemented is not None else f"{answer.error} {answer.body.get('message', '')}".strip()
            self.note("refused", command="subscribe", unimplemented=answer.unimplemented is not None, reason=reason)
        return answer.ok and needed.isdisjoint(answer.body.get("ignored") or ())

    def kill(self) -> None:
        assert self.handle is not None
        self.is_dismissed = True
        self.close_requested.set()
        self.note("kill")
        self.handle.kill()

    def freeze(self) -> None:
        assert self.handle is not None
        self.note("freeze")
        self.handle.freeze()

    def thaw(self) -> None:
        assert self.handle is not None
        self.note("thaw")
        self.handle.thaw()

    def on_event(self, body: dict[str, Any]) -> None:
        # An event outside the contract has no checked partitions.
        listed = body.get("partitions", ()) if body.get("name") in EVENTS else ()
        partitions = tuple((item["topic"], item["partition"]) for item in listed)
        self._recorder.record("event", who="shim", client=self.name, body=_plain(body), partitions=partitions)

    def on_answer(self, answer: Answer) -> None:
        self._recorder.record("event", who="shim", client=self.name, body={"name": "answer", **_plain(answer.body)})

    def on_end(self, ending: Ending) -> None:
        """Record how the shim ended: a broken contract, or an exit with or without a command."""
        if ending.broken is not None:
            self.note("broken", reason=ending.broken, stderr=list(ending.stderr))
        else:
            shared = self.handle is not None and self.handle.shared
            how = {"status": ending.status, "how": str(ending), "gave_up": ending.gave_up}
            self.note("exit", **how, commanded=self.is_dismissed, shared=shared, stderr=list(ending.stderr))
        self.ended.set()


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the `member` key, which separates the members of a shared shim: the trace has the member's own name."""
    return {name: value for name, value in body.items() if name != "member"}
