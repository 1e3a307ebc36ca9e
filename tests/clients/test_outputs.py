"""What a member asks of its driver."""

from __future__ import annotations

import typing

from groupproof.clients.outputs import Committed, Fetched, Output


def test_every_output_is_frozen_data_with_its_meaning_beside_it() -> None:
    for kind in typing.get_args(Output):
        assert kind.__doc__
        assert issubclass(kind, tuple) or kind.__dataclass_params__.frozen


def test_success_is_the_absence_of_an_error() -> None:
    assert Committed(token=1, mode="sync", offsets={}).error is None
    assert Fetched(token=1).offsets == {}
