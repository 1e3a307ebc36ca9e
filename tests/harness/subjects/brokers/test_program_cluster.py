from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import CannotStop, RunningCluster, has_fixed_settings
from groupproof.harness.subjects.brokers.program_cluster import SupportedSettings, argument, running_program
from groupproof.harness.subjects.processes.broker_process import Command

PROGRAM = str(Path(__file__).with_name("fake_program.py"))
TAKEN = SupportedSettings(takes=frozenset({"a.b"}), has={"c.d": "0"}, no_bounds=frozenset({"e.min"}))


def _with(tmp_path: Path, work: Callable[[RunningCluster], Awaitable[None]], *more: str) -> None:
    argv = (sys.executable, PROGRAM, argument(brokers=3, topics={}, settings={}), *more)
    command = Command(title="fake", argv=argv, log=tmp_path / "log", speaks=True, env={"PYTHONPATH": os.pathsep.join(sys.path)})

    async def main() -> None:
        async with running_program(command, provided_by="fake", unmet={"x": "why"}, first_node=1) as running:
            await work(running)

    trio.run(main)


@pytest.mark.slow
def test_it_is_up_with_its_addresses_and_stops_brokers_on_request(tmp_path: Path) -> None:
    async def work(running: RunningCluster) -> None:
        assert (running.provided_by, running.unmet, running.deaths()) == ("fake 1.2", {"x": "why"}, [])
        assert has_fixed_settings(running)
        _, second, third = running.addresses
        await running.stop(1)
        assert running.addresses == [second, third]
        with pytest.raises(CannotStop, match="fake could not stop broker 2: it will not"):
            await running.stop(2)
        await running.stop(3)
        with pytest.raises(CannotStop, match="no broker 3 is running"):
            await running.stop(3)
        with pytest.raises(CannotStop, match="the last one"):
            await running.stop(2)
        assert running.logs() == [tmp_path / "log"]

    _with(tmp_path, work)


async def _unreached(running: RunningCluster) -> None:
    raise AssertionError(f"{running} must not come up")


@pytest.mark.slow
def test_a_program_that_says_something_else_is_reported_with_it(tmp_path: Path) -> None:
    with pytest.raises(BrokenEnvironment, match="fake began with 'panic: no' instead of its addresses"):
        _with(tmp_path, _unreached, "panic: no")


def test_settings_are_given_or_unmet_or_had_anyway() -> None:
    accepted, unmet = TAKEN.split({"a.b": 7, "c.d": 0, "e.f": True})
    assert accepted == {"a.b": "7"}
    assert unmet == {"e.f": "the broker knows no such setting"}

    assert TAKEN.split({"e.min": 5}) == ({}, {}), "nothing is outside a bound that it does not look at"
    assert TAKEN.split({"c.d": 3000})[1] == {"c.d": "it has 0, 3000 is needed"}


def test_the_argument_is_json() -> None:
    argument_ = json.loads(argument(brokers=2, topics={"t": 4}, settings={"a": "1"}))

    assert argument_ == {"brokers": 2, "topics": {"t": 4}, "settings": {"a": "1"}}
