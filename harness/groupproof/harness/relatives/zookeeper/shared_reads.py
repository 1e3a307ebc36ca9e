"""Long lists of reads in pieces, shared: members of a group that read the same at the same state hold the same pieces, or a large group would fill memory."""

from __future__ import annotations

from itertools import chain
from typing import Final

from groupproof.protocol.relatives.zookeeper_messages import Answer, GetEach

__all__ = ["PIECE", "Pieces"]

PIECE: Final = 256
_KEPT_MAX: Final = 64


class Pieces:
    """`of` cuts a list at every 256 names; `joined` puts the answers together. What is equal by identity is made once."""

    def __init__(self) -> None:
        self._cut: dict[int, tuple[tuple[str, ...], tuple[GetEach, ...]]] = {}
        self._joined: dict[tuple[int, ...], tuple[tuple[Answer, ...], Answer]] = {}

    def of(self, operation: GetEach, number: int) -> GetEach:
        """Return the piece of that number, from 0."""
        kept = self._cut.get(id(operation.names))
        if kept is None:
            if len(self._cut) >= _KEPT_MAX:
                self._cut.clear()
            names = operation.names
            pieces = tuple(GetEach(operation.parent, names[start : start + PIECE]) for start in range(0, len(names), PIECE))
            kept = self._cut[id(names)] = names, pieces
        return kept[1][number]

    @staticmethod
    def are_left(operation: GetEach, read: int) -> bool:
        """Tell whether there are more pieces than those that were read."""
        return read * PIECE < len(operation.names)

    def joined(self, answers: tuple[Answer, ...]) -> Answer:
        """Return the answer to the whole list: the last piece says how it ended."""
        if len(answers) == 1:
            return answers[0]
        key = tuple(map(id, answers))
        kept = self._joined.get(key)
        if kept is None:
            if len(self._joined) >= _KEPT_MAX:
                self._joined.clear()
            values = tuple(chain.from_iterable(answer.values for answer in answers))
            kept = self._joined[key] = answers, Answer(answers[-1].code, values=values)
        return kept[1]
