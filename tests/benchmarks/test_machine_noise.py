"""The machine's noise is what others did, not what was measured."""

from __future__ import annotations

import pytest
from tests.benchmarks import machine_noise
from tests.benchmarks.machine_noise import NoiseWatch, Used, machine_here, others_of, spread_of


def test_what_a_part_used_itself_is_no_noise() -> None:
    begin = Used(clock_s=100.0, busy_s=1_000.0, own_s=10.0)

    assert others_of(begin, Used(clock_s=110.0, busy_s=1_020.0, own_s=25.0)) == 0.5
    assert others_of(begin, Used(clock_s=110.0, busy_s=1_010.0, own_s=25.0)) == 0.0, "clocks of several grains"
    assert others_of(begin, Used(clock_s=110.0, busy_s=None, own_s=25.0)) is None


def test_the_same_work_differs_by_what_lies_between_most_rounds() -> None:
    assert spread_of([10.0] * 18 + [1.0, 99.0]) == 0.0
    assert spread_of([10.0] * 10 + [12.0] * 10) == pytest.approx(2 / 11)


def test_a_watch_reports_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_noise, "_STEPS", 1_000)
    noise = NoiseWatch().noise()

    assert noise.work_spread >= 0
    assert noise.others is None or noise.others >= 0
    assert str(machine_here().processors) in machine_here().name
