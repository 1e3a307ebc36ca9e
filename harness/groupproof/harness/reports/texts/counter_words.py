"""What a group counts: generations in the classic protocol, epochs in those whose members have one (KIP-848)."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.dialect_registry import dialect_of_rule
from groupproof.protocol.trace import Observation

__all__ = ["EPOCH", "GENERATION", "counter_of"]

GENERATION: Final = "generation"
EPOCH: Final = "epoch"


def counter_of(transition: Observation) -> str:
    """Return what the number of a transition is; of a conversion, what the kind of group counts that it makes: the request that brings it is of the other kind."""
    if transition.rule is None or transition.detail == "downgraded":
        return GENERATION
    return EPOCH if dialect_of_rule(transition.rule) is CONSUMER else GENERATION
