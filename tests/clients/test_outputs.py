"""What a member asks of its driver."""

from __future__ import annotations

import typing

from groupproof.clients.outputs import CommitResult, Drop, OffsetFetchResult, Output, Send, is_more_than_sent
from groupproof.protocol.wire.messages import HeartbeatRequest


def test_every_output_is_frozen_data_with_its_meaning_beside_it() -> None:
    for kind in typing.get_args(Output):
        assert kind.__doc__
        assert issubclass(kind, tuple) or kind.__dataclass_params__.frozen


def test_success_is_the_absence_of_an_error() -> None:
    assert CommitResult(token=1, mode="sync", offsets={}).error is None
    assert OffsetFetchResult(token=1).offsets == {}


def test_a_request_alone_moves_no_part_of_a_member() -> None:
    beat = Send(1, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), None, "group")

    assert not is_more_than_sent([])
    assert not is_more_than_sent([beat, beat])
    assert is_more_than_sent([beat, Drop(to=None)])
