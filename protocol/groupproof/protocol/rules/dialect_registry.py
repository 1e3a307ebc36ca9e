"""The registered dialects, in the order of the documents. A new dialect is registered here; a test can register one temporarily."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from groupproof.protocol.rules.cells import NO_GROUP, state_name
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK
from groupproof.protocol.rules.dialect import Dialect, Relative
from groupproof.protocol.wire.message_conversion import add_messages
from groupproof.protocol.wire.observation_columns import add_columns, registered_columns

__all__ = ["dialect_named", "dialect_of_rule", "dialects", "on_change", "registered", "relative_named"]

_DIALECTS: Final[list[Dialect]] = [CLASSIC, CONSUMER, DATALINK]
_LISTENERS: Final[list[Callable[[], None]]] = []

for _dialect in _DIALECTS:
    add_messages(_dialect.messages)
    add_columns(_dialect.columns)


def dialects() -> tuple[Dialect, ...]:
    """Return every dialect."""
    return tuple(_DIALECTS)


def dialect_named(name: str) -> Dialect:
    """Return the dialect with this name; raise `LookupError` that lists the existing ones."""
    for dialect in _DIALECTS:
        if dialect.name == name:
            return dialect
    raise LookupError(f"no dialect is called {name!r}; there are {', '.join(dialect.name for dialect in _DIALECTS)}")


def dialect_of_rule(name: str) -> Dialect:
    """Return the dialect of a rule's groups, by the rule's name in a trace: the state's prefix, or without a group the request, shows it.

    Otherwise it is the first dialect: its states have no prefix, and Kafka's relatives share its words.
    """
    event, _, rest = name.partition("/")
    state = rest.partition("/")[0]
    for dialect in _DIALECTS:
        if dialect.state_prefix and state.startswith(dialect.state_prefix):
            return dialect
    if state in (state_name(NO_GROUP), "before"):
        return next((dialect for dialect in _DIALECTS if event in dialect.requests), _DIALECTS[0])
    return _DIALECTS[0]


def relative_named(name: str) -> tuple[Dialect, Relative] | None:
    """Return the relative behind the profile `name`, with its dialect; None for a release of Kafka or an unknown name."""
    return next(((dialect, relative) for dialect in _DIALECTS for relative in dialect.relatives if relative.name == name), None)


@contextmanager
def registered(dialect: Dialect) -> Iterator[None]:
    """Register a dialect for the duration of the context; raise `ValueError` where its name, or a profile's, is in use."""
    from groupproof.protocol.wire.message_codec import read_as_messages  # loads Kafka's schemas, which are not needed for a look-up

    names = [name for present in _DIALECTS for name in (present.name, *(relative.name for relative in present.relatives))]
    for name in (dialect.name, *(relative.name for relative in dialect.relatives)):
        if name in names:
            raise ValueError(f"a dialect or profile is called {name!r} already")
    with read_as_messages(dialect.messages), registered_columns(dialect.columns):
        _DIALECTS.append(dialect)
        _changed()
        try:
            yield
        finally:
            _DIALECTS.remove(dialect)
            _changed()


def on_change(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` whenever dialects change, so that it clears its caches; return it."""
    _LISTENERS.append(listener)
    return listener


def _changed() -> None:
    for listener in _LISTENERS:
        listener()
