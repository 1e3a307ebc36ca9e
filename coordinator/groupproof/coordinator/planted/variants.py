"""Named deviations from the reference coordinator: what brokers may do differently, and bugs planted to prove that the kit finds them.

`LEGAL` variants are coordinators that no case may fail. Each of `BUGS` breaks a requirement, and a case must catch it. The mutants among
them are made from the rules of the profile (`mutants`); the others are written by hand. `READINGS` are for the profiles of DataLink alone.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Final

from groupproof.coordinator.machine.function_registry import registered_functions
from groupproof.coordinator.machine.variant import Variant
from groupproof.coordinator.planted.answer_bugs import BUGS_OF_ANSWERS
from groupproof.coordinator.planted.consumer_answer_bugs import BUGS_OF_CONSUMER_ANSWERS
from groupproof.coordinator.planted.datalink_readings import READINGS
from groupproof.coordinator.planted.legal_variants import LEGAL
from groupproof.coordinator.planted.other_targets import BUGS_OF_TARGETS
from groupproof.coordinator.planted.rule_bugs import BUGS_OF_RULES
from groupproof.coordinator.planted.rule_mutants import mutants
from groupproof.protocol.rules import ClassicEvent, profile

__all__ = ["BUGS", "LEGAL", "OF_OTHER_DIALECTS", "READINGS", "UnknownVariant", "variant_named", "variants"]

_CLASSIC_EVENTS: Final = frozenset(event.value for event in ClassicEvent)


def _is_classic(mutant: Variant) -> bool:
    """Return whether a mutant changes the classic dialect's rules for its own groups."""
    return not mutant.dialect and mutant.name.split("/")[1] in _CLASSIC_EVENTS


BUGS: tuple[Variant, ...]
OF_OTHER_DIALECTS: tuple[Variant, ...]
"""Mutants of the consumer dialect's rules: its measured answers and histories catch them; not every one has a case yet."""


def __getattr__(name: str) -> tuple[Variant, ...]:
    """Make the planted bugs on first use: some 1,800 mutants take longer than all other imports of a broker's start."""
    match name:
        case "BUGS":
            return _bugs()
        case "OF_OTHER_DIALECTS":
            return tuple(mutant for mutant in _mutants() if not _is_classic(mutant))
    raise AttributeError(name)


@cache
def _mutants() -> tuple[Variant, ...]:
    return tuple(mutants(profile()))


@cache
def _bugs() -> tuple[Variant, ...]:
    return (*filter(_is_classic, _mutants()), *BUGS_OF_RULES, *BUGS_OF_ANSWERS, *BUGS_OF_CONSUMER_ANSWERS, *BUGS_OF_TARGETS)


class UnknownVariant(ValueError):
    """There is no variant of this name; `str()` gives the nearest ones."""


@cache
def variants() -> dict[str, Variant]:
    """Return every variant by its name."""
    return {variant.name: variant for variant in (*LEGAL, *_bugs())}


def variant_named(name: str) -> Variant:
    """Return a variant, or one that a dialect has for its profiles alone (such as the readings of DataLink's design); raise `UnknownVariant`."""
    of_dialects = (variant for functions in registered_functions() for variant in functions.planted)
    named = variants() | {variant.name: variant for variant in (*READINGS, *_mutants(), *of_dialects)}
    try:
        return named[name]
    except KeyError:
        nearest = difflib.get_close_matches(name, named, n=3, cutoff=0.5)
        raise UnknownVariant(f"no variant {name!r}" + (f"; did you mean {', '.join(nearest)}?" if nearest else "")) from None
