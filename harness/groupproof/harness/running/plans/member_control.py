"""A member of a running plan: what its shim says becomes observations, and what the plan asks of it becomes commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from groupproof.harness.model.plan import DEFAULT_NAMES, Member
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
    "assignors": ["range"],
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 300,
    "max_poll_interval_ms": 30_000,
    "poll_timeout_ms": 100,
    "auto_commit": False,
    "auto_offset_reset": "earliest",
}
"""What `subscribe` says where a member's settings don't."""

_FAREWELLS = frozenset({"close", "exit"})


def subscription_of(member: Member, bootstrap: str, profile: str = "") -> dict[str, Any]:
    """Return the fields of the member's `subscribe`; its name is its client id. Brokers that play no release of Kafka's have none to tell."""
    release = {"broker_release": ".".join(map(str, RELEASES[profile]))} if profile in RELEASES else {}
    by_pattern: dict[str, Any] = {"topics": []} if "pattern" in member.settings else {}
    return {"bootstrap": bootstrap, "client_id": member.name, **release, **DEFAULTS, **member.settings, **by_pattern}


class Actor:
    """One member; a `Listener` of its shim's conversation. `ended` is set when its shim has ended, by whatever cause,
    `farewell` when its `close` was answered or can't be any more, `gone` when it is hosted no longer, which cancelling `hosting` brings about."""

    def __init__(self, member: Member, recorder: Recorder) -> None:
        self.member = member
        self.name = member.name
        self.ended = trio.Event()
        self.farewell = trio.Event()
        self.gone = trio.Event()
        self.hosting = trio.CancelScope()
        self.handle: Handle | None = None
        self.is_dismissed = False
        self._recorder = recorder

    @property
    def is_alone(self) -> bool:
        """Whether its end can't be laid at another member's door."""
        return self.handle is not None and not self.handle.shared

    @property
    def has_crashed(self) -> bool:
        return self.ended.is_set() and not self.is_dismissed

    def greet(self, handle: Handle) -> None:
        """Take the member's shim over, and record who it says it is."""
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
        """Whether it commits what it has read, also where nobody asked for that: a program of level 0 does."""
        return self.handle is not None and self.handle.hello.level == 0

    def note(self, name: str, **body: Any) -> None:
        """Record what the kit did to this member."""
        self._recorder.record("event", who="kit", client=self.name, body={"name": name, **body})

    async def ask(self, command: str, fields: Mapping[str, Any]) -> Answer:
        """Send a command; raise `ShimGone` when the shim ends before it answers."""
        assert self.handle is not None
        self.is_dismissed = self.is_dismissed or command in _FAREWELLS
        self.note("command", command=command, fields=dict(fields))
        try:
            return await self.handle.ask(command, fields)
        finally:
            if command in _FAREWELLS:
                self.farewell.set()

    async def subscribe(self, fields: Mapping[str, Any], *, needed: frozenset[str]) -> bool:
        """Tell whether the member is subscribed, with all that the case needs of its settings; a refusal is recorded."""
        answer = await self.ask("subscribe", fields)
        if not answer.ok:
            reason = answer.unimplemented if answer.unimplemented is not None else f"{answer.error} {answer.body.get('message', '')}".strip()
            self.note("refused", command="subscribe", unimplemented=answer.unimplemented is not None, reason=reason)
        return answer.ok and needed.isdisjoint(answer.body.get("ignored") or ())

    def kill(self) -> None:
        assert self.handle is not None
        self.is_dismissed = True
        self.farewell.set()
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
        # What an event that the contract does not know calls its partitions nobody has looked at.
        listed = body.get("partitions", ()) if body.get("name") in EVENTS else ()
        partitions = tuple((item["topic"], item["partition"]) for item in listed)
        self._recorder.record("event", who="shim", client=self.name, body=_plain(body), partitions=partitions)

    def on_answer(self, answer: Answer) -> None:
        self._recorder.record("event", who="shim", client=self.name, body={"name": "answer", **_plain(answer.body)})

    def on_end(self, ending: Ending) -> None:
        """Record how the shim ended: a broken contract, or an exit that was asked for or not."""
        if ending.broken is not None:
            self.note("broken", reason=ending.broken, stderr=list(ending.stderr))
        else:
            shared = self.handle is not None and self.handle.shared
            how = {"status": ending.status, "how": str(ending), "gave_up": ending.gave_up}
            self.note("exit", **how, commanded=self.is_dismissed, shared=shared, stderr=list(ending.stderr))
        self.ended.set()


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the key by which a shared shim tells its members apart: the trace has the member's own name."""
    return {name: value for name, value in body.items() if name != "member"}
