"""The functions of each dialect: a new dialect's are registered here, or for a while by a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.datalink_functions import datalink_functions
from groupproof.protocol.rules import dialect_registry

if TYPE_CHECKING:
    from groupproof.coordinator.machine.dialect_functions import DialectFunctions
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["DATALINK_FUNCTIONS", "functions_of", "previewed", "registered", "registered_functions"]

DATALINK_FUNCTIONS: Final = datalink_functions(CLASSIC_FUNCTIONS)
_FUNCTIONS: Final[dict[Dialect, DialectFunctions]] = {
    dialect_functions.dialect: dialect_functions for dialect_functions in (CLASSIC_FUNCTIONS, DATALINK_FUNCTIONS)
}


def functions_of(dialect: Dialect) -> DialectFunctions:
    """Return the functions of a dialect; raise `LookupError` for one that has none."""
    if dialect not in _FUNCTIONS:
        raise LookupError(f"the dialect {dialect.name} has no functions here: the coordinator does not speak it")
    return _FUNCTIONS[dialect]


def registered_functions() -> tuple[DialectFunctions, ...]:
    """Return the functions of every dialect that the coordinator speaks."""
    return tuple(_FUNCTIONS.values())


@contextmanager
def registered(functions: DialectFunctions) -> Iterator[None]:
    """Let the kit know one more dialect meanwhile, with its functions."""
    with dialect_registry.registered(functions.dialect):
        _FUNCTIONS[functions.dialect] = functions
        try:
            yield
        finally:
            del _FUNCTIONS[functions.dialect]


def previewed(name: str) -> AbstractContextManager[None]:
    """Let the kit know the dialect of that name meanwhile, which the coordinator speaks and no profile has by itself yet; raise `LookupError` for another."""
    from groupproof.coordinator.machine.consumer.consumer_functions import CONSUMER_FUNCTIONS  # which nobody waits for who does not ask for it

    if name != CONSUMER_FUNCTIONS.dialect.name:
        raise LookupError(f"no dialect called {name!r} is to be tried")
    return registered(CONSUMER_FUNCTIONS)
