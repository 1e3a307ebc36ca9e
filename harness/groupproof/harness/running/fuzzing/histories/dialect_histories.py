"""How histories of a dialect are drawn: the part that the dialect brings for fuzzing its coordinators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.model.dialect_parts import DialectPart
from groupproof.harness.model.script import Ask
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.histories.moves import Actor, Move

__all__ = ["DialectHistories"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectHistories(DialectPart):
    """`moves` are what a member may do next, `malformed` puts one field of such a request wrong. `settings` are the broker settings, by their dotted names, that
    a short history needs beside those of all (`coordinator_fuzz.KINDS`), `settings_of_kinds` those that it needs beside each of them, in their order. `topics` are the ones there
    are, with their partitions; `own_topic`, where there is one, comes and grows in the course of the history."""

    moves: tuple[Move, ...]
    malformed: Callable[[ChoiceSource, Ask, Actor], Ask]
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_of_kinds: tuple[Mapping[str, Any], ...] = ()
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    own_topic: str | None = None
