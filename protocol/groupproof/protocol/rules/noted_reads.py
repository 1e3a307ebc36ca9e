"""Notes which fields and rows of a release something reads: with other rules in the places that it does not read, it comes to the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["NotedFields", "Reads", "note_row", "noting"]


@dataclass(frozen=True, slots=True)
class Reads:
    """The fields that were read, and by the cell's name the number of the last row whose guard was asked. Checks before the group are a cell, too."""

    fields: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)


_NOTES: Final[ContextVar[Reads | None]] = ContextVar("what is read", default=None)


class NotedFields(dict[str, int]):
    """The values of fields that differ by release. Within `noting` they note which of them are read."""

    def __getitem__(self, name: str) -> int:
        _note_field(name)
        return dict.__getitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        _note_field(name)
        return dict.get(self, name, default)


@contextmanager
def noting() -> Iterator[Reads]:
    """Note what is read meanwhile."""
    notes = Reads()
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def note_row(cell: str, number: int) -> None:
    """Note that the guard of a cell's row was asked."""
    notes = _NOTES.get()
    if notes is not None:
        notes.rows[cell] = max(number, notes.rows.get(cell, 0))


def _note_field(name: str) -> None:
    notes = _NOTES.get()
    if notes is not None:
        notes.fields.add(name)
