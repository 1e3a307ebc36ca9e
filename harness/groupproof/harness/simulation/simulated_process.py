"""What happens to a simulated program, whatever dialect its client speaks: it starts, ends, is frozen and goes on; what comes meanwhile waits."""

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
    """One client program. `is_up` while it runs, `is_wanted` whether it is to run; faults call what they do to it.

    A dialect's process says what a program is when it begins (`_begin`), what it does when it runs (`_run`), when it is to leave in order, and when an answer
    or the end of a connection comes in. What it can't do (poll, subscribe to more, change its assignor) it need not say.
    """

    def __init__(self, name: str, *, network: Network, record: Record) -> None:
        self.name = name
        self._network, self._record = network, record
        self.is_up = self.is_frozen = False
        self.is_wanted = False  # whether it is to run, or to be started again
        self.stalls = 0  # faults that keep the application from polling
        self.callback_ms = 0
        self._life = 0
        self._frozen: list[Callable[[], None]] = []

    @abstractmethod
    def _begin(self) -> None:
        """Be as a program is that was just started."""

    @abstractmethod
    def _run(self) -> None:
        """Do what a program does that has just been started, or that goes on."""

    @abstractmethod
    def leave(self) -> None:
        """Let the application close its client in order; the program ends when that is done."""

    @abstractmethod
    def answered(self, connection: Connection, request_id: int, answer: Answer) -> None:
        """Take an answer."""

    @abstractmethod
    def lost(self, connection: Connection, unanswered: list[int]) -> None:
        """Take it that a connection ended."""

    def start(self) -> None:
        """Start the program, unless it runs."""
        self.is_wanted = True
        if self.is_up:
            return
        self._life += 1
        self._begin()
        self.is_up, self.is_frozen = True, False
        self._record.process(self.name, "starts")
        self._run()

    def crash(self) -> None:
        """End the program at once, with its connections."""
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
        """Take note that the program has ended."""
        return

    def freeze(self) -> bool:
        """Stop the whole program, as SIGSTOP does; return whether it ran."""
        was_running = self.is_up and not self.is_frozen
        self.is_frozen = self.is_up
        if was_running:
            self._record.process(self.name, "freeze")
        return was_running

    def thaw(self) -> None:
        """Let the program go on with what came meanwhile."""
        if not self.is_frozen:
            return
        self.is_frozen = False
        self._record.process(self.name, "thaw")
        missed, self._frozen = self._frozen, []
        for act in missed:
            self._whenever_running(act)
        self._go_on()

    def _go_on(self) -> None:
        """Do what a program does that was frozen or kept from polling."""
        return

    def stall(self) -> None:
        """Keep the application from polling; the heartbeats of its client go on."""
        self.stalls += 1

    def go_on(self) -> None:
        """Let the application poll again."""
        self.stalls -= 1
        self._go_on()

    def upgrade(self, assignors: tuple[str, ...]) -> None:
        """Let the application close its client in order; the program that is started next has these assignors, where clients have any."""
        self.leave()

    def switch(self) -> bool:
        """Let the application close its client in order; the program that is started next speaks another protocol. Return False where there is none."""
        return False

    def resubscribe(self, topics: tuple[str, ...]) -> bool:
        """Let the application change its topics; return False where it has none to change."""
        return False

    def _whenever_running(self, act: Callable[[], None]) -> None:
        """Do it now, or, of a frozen program, when it goes on; a program that ended meanwhile does nothing."""
        if self.is_frozen:
            self._frozen.append(partial(self._in_life, self._life, act))
        else:
            act()

    def _in_life(self, life: int, act: Callable[[], None]) -> None:
        if self.is_up and self._life == life:
            self._whenever_running(act)
