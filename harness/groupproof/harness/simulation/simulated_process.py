"""The life of a simulated program of any dialect: it starts, ends, freezes and thaws. Inputs during a freeze wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupproof.harness.simulation.record import Record
    from groupproof.harness.simulation.simulated_network import Answer, Connection, Network

__all__ = ["SimulatedProcess"]


class SimulatedProcess(ABC):
    """One client program. `is_up` while it runs, `is_wanted` if it should run. Faults call its methods.

    A dialect's process implements the start (`_begin`, `_run`), the clean close, and the inputs: an answer or the end of a connection.
    Features that it lacks (polls, more topics, other assignors) keep their defaults.
    """

    def __init__(self, name: str, *, network: Network, record: Record) -> None:
        self.name = name
        self._network, self._record = network, record
        self.is_up = self.is_frozen = False
        self.is_wanted = False  # whether it should run, or be restarted
        self.stalls = 0  # faults that keep the application from polling
        self.callback_ms = 0
        self._life = 0
        self._frozen: list[Callable[[], None]] = []

    @abstractmethod
    def _begin(self) -> None:
        """Reset the state for a newly started program."""

    @abstractmethod
    def _run(self) -> None:
        """Run a newly started program."""

    @abstractmethod
    def leave(self) -> None:
        """Let the application close its client cleanly. The program then ends."""

    @abstractmethod
    def answered(self, connection: Connection, request_id: int, answer: Answer) -> None:
        """Handle an answer."""

    @abstractmethod
    def lost(self, connection: Connection, unanswered: list[int]) -> None:
        """Handle the end of a connection."""

    def start(self) -> None:
        """Start the program unless it runs."""
        self.is_wanted = True
        if self.is_up:
            return
        self._life += 1
        self._begin()
        self.is_up, self.is_frozen = True, False
        self._record.process(self.name, "starts")
        self._run()

    def crash(self) -> None:
        """End the program and its connections at once."""
        self.is_wanted = False
        self._end()

    def _end(self) -> None:
        if not self.is_up:
            return
        self.is_up = self.is_frozen = False
        self._frozen.clear()
        self._network.close(self)
        self._ended()
        self._record.process(self.name, "ends")

    def _ended(self) -> None:
        """React to the end of the program."""
        return

    def freeze(self) -> bool:
        """Freeze the whole program, as SIGSTOP does. Return whether it ran."""
        was_running = self.is_up and not self.is_frozen
        self.is_frozen = self.is_up
        if was_running:
            self._record.process(self.name, "freeze")
        return was_running

    def thaw(self) -> None:
        """Resume the program with the inputs that came meanwhile."""
        if not self.is_frozen:
            return
        self.is_frozen = False
        self._record.process(self.name, "thaw")
        missed, self._frozen = self._frozen, []
        for act in missed:
            self._whenever_running(act)
        self._go_on()

    def _go_on(self) -> None:
        """Continue after a freeze or a stall."""
        return

    def stall(self) -> None:
        """Stop the application's polls. The heartbeats of its client continue."""
        self.stalls += 1

    def go_on(self) -> None:
        """Let the application poll again."""
        self.stalls -= 1
        self._go_on()

    def upgrade(self, assignors: tuple[str, ...]) -> None:
        """Close the client cleanly. The next program has these assignors, if its client supports assignors."""
        self.leave()

    def switch(self) -> bool:
        """Close the client cleanly. The next program speaks another protocol. Return False if there is none."""
        return False

    def resubscribe(self, topics: tuple[str, ...]) -> bool:
        """Change the application's topics. Return False if it cannot change them."""
        return False

    def _whenever_running(self, act: Callable[[], None]) -> None:
        """Run `act` now, or after the thaw if the program is frozen. Skip it if the program ended meanwhile."""
        if self.is_frozen:
            self._frozen.append(partial(self._in_life, self._life, act))
        else:
            act()

    def _in_life(self, life: int, act: Callable[[], None]) -> None:
        if self.is_up and self._life == life:
            self._whenever_running(act)
