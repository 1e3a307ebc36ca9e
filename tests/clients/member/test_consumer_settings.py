"""A member's settings are checked before it starts."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.clients.member.consumer_settings import MemberSettings


@pytest.mark.requirement("CLIENT-42")
@pytest.mark.parametrize("heartbeat_interval_ms", [6000, 7000])
def test_a_heartbeat_interval_as_long_as_the_session_is_refused(heartbeat_interval_ms: int) -> None:
    with pytest.raises(ValueError, match=r"heartbeat\.interval\.ms .* must be lower than session\.timeout\.ms \(6000\)"):
        MemberSettings(group="g", topics=("t",), session_timeout_ms=6000, heartbeat_interval_ms=heartbeat_interval_ms)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"retry_backoff_ms": -1}, "retry_backoff_ms"), ({"assignors": ()}, "assignor"), ({"auto_offset_reset": "newest"}, "auto_offset_reset")],
)
def test_what_makes_no_sense_is_refused_by_its_name(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MemberSettings(group="g", topics=("t",), **wrong)


@pytest.mark.requirement("CLIENT-22", "CLIENT-23")
def test_a_join_waits_five_seconds_longer_than_the_rebalance_may_take() -> None:
    settings = MemberSettings(group="g", topics=("t",), max_poll_interval_ms=300_000)

    assert (settings.rebalance_timeout_ms, settings.join_timeout_ms) == (300_000, 305_000)
    assert MemberSettings(group="g", topics=("t",), max_poll_interval_ms=1000).join_timeout_ms == 30_000
