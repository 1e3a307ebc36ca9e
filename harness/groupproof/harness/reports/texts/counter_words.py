"""The name of a group's counter: generation in the classic protocol, epoch in protocols with member epochs (KIP-848)."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.dialect_registry import dialect_of_rule
from groupproof.protocol.trace import Observation

__all__ = ["EPOCH", "GENERATION", "counter_of"]

GENERATION: Final = "generation"
EPOCH: Final = "epoch"


def counter_of(transition: Observation) -> str:
    """Return the name of a transition's counter. For a conversion it is that of the new kind of group, although the request belongs to the other
    kind."""
    if transition.rule is None or transition.detail == "downgraded":
        return GENERATION
    return EPOCH if dialect_of_rule(transition.rule) is CONSUMER else GENERATION
