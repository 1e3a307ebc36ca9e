from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groupproof.harness.running.steady_exchanges import SteadyExchanges
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_column_blocks import blocks_of_batches
from groupproof.protocol.trace_columns import to_batch


def row(kind: str, correlation: int, **columns: Any) -> Observation:
    fixed: dict[str, Any] = {"api": "Heartbeat", "client": "m0", "member": "m0-1", "generation": 1, "group": "g", "connection": 1, "node": 0}
    return Observation(seq=0, at_ns=0, kind=kind, correlation=correlation, **{**fixed, **columns})


def found(trace: Sequence[Observation], barred: Sequence[int] = ()) -> list[int]:
    """Return where the rows of the exchanges stand."""
    (block,) = blocks_of_batches([to_batch([replace(obs, seq=seq) for seq, obs in enumerate(trace)])])
    places: list[int] = SteadyExchanges(block, lambda _: True, np.array(barred, np.int64)).exchanges.rows().tolist()
    return places


ONE = [row("request", 1), row("processed", 1), row("response", 1, error=0)]
TWO = [row("request", 2, api="OffsetCommit"), row("response", 2, api="OffsetCommit")]


def test_a_request_and_its_answer_are_an_exchange_with_or_without_the_time_of_processing() -> None:
    assert found([*ONE, *TWO]) == [0, 1, 2, 3, 4]


def test_exchanges_of_members_may_be_under_way_at_once() -> None:
    other = [row(obs.kind, 1, client="m1", member="m1-1", connection=2) for obs in ONE]

    assert found([ONE[0], other[0], ONE[1], other[1], other[2], ONE[2]]) == [0, 1, 2, 3, 4, 5]


def test_an_answer_need_not_name_the_instance() -> None:
    assert found([row("request", 1, instance="i"), row("response", 1)]) == [0, 1]


@pytest.mark.parametrize(
    "trace",
    [
        ONE[:2],
        ONE[1:],
        [ONE[0], ONE[2], ONE[2]],
        [ONE[2], ONE[0]],
        [ONE[0], row("response", 1, error=27)],
        [ONE[0], row("response", 1, api="OffsetCommit")],
        [ONE[0], row("response", 1, member="m0-2")],
        [ONE[0], row("response", 1, generation=2)],
        [ONE[0], TWO[0], ONE[2], TWO[1]],
        [row("request", 1, member=""), row("response", 1, member="")],
        [row("request", 1, generation=-1), row("response", 1, generation=-1)],
        [row("request", 1, generation=None), row("response", 1, generation=None)],
        [row("request", 1, who="member"), row("response", 1, who="member")],
        [row("request", 1, connection=None), row("response", 1, connection=None)],
        [row("request", 1, api="JoinGroup"), row("response", 1, api="JoinGroup")],
        [row("request", 1, body={"members": []}), row("response", 1)],
    ],
)
def test_what_is_not_complete_or_says_more_is_none(trace: list[Observation]) -> None:
    assert found(trace) == []


def test_a_barred_row_takes_its_exchange_along() -> None:
    assert found([*ONE, *TWO], barred=[1]) == [0, 2, 3, 4]
    assert found([*ONE, *TWO], barred=[0]) == [3, 4]
