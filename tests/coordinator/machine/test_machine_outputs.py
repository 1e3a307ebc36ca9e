"""What crosses the border cannot be changed on the way."""

from __future__ import annotations

import dataclasses

import pytest

from groupproof.coordinator.machine import machine_outputs as outputs


@pytest.mark.parametrize("name", [name for name in outputs.__all__ if name != "Output"])
def test_what_crosses_the_border_is_a_tuple_or_frozen_slotted_and_passed_by_keyword(name: str) -> None:
    kind = getattr(outputs, name)

    if not issubclass(kind, tuple):
        assert kind.__dataclass_params__.frozen
        assert all(field.kw_only for field in dataclasses.fields(kind))
        assert kind.__dictoffset__ == 0, "it has slots, and nothing beside"
    else:
        assert kind.__slots__ == ()


def test_the_outputs_are_three() -> None:
    assert set(outputs.Output.__args__) == {outputs.Reply, outputs.Transition, outputs.AppliedRow}
