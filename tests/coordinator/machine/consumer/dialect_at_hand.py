"""Lets the kit know the `consumer` dialect for a while, and the profiles of the releases that it was measured on, as far as they are not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from groupproof.coordinator.machine import function_registry
from groupproof.coordinator.machine.consumer.consumer_functions import CONSUMER_FUNCTIONS
from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.dialect_registry import dialects

__all__ = ["dialect_is_there", "profile_of"]

_MEASURED = {"kafka-4.2": (4, 2, 2), "kafka-4.3": (4, 3, 1), "kafka-4.4": (4, 4, 0)}


def profile_of(release: str) -> str:
    """Return the profile of a measured release."""
    return f"kafka-{release.rpartition('.')[0]}"


@contextmanager
def dialect_is_there() -> Iterator[None]:
    """Register what is not registered."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(RELEASES, {**_MEASURED, **RELEASES}))
        if CONSUMER not in dialects():
            stack.enter_context(function_registry.registered(CONSUMER_FUNCTIONS))
        yield
