"""The functions of a dialect are those of its words."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.any_group import AnyGroup
from groupproof.coordinator.machine.function_registry import functions_of
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.rules.dialect_registry import dialects


@pytest.mark.parametrize("dialect", dialects(), ids=lambda dialect: str(dialect.name))
def test_each_word_of_a_dialect_has_one_function_and_there_is_none_beside(dialect: Dialect) -> None:
    functions = functions_of(dialect)

    assert set(functions.guards) == set(dialect.guards)
    assert set(functions.answers) == set(dialect.answers)
    assert set(functions.effects) == set(dialect.effects)
    assert {request.kind for request in functions.requests.values()} <= set(dialect.requests)


@pytest.mark.parametrize("dialect", dialects(), ids=lambda dialect: str(dialect.name))
def test_a_new_group_is_of_its_dialect_in_one_of_its_states(dialect: Dialect) -> None:
    group: AnyGroup = functions_of(dialect).group("g", 5)

    assert (group.group_id, group.generation, group.member_ids(), group.parked()) == ("g", 0, (), [])
    assert group.dialect is dialect
    assert isinstance(group.state, dialect.states)
    assert group.view().state is group.progress().state is group.state
    group.check()
