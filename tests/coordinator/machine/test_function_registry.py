"""The functions of each dialect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.function_registry import functions_of, registered, registered_functions
from groupproof.protocol.rules.dialect_registry import dialects

OTHER = replace(CLASSIC_FUNCTIONS, dialect=replace(CLASSIC_FUNCTIONS.dialect, name="other", since=None))


def test_a_dialect_is_registered_with_its_functions_and_gone_with_them() -> None:
    with registered(OTHER):
        assert functions_of(OTHER.dialect) is OTHER
        assert OTHER.dialect in dialects()
    assert OTHER.dialect not in dialects()
    with pytest.raises(LookupError, match="the dialect other has no functions here"):
        functions_of(OTHER.dialect)


def test_every_dialect_has_its_functions() -> None:
    assert {functions.dialect for functions in registered_functions()} == set(dialects())
    assert [functions_of(dialect).dialect for dialect in dialects()] == [*dialects()]
