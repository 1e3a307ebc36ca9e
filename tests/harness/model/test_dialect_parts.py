"""A room asks for the part of a dialect: those of the house are there for good, others for as long as they are registered."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.harness.toy_dialect.lease_dialect import LEASE
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS

from groupproof.harness.model.dialect_parts import DialectPart, PartRegistry, on_part_change, registered
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect_registry import dialects


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window(DialectPart):
    """What an invented room knows of a dialect."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Door(DialectPart):
    """What another one knows."""


RESIDENT = Window(dialect=CLASSIC)
WINDOWS = PartRegistry(Window, RESIDENT)


def test_a_resident_is_there_without_a_registration() -> None:
    assert WINDOWS.of(CLASSIC) is RESIDENT
    assert WINDOWS.of(LEASE) is None
    assert WINDOWS.all() == (RESIDENT,)


def test_one_registration_brings_the_dialect_and_its_parts_and_takes_them_away_again() -> None:
    visitor, door = Window(dialect=LEASE), Door(dialect=LEASE)
    with registered(LEASE_FUNCTIONS, visitor, door):
        assert LEASE in dialects()
        assert WINDOWS.of(LEASE) is visitor
        assert WINDOWS.all() == (RESIDENT, visitor)
    assert LEASE not in dialects()
    assert WINDOWS.of(LEASE) is None


def test_a_part_of_another_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="a part is of classic, where lease is registered"), registered(LEASE_FUNCTIONS, Window(dialect=CLASSIC)):
        pass
    assert LEASE not in dialects()


def test_a_listener_of_the_parts_is_notified_of_a_change() -> None:
    changes: list[int] = []
    on_part_change(lambda: changes.append(len(WINDOWS.all())))
    with registered(LEASE_FUNCTIONS, Window(dialect=LEASE)):
        assert changes == [2]
    assert changes == [2, 1]
