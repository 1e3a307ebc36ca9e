"""The part of a dialect that says how its random histories are made, for fuzzing coordinators."""

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
    """`moves` are the possible next requests of a member, and `malformed` makes one field of a request invalid. `settings` are the broker
    settings, by their dotted names, that a short history needs beside the common ones (`coordinator_fuzz.KINDS`); `settings_of_kinds` are those
    beside each of them, in their order. `topics` are the existing topics with their numbers of partitions. `own_topic`, if any, is created and
    grows during the history."""

    moves: tuple[Move, ...]
    malformed: Callable[[ChoiceSource, Ask, Actor], Ask]
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_of_kinds: tuple[Mapping[str, Any], ...] = ()
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    own_topic: str | None = None
