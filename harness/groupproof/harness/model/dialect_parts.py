"""What the harness knows of a dialect, in parts: a room has a class for what it needs, the dialect brings an object of it, and the room asks here. Pure.

The rules and the machine have their halves of a dialect already (decision 0014). The harness has one part for each thing that it does: it reads frames
into memberships, checks groups, simulates, and draws histories. A dialect without a part is not read, checked, simulated or drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from groupproof.coordinator.machine.dialect_functions import DialectFunctions
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["DialectPart", "PartRegistry", "on_part_change", "registered"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectPart:
    """What one room of the harness knows of a dialect; each room has a subclass."""

    dialect: Dialect


Part = TypeVar("Part", bound=DialectPart)

_VISITORS: Final[list[DialectPart]] = []
_LISTENERS: Final[list[Callable[[], None]]] = []


class PartRegistry(Generic[Part]):
    """The parts of one room: the `residents`, which are there for good, and those that a test brings for a while.

    `loads` return more residents when the first part is asked for: a registry that many modules import stands on few itself.
    """

    def __init__(self, kind: type[Part], *residents: Part, loads: tuple[Callable[[], Part], ...] = ()) -> None:
        self._kind, self._residents, self._loads = kind, residents, loads

    def of(self, dialect: Dialect) -> Part | None:
        """Return the dialect's part, None where it has none."""
        return next((part for part in self.all() if part.dialect is dialect), None)

    def all(self) -> tuple[Part, ...]:
        """Return every part, the residents first."""
        if self._loads:
            self._residents, self._loads = (*self._residents, *(load() for load in self._loads)), ()
        return (*self._residents, *(part for part in _VISITORS if isinstance(part, self._kind)))


@contextmanager
def registered(functions: DialectFunctions, *parts: DialectPart) -> Iterator[None]:
    """Let the whole kit know one more dialect meanwhile: its rules, its functions, and its parts in the rooms of the harness."""
    from groupproof.coordinator.machine.function_registry import registered as with_functions  # who asks for a part needs no machine

    if stranger := next((part for part in parts if part.dialect is not functions.dialect), None):
        raise ValueError(f"a part is of {stranger.dialect.name}, where {functions.dialect.name} is registered")
    with with_functions(functions):
        _VISITORS.extend(parts)
        _changed()
        try:
            yield
        finally:
            for part in parts:
                _VISITORS.remove(part)
            _changed()


def on_part_change(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` whenever parts come or go, so that it forgets what it made of them; return it."""
    _LISTENERS.append(listener)
    return listener


def _changed() -> None:
    for listener in _LISTENERS:
        listener()
