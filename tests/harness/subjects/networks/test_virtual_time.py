"""Runs in virtual time: the same seed gives the same history, to the byte; and none can hang."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest
import trio
from tests.harness.running.virtual import played
from trio._core import _run

from groupproof.harness.cases.client import CASES
from groupproof.harness.subjects.networks.virtual_time import NoProgress, run_virtually
from groupproof.protocol.trace import Trace

BUSY = next(case for case in CASES if case.id == "cooperative/classic/hand-over")
"""A case of several members, whose requests meet at the same moment."""

ORDERS = 20


def order_of_ten(seed: int) -> list[int]:
    order: list[int] = []

    async def arrive(number: int) -> None:
        await trio.sleep(1)
        order.append(number)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(arrive, number)

    run_virtually(main, seed=seed)
    return order


def as_bytes(trace: Trace) -> bytes:
    return "\n".join(repr(obs) for obs in trace).encode()


def digest(trace: Trace) -> str:
    return hashlib.sha256(as_bytes(trace)).hexdigest()


def test_the_order_of_arrival_is_drawn_from_the_seed() -> None:
    assert order_of_ten(1) == order_of_ten(1)
    assert len({tuple(order_of_ten(seed)) for seed in range(ORDERS)}) > 1


def test_a_case_of_the_same_seed_leaves_the_same_trace_to_the_byte() -> None:
    assert as_bytes(played(BUSY, seed=3).trace) == as_bytes(played(BUSY, seed=3).trace)


@pytest.mark.slow
def test_it_does_in_another_process_too_whatever_its_hashes() -> None:
    program = (
        "import json, sys; from tests.harness.subjects.networks.test_virtual_time import BUSY, digest; from tests.harness.running.virtual import played;"
        "json.dump(digest(played(BUSY, seed=3).trace), sys.stdout)"
    )
    hashes = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    output = json.loads(subprocess.check_output([sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": hashes}, text=True))

    assert output == digest(played(BUSY, seed=3).trace)


def test_another_seed_may_tell_another_story() -> None:
    assert len({as_bytes(played(BUSY, seed=seed).trace) for seed in (1, 2, 3)}) > 1


def test_tasks_that_run_on_while_no_time_passes_are_stopped() -> None:
    async def spin() -> None:
        while True:
            await trio.lowlevel.checkpoint()

    with pytest.raises(NoProgress, match="1000 steps"):
        run_virtually(spin, seed=1, steps_max=1000)


def test_a_run_within_its_bound_ends_as_it_would_without() -> None:
    async def fail() -> None:
        await trio.sleep(3_600)
        raise LookupError("what the run raises")

    with pytest.raises(LookupError, match="what the run raises"):
        run_virtually(fail, seed=1, steps_max=1000)


def test_other_runs_are_scheduled_as_ever_afterwards() -> None:
    before = (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r)

    order_of_ten(1)

    assert (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r) == before
