"""The settings of a worker, and what it cannot start without."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings

ENOUGH: dict[str, Any] = {"group": "g", "bootstrap": (("manager", 8899),), "name": "w"}


@pytest.mark.requirement("TIMER-29", "TIMER-30", "TIMER-31")
def test_the_defaults_are_datalink_s() -> None:
    settings = WorkerSettings(**ENOUGH)

    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms, settings.rebalance_timeout_ms) == (10_000, 3_000, 60_000)
    assert (settings.tick_ms, settings.request_timeout_ms, settings.retry_backoff_ms) == (500, 40_000, 100)
    assert (settings.worker_sync_timeout_ms, settings.worker_unsync_backoff_ms) == (3_000, 300_000)
    assert (settings.assignor, settings.hand_over) == ("round-robin", "stop-everything")


@pytest.mark.requirement("MGR-03")
@pytest.mark.parametrize(("without", "message"), [({"group": " "}, "needs a group"), ({"bootstrap": ()}, "address of a Manager")])
def test_a_worker_without_its_group_or_a_manager_s_address_does_not_start(without: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"{message}.*MGR-03"):
        WorkerSettings(**{**ENOUGH, **without})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heartbeat_interval_ms": 10_000}, "must be lower"),
        ({"hand_over": "all-at-once"}, "is stop-everything or incremental"),
        ({"capacity": 0.0}, "above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WorkerSettings(**{**ENOUGH, **wrong})
