"""What each room of the harness knows of a dialect, as an object that the dialect registers and the room looks up. Pure.

The rules and the machine already have their halves of a dialect (decision 0014). The harness has one part for each thing that it does: it reads
frames into memberships, checks groups, simulates, and draws histories. Without a part, the harness does not do that thing for the dialect.
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
    """What one room of the harness knows of a dialect. Each room has a subclass."""

    dialect: Dialect


Part = TypeVar("Part", bound=DialectPart)

_VISITORS: Final[list[DialectPart]] = []
_LISTENERS: Final[list[Callable[[], None]]] = []


class PartRegistry(Generic[Part]):
    """The parts of one room: the permanent `built_in`, and those that a test registers for a while.

    `loads` return more residents at the first lookup. So a registry that many modules import depends on few itself.
    """

    def __init__(self, kind: type[Part], *built_in: Part, loads: tuple[Callable[[], Part], ...] = ()) -> None:
        self._kind, self._built_in, self._loads = kind, built_in, loads

    def of(self, dialect: Dialect) -> Part | None:
        """Return the dialect's part, or None."""
        return next((part for part in self.all() if part.dialect is dialect), None)

    def all(self) -> tuple[Part, ...]:
        """Return every part, the residents first."""
        if self._loads:
            self._built_in, self._loads = (*self._built_in, *(load() for load in self._loads)), ()
        return (*self._built_in, *(part for part in _VISITORS if isinstance(part, self._kind)))


@contextmanager
def registered(functions: DialectFunctions, *parts: DialectPart) -> Iterator[None]:
    """Register one more dialect with the whole kit for the body: its rules, its functions, and its parts in the rooms of the harness."""
    from groupproof.coordinator.machine.function_registry import registered as with_functions  # a module that looks up a part needs no machine

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
    """Return `listener`. It is called whenever parts are added or removed, so that it clears what it derived from them."""
    _LISTENERS.append(listener)
    return listener


def _changed() -> None:
    for listener in _LISTENERS:
        listener()
