"""The dialects that this kit knows, in the order in which documents list them: a new one is registered here, or for a while by a test."""

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
    """Return the dialect of that name; raise `LookupError` naming those that there are."""
    for dialect in _DIALECTS:
        if dialect.name == name:
            return dialect
    raise LookupError(f"no dialect is called {name!r}; there are {', '.join(dialect.name for dialect in _DIALECTS)}")


def dialect_of_rule(name: str) -> Dialect:
    """Return the dialect to whose groups a rule belongs, by its name in a trace: that of the state's prefix; without a group, that of the request.

    The first dialect is meant where no other is named: its states have no prefix, and the relatives of Kafka share its words.
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
    """Return the relative that the profile `name` is made of, with the dialect that it speaks; None where it is a release of Kafka, or nothing."""
    return next(((dialect, relative) for dialect in _DIALECTS for relative in dialect.relatives if relative.name == name), None)


@contextmanager
def registered(dialect: Dialect) -> Iterator[None]:
    """Let the kit know one more dialect meanwhile; raise `ValueError` where its name, or a profile's, is another's already."""
    from groupproof.protocol.wire.message_codec import read_as_messages  # with Kafka's schemas, which nobody needs who only asks for a dialect

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
    """Call `listener` whenever dialects come or go, so that it forgets what it made of them; return it."""
    _LISTENERS.append(listener)
    return listener


def _changed() -> None:
    for listener in _LISTENERS:
        listener()
