from __future__ import annotations

import pytest

from groupproof.protocol.wire.throttle_time import QUOTA_MS, obeyed_ms, throttle_ms


@pytest.mark.parametrize(
    ("written", "asked_ms", "silent_ms"),
    [(None, 0, 0), (0, 0, 0), (-1, 0, 0), (7, 7, 7), (QUOTA_MS, QUOTA_MS, QUOTA_MS), (QUOTA_MS + 1, QUOTA_MS + 1, 0), (2**31 - 1, 2**31 - 1, 0)],
)
def test_a_time_that_no_quota_asks_for_is_not_waited_for(written: int | None, asked_ms: int, silent_ms: int) -> None:
    body = {"throttle_time_ms": written}

    assert (throttle_ms(body), obeyed_ms(body)) == (asked_ms, silent_ms)


def test_an_answer_without_the_field_does_not_throttle() -> None:
    assert throttle_ms({}) == obeyed_ms({}) == 0
