"""An application with a reference consumer, for the trio pair: it polls, works, and has the faults of programs (trio)."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import trio

from groupproof.clients.consumer.consumer import Consumer, ConsumerError
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Callback
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.trace import Recorder

__all__ = ["Application"]

POLL_MS: Final = 1_000
WORK_S: Final = 0.1
CLOSE_SLACK_S: Final = 1.0
"""Extra time for a clean close. It ends by itself, at its timeout at the latest; exactly that limit would cut off its last callback."""

SUPERVISOR_S: Final = 1.0
"""As in the simulator: a program that failed for good is started again after so long."""


class Application:
    """One program at a time; `connect` reaches brokers, and the callbacks go into `recorder` like a shim's events."""

    def __init__(
        self, name: str, settings: MemberSettings, *, policy: Policy, seed: int, nursery: trio.Nursery, recorder: Recorder,
        addresses: Sequence[Address], connect: Callable[[str, int], Awaitable[trio.abc.Stream]],
    ) -> None:  # fmt: skip
        self.name = name
        self.callback_ms = 0
        self.consumer: Consumer | None = None
        self._settings, self._policy, self._seed = settings, policy, seed
        self._nursery, self._recorder, self._addresses, self._connect = nursery, recorder, addresses, connect
        self._topics = settings.topics
        self._is_wanted = False
        self._stalls = 0
        self._goes_on = trio.Event()
        self._life = trio.CancelScope()
        self._lives = 0

    # Faults

    def start(self) -> None:
        """Start the program, unless it is running."""
        self._is_wanted = True
        if self.consumer is None:
            self._nursery.start_soon(self._live)

    def crash(self) -> None:
        """End the program at once, with its connections."""
        self._is_wanted = False
        self._life.cancel()

    def leave(self) -> None:
        """Close the consumer in order; the program ends after that."""
        self._is_wanted = False
        if self.consumer is not None:
            self._nursery.start_soon(self._close, self.consumer, self._life)

    async def _close(self, consumer: Consumer, life: trio.CancelScope) -> None:
        with trio.move_on_after(self._settings.close_timeout_ms / 1000 + CLOSE_SLACK_S):
            await consumer.close()
        life.cancel()

    def upgrade(self, assignors: tuple[str, ...]) -> None:
        """Leave; the next program has these assignors."""
        self._settings = replace(self._settings, assignors=assignors)
        self.leave()

    def stall(self) -> None:
        """Keep the application from polling; its consumer continues to send heartbeats."""
        self._stalls += 1
        if self.consumer is not None:
            self.consumer.interrupt()

    def go_on(self) -> None:
        self._stalls -= 1
        self._goes_on.set()
        self._goes_on = trio.Event()

    def resubscribe(self, topics: tuple[str, ...]) -> None:
        self._topics = topics
        if self.consumer is not None:
            self.consumer.resubscribe(topics)

    # The program

    async def _live(self) -> None:
        """Run the program; start one that failed for good again, as a supervisor does."""
        self._life = trio.CancelScope()
        self._lives += 1
        self.consumer = consumer = Consumer(
            replace(self._settings, topics=self._topics), self._connect, self._addresses, client_id=self.name, listener=self._called, report=lambda _: None,
            policy=self._policy, seed=self._seed * 1_000 + self._lives,
        )  # fmt: skip
        self._note(who="kit", body={"name": "command", "command": "subscribe"})
        with self._life:
            async with trio.open_nursery() as nursery:
                await nursery.start(consumer.run)
                with contextlib.suppress(ConsumerError):
                    await self._poll(consumer)
                nursery.cancel_scope.cancel()
        self.consumer = None
        self._note(who="kit", body={"name": "exit", "how": "ended"})
        if self._is_wanted:
            await trio.sleep(SUPERVISOR_S)
            if self._is_wanted:
                self.start()

    async def _poll(self, consumer: Consumer) -> None:
        while True:
            if self._stalls:
                await self._goes_on.wait()
            elif await consumer.poll(min(POLL_MS, self._settings.max_poll_interval_ms // 4)):
                await trio.sleep(WORK_S)
            else:
                await trio.lowlevel.checkpoint()

    async def _called(self, callback: Callback) -> None:
        body = {"name": f"partitions_{callback.kind.value}", "member_id": callback.member_id, "generation": callback.generation}
        self._note(who="shim", partitions=tuple(sorted(callback.partitions)), body=body)
        await trio.sleep(self.callback_ms / 1000)

    def _note(self, **columns: Any) -> None:
        self._recorder.record("event", client=self.name, **columns)
