"""Named deviations from the reference member: legal variants of released clients, and bugs planted to prove that the kit finds them.

`LEGAL` variants are clients that no case may fail. Each of `MISBEHAVIOURS` breaks a requirement, and a case must catch it. `WORKERS` are bugs
of a Kafka Connect worker, which the cases for workers catch. `THREADS` are bugs of a Kafka Streams thread. `EPOCH_BUGS` and `LEGAL_EPOCHS`
are deviations of a member of the `consumer` protocol.
"""

from __future__ import annotations

import difflib
from typing import Final

from groupproof.clients.planted.legal_variants_of_clients import LEGAL
from groupproof.clients.planted.legal_variants_of_epochs import LEGAL_EPOCHS
from groupproof.clients.planted.member_variant import UnknownVariant, Variant
from groupproof.clients.planted.misbehaviours_of_choices import CHOICES
from groupproof.clients.planted.misbehaviours_of_epochs import EPOCH_BUGS
from groupproof.clients.planted.misbehaviours_of_reactions import REACTIONS
from groupproof.clients.planted.misbehaviours_of_threads import THREADS
from groupproof.clients.planted.misbehaviours_of_workers import WORKERS

__all__ = ["EPOCH_BUGS", "LEGAL", "LEGAL_EPOCHS", "MISBEHAVIOURS", "THREADS", "VARIANTS", "WORKERS", "UnknownVariant", "Variant", "variant_named"]

MISBEHAVIOURS: Final[tuple[Variant, ...]] = (*REACTIONS, *CHOICES)
VARIANTS: Final[dict[str, Variant]] = {variant.name: variant for variant in (*LEGAL, *MISBEHAVIOURS, *WORKERS, *THREADS, *EPOCH_BUGS, *LEGAL_EPOCHS)}


def variant_named(name: str) -> Variant:
    """Return the variant with this name. Raise `UnknownVariant` if there is none."""
    try:
        return VARIANTS[name]
    except KeyError:
        nearest = difflib.get_close_matches(name, VARIANTS, n=3, cutoff=0.5)
        raise UnknownVariant(f"no variant {name!r}" + (f"; did you mean {', '.join(nearest)}?" if nearest else "")) from None
