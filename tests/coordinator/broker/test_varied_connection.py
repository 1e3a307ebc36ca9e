from __future__ import annotations

from typing import Any

import trio
from tests.coordinator.helpers import virtually

from groupproof.coordinator.broker.varied_connection import altered_answer, stay_muted
from groupproof.coordinator.machine.variant import ConnectionVariant


@virtually
async def test_an_answer_comes_as_late_and_as_changed_as_the_variant_gives_it() -> None:
    line = ConnectionVariant(delay_s=lambda arrived: 2.5, says=lambda arrived, body: {**body, "error_code": 5})
    arrived: Any = None
    began = trio.current_time()

    assert await altered_answer(line, arrived, {"error_code": 0}) == {"error_code": 5}
    assert trio.current_time() - began == 2.5


@virtually
async def test_a_connection_is_muted_for_as_long_as_its_client_is_throttled() -> None:
    began = trio.current_time()

    await stay_muted(ConnectionVariant(), {"throttle_time_ms": 700})
    await stay_muted(ConnectionVariant(mutes=True), {"throttle_time_ms": -1})
    await stay_muted(ConnectionVariant(mutes=True), {"error_code": 0})
    assert trio.current_time() == began

    await stay_muted(ConnectionVariant(mutes=True), {"throttle_time_ms": 700})
    assert trio.current_time() - began == 0.7
