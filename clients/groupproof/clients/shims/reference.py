"""The reference member as a shim: contract level 1 with `multi`, so one process runs any number of members.

`run_shim` works on any lines and any transport, also in virtual time. `python -m groupproof.clients.shims.reference` uses stdio and TCP.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import platform
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, Final

import click
import trio

from groupproof.clients.consumer.connection import Connect
from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.planted.member_variant import UnknownVariant
from groupproof.clients.shims.reference_member import ShimMember
from groupproof.clients.shims.subscribe_settings import NotImplementedHere, Subscribe, WrongField
from groupproof.protocol.kit_release import release

__all__ = ["CAPABILITIES", "main", "run_shim"]

CAPABILITIES: Final = (
    "classic", "consumer", "regex", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked", "resubscribe", "close-timeout", "multi",
    "connect", "streams",
)  # fmt: skip
_COMMANDS: Final = frozenset(
    {"resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close"}
)  # the commands of one member; `subscribe` and `exit` belong to the process
_EXIT: Final = '{"command":"exit"}'
_LINES_MAX: Final = 10_000
_log = logging.getLogger(__name__)

Body = dict[str, Any]


async def run_shim(
    lines: AsyncIterator[str],
    emit: Callable[[str], Awaitable[None]],
    connect: Connect,
    *,
    seed: int,
    variant: str | None = None,
) -> None:
    """Send hello, run the commands in `lines` until they end or `exit` comes, then close all members.

    `variant` names the deviation of every member. The property `groupproof.variant` of a `subscribe` overrides it. Raise
    `UnknownVariant` if there is no such variant.
    """
    policy = REFERENCE if variant is None else _policy_named(variant)
    async with trio.open_nursery() as nursery:
        writer = _LineWriter(emit, policy.line_delay_ms / 1000)
        nursery.start_soon(writer.run)
        await _Process(nursery, writer, connect, seed, policy).run(lines)
        await writer.flush()
        nursery.cancel_scope.cancel()


def _policy_named(variant: str) -> Policy:
    from groupproof.clients.planted.member_variants import variant_named  # imported here because it defines hundreds of variants

    return variant_named(variant).policy


class _LineWriter:
    """Writes lines one after the other, in their order."""

    def __init__(self, emit: Callable[[str], Awaitable[None]], delay_s: float = 0.0) -> None:
        self._emit, self._delay_s = emit, delay_s
        self._to_write, self._to_emit = trio.open_memory_channel[tuple[float, str] | trio.Event](_LINES_MAX)

    def write(self, body: Body) -> None:
        self._to_write.send_nowait((trio.current_time() + self._delay_s, json.dumps(body, separators=(",", ":"))))

    async def flush(self) -> None:
        """Wait until every line so far is written. With a delay, return at once."""
        if self._delay_s:
            return
        flushed = trio.Event()
        await self._to_write.send(flushed)
        await flushed.wait()

    async def run(self) -> None:
        async for item in self._to_emit:
            if isinstance(item, trio.Event):
                item.set()
            else:
                due, line = item
                if due > trio.current_time():
                    await trio.sleep_until(due)
                await self._emit(line)


class _Process:
    """The members of one process by name. A kit that does not use `multi` uses the empty name."""

    def __init__(self, nursery: trio.Nursery, writer: _LineWriter, connect: Connect, seed: int, policy: Policy) -> None:
        self._nursery, self._writer, self._connect, self._seed, self._policy = nursery, writer, connect, seed, policy
        self._members: dict[str, ShimMember] = {}
        self._ended = trio.Event()

    async def run(self, lines: AsyncIterator[str]) -> None:
        if self._policy.start_ms:
            await trio.sleep(self._policy.start_ms / 1000)
        self._writer.write(_hello(self._policy))
        async for line in lines:
            if line.strip() and not self._obey(line):
                break
        if isinstance(lines, AsyncGenerator):
            await lines.aclose()
        await self._close_all()

    async def _close_all(self) -> None:
        for member in list(self._members.values()):
            member.command({"command": "close"})
        while self._members:
            await self._ended.wait()

    def _obey(self, line: str) -> bool:
        """Run the command of one line. Return False if it was `exit`."""
        try:
            command = json.loads(line)
        except ValueError:
            command = None
        if not isinstance(command, dict) or not isinstance(command.get("command"), str):
            _log.warning("not a command: %s", line.strip()[:200])
            return True
        name = str(command.get("member") or "")
        if command["command"] == "exit":
            self._answer(command, ok=True)
            return False
        if command["command"] == "subscribe":
            self._subscribe(command, name)
        elif command["command"] not in _COMMANDS:
            self._answer(command, unimplemented=f"no command {command['command']}")
        elif not self._has(name):
            self._answer(command, error="ILLEGAL_STATE", message=f"there is no member {name!r}", fatal=False)
        else:
            self._members[name].command(command)
        return True

    def _subscribe(self, command: Body, name: str) -> None:
        try:
            variant = Subscribe.variant_in(command)
            policy = self._policy if variant is None else _policy_named(variant)
            subscribe = Subscribe.of(command, policy.own_settings)
            subscribe.check_against(policy)
        except NotImplementedHere as lacking:
            self._answer(command, unimplemented=str(lacking))
            return
        except (WrongField, UnknownVariant) as error:
            self._answer(command, error="INVALID_CONFIG", message=str(error), fatal=False)
            return
        if self._has(name):
            self._answer(command, error="ILLEGAL_STATE", message=f"member {name!r} has subscribed already", fatal=False)
            return
        report = functools.partial(self._write, name)
        member = ShimMember(subscribe, self._connect, report, self._writer.flush, policy=policy, seed=self._seed)
        self._members[name] = member
        report({"name": "startup_complete"})
        self._nursery.start_soon(self._live, name, member)
        self._answer(command, ok=True, ignored=list(subscribe.ignored))

    def _has(self, name: str) -> bool:
        """Return whether the name belongs to an open member. The name of a closed member is free again."""
        return name in self._members and not self._members[name].is_closed

    async def _live(self, name: str, member: ShimMember) -> None:
        await member.run()
        if self._members[name] is member:
            del self._members[name]
        self._ended.set()
        self._ended = trio.Event()

    def _answer(self, command: Body, **fields: Any) -> None:
        if "id" in command:
            self._write(str(command.get("member") or ""), {"id": command["id"], **fields})

    def _write(self, name: str, body: Body) -> None:
        self._writer.write(body | {"member": name} if name else body)


def _hello(policy: Policy) -> Body:
    lacking = policy.lacks | {name for name, can in (("static", policy.can_be_static), ("cooperative", policy.can_cooperate)) if not can}
    capabilities = [capability for capability in CAPABILITIES if capability not in lacking]
    language = f"python {platform.python_version()}"
    return {"name": "hello", "contract": 1, "client": "groupproof", "version": release(), "language": language, "capabilities": capabilities}


async def _connect_tcp(host: str, port: int) -> trio.SocketStream:
    return await trio.open_tcp_stream(host, port)


async def _stdio(seed: int, variant: str | None) -> None:
    """Run until the end of stdin, `exit` or SIGTERM. Each of them closes the members."""
    stdout = trio.wrap_file(sys.stdout)

    async def emit(line: str) -> None:
        await stdout.write(line + "\n")
        await stdout.flush()

    commands, to_obey = trio.open_memory_channel[str](0)
    async with trio.open_nursery() as nursery:
        await nursery.start(_await_term, commands)  # before hello; after hello a SIGTERM may come at any time
        nursery.start_soon(_read_stdin, commands)
        await run_shim(aiter(to_obey), emit, _connect_tcp, seed=seed, variant=variant)
        nursery.cancel_scope.cancel()


async def _read_stdin(commands: trio.MemorySendChannel[str]) -> None:
    rest = b""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as stdin:
        async for data in stdin:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                await commands.send(line.decode(errors="replace"))
    await commands.send(_EXIT)


async def _await_term(commands: trio.MemorySendChannel[str], task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            await commands.send(_EXIT)


@click.command()
@click.option("--variant", help="Run a named variant of the reference member.")
@click.option("--seed", default=0, show_default=True, help="Seed of the member's random choices.")
def main(variant: str | None, seed: int) -> None:
    """Speak the shim contract on stdin and stdout."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    try:
        if variant is not None:
            _policy_named(variant)
    except UnknownVariant as error:
        raise click.UsageError(str(error)) from error
    trio.run(_stdio, seed, variant)


if __name__ == "__main__":
    main()
