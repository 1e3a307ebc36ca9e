"""What crosses the border cannot be changed on the way."""

from __future__ import annotations

import dataclasses

import pytest

from groupproof.coordinator import outputs


@pytest.mark.parametrize("name", [name for name in outputs.__all__ if name != "Output"])
def test_everything_that_crosses_the_border_is_frozen_slotted_and_told_by_keyword(name: str) -> None:
    kind = getattr(outputs, name)

    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)
    assert all(field.kw_only for field in dataclasses.fields(kind))


def test_the_outputs_are_three() -> None:
    assert set(outputs.Output.__args__) == {outputs.Reply, outputs.Transition, outputs.Applied}
