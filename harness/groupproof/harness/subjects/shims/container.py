"""A client's program that is `docker run …`. Signals must go to the container, because the process is only its messenger."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["Container"]

_ORDER_S: Final = 30
_NAME: Final = "--name"
_ORDERS: Final = {signal.SIGSTOP: "pause", signal.SIGCONT: "unpause", signal.SIGKILL: "kill"}

_numbers = itertools.count(1)


class Container:
    """A container by its name, which is chosen here unless the user did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._is_paused = False

    @classmethod
    def of(cls, argv: Sequence[str]) -> tuple[tuple[str, ...], Container | None]:
        """Return the command to start in place of `argv`, and its container. Return None as the container for any other program."""
        if len(argv) < 3 or Path(argv[0]).name != "docker" or argv[1] != "run":
            return tuple(argv), None
        for argument, following in itertools.pairwise(argv):
            if argument == _NAME or argument.startswith(f"{_NAME}="):
                return tuple(argv), cls(following if argument == _NAME else argument.partition("=")[2])
        name = f"groupproof-client-{os.getpid()}-{next(_numbers)}"
        return (*argv[:2], _NAME, name, *argv[2:]), cls(name)

    def signal(self, number: int) -> None:
        """Pause, unpause or kill it, as the signal would do to a process. A container that is gone is no error; other signals go to the messenger."""
        order = _ORDERS.get(signal.Signals(number))
        if order is None or (order == "unpause" and not self._is_paused):
            return
        self._is_paused = order == "pause"
        self._run(order, self.name)

    def remove(self) -> None:
        """Remove it, whatever its state."""
        self._run("rm", "--force", "--volumes", self.name)

    @staticmethod
    def _run(*arguments: str) -> None:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(("docker", *arguments), stdin=subprocess.DEVNULL, capture_output=True, timeout=_ORDER_S, check=False)
