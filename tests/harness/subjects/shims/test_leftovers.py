"""Nothing outlives a run, however it ends: brokers that are paused or killed at the time, a client that is frozen, folders."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.harness.subjects.shims.leaving import ended_by

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="absent: /proc, which tells what processes are left"),
]


@pytest.mark.parametrize(("number", "status"), [
    (signal.SIGINT, 130), pytest.param(signal.SIGTERM, 130, marks=pytest.mark.soak), (signal.SIGKILL, -signal.SIGKILL),
])  # fmt: skip
def test_a_run_that_is_ended_while_brokers_stand_still_leaves_nothing(tmp_path: Path, number: int, status: int) -> None:
    # The kit, its warden, two guards, of whose programs one is killed, and the client.
    assert ended_by(number, tmp_path) == (6, status, [], False)
    assert os.listdir(tmp_path) == ["logs"]
