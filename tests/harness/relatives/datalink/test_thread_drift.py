"""Workers that drift apart."""

from __future__ import annotations

import random

from groupproof.harness.relatives.datalink.thread_drift import drifting


def test_no_two_workers_keep_step_and_none_is_far_from_datalink_s_own_pace() -> None:
    paces = [drifting(random.Random(seed)) for seed in range(20)]

    assert len({pace["heartbeat_interval_ms"] for pace in paces}) > 15
    assert all(2_880 <= pace["heartbeat_interval_ms"] <= 3_120 and 480 <= pace["tick_ms"] <= 520 for pace in paces)
