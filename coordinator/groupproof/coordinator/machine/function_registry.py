"""The registry of the dialects' functions. A new dialect registers its functions here; a test registers some temporarily."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.datalink_functions import datalink_functions
from groupproof.protocol.rules import dialect_registry
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

if TYPE_CHECKING:
    from groupproof.coordinator.machine.dialect_functions import DialectFunctions
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["DATALINK_FUNCTIONS", "functions_of", "registered", "registered_functions"]

DATALINK_FUNCTIONS: Final = datalink_functions(CLASSIC_FUNCTIONS)
_FUNCTIONS: Final[dict[Dialect, DialectFunctions]] = {
    dialect_functions.dialect: dialect_functions for dialect_functions in (CLASSIC_FUNCTIONS, DATALINK_FUNCTIONS)
}


def functions_of(dialect: Dialect) -> DialectFunctions:
    """Return the functions of a dialect; raise `LookupError` where it has none."""
    functions = _functions()
    if dialect not in functions:
        raise LookupError(f"the dialect {dialect.name} has no functions here: the coordinator does not speak it")
    return functions[dialect]


def registered_functions() -> tuple[DialectFunctions, ...]:
    """Return the functions of every dialect that the coordinator speaks."""
    return tuple(_functions().values())


def _functions() -> dict[Dialect, DialectFunctions]:
    """Return the registered functions.

    The consumer dialect's assignors and regular expressions are loaded only when the first coordinator needs them.
    """
    if CONSUMER not in _FUNCTIONS:
        from groupproof.coordinator.machine.consumer.consumer_functions import CONSUMER_FUNCTIONS

        _FUNCTIONS[CONSUMER] = CONSUMER_FUNCTIONS
    return _FUNCTIONS


@contextmanager
def registered(functions: DialectFunctions) -> Iterator[None]:
    """Register a dialect and its functions for the duration of the context."""
    with dialect_registry.registered(functions.dialect):
        _FUNCTIONS[functions.dialect] = functions
        try:
            yield
        finally:
            del _FUNCTIONS[functions.dialect]
