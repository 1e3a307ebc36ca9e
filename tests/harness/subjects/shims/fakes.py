"""Programs and listeners for tests of what hosts a member."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import trio

from groupproof.harness.subjects.shims.contract_lines import Answer
from groupproof.harness.subjects.shims.conversation import Ending
from groupproof.harness.subjects.shims.shim_process import Program

__all__ = ["FAKE_SHIM", "AlwaysUp", "Heard", "fake"]

FAKE_SHIM = Path(__file__).with_name("fake_shim.py")


def fake(how: str, *capabilities: str, **env: str) -> Program:
    """Return the fake shim that misbehaves as `how` says."""
    return Program(argv=(sys.executable, "-I", "-S", str(FAKE_SHIM), how, *capabilities), env=env)


class Heard:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.answers: list[Answer] = []
        self.endings: list[Ending] = []
        self.ended = trio.Event()
        self.spoken = trio.Event()

    def on_event(self, body: dict[str, Any]) -> None:
        self.events.append(body)
        self.spoken.set()

    def on_answer(self, answer: Answer) -> None:
        self.answers.append(answer)

    def on_end(self, ending: Ending) -> None:
        self.endings.append(ending)
        self.ended.set()


class AlwaysUp:
    """Of brokers behind a network: they listen as long as it is open."""

    def is_up(self, node_id: int) -> bool:
        return True

    async def turned(self, node_id: int) -> None:
        await trio.sleep_forever()
