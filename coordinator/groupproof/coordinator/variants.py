"""Named deviations from the reference coordinator: what brokers may do differently, and bugs planted to prove that the kit finds them.

`LEGAL` variants are coordinators that no case may fail. `BUGS` each break a requirement; a case must catch each of them. The mutants among
them are made from the rules of the profile (`mutants`), the others are written out. `READINGS` hold for the profiles of DataLink alone.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Final

from groupproof.coordinator.bugs_of_answers import BUGS_OF_ANSWERS
from groupproof.coordinator.bugs_of_rules import BUGS_OF_RULES
from groupproof.coordinator.datalink_readings import READINGS
from groupproof.coordinator.legal_variants import LEGAL
from groupproof.coordinator.mutants import mutants
from groupproof.coordinator.variant import Variant
from groupproof.protocol.spec import profile

__all__ = ["BUGS", "LEGAL", "READINGS", "UnknownVariant", "variant_named", "variants"]

BUGS: Final[tuple[Variant, ...]] = (*mutants(profile()), *BUGS_OF_RULES, *BUGS_OF_ANSWERS)


class UnknownVariant(ValueError):
    """There is no variant of this name; `str()` gives the nearest ones."""


@cache
def variants() -> dict[str, Variant]:
    """Return every variant by its name."""
    return {each.name: each for each in (*LEGAL, *BUGS)}


def variant_named(name: str) -> Variant:
    """Return a variant, or a reading of DataLink's design, which holds for its profiles alone; raise `UnknownVariant`."""
    known = variants() | {each.name: each for each in READINGS}
    try:
        return known[name]
    except KeyError:
        nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        raise UnknownVariant(f"no variant {name!r}" + (f"; did you mean {', '.join(nearest)}?" if nearest else "")) from None
