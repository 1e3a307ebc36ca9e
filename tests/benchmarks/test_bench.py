"""`make bench` runs to its end whatever its parts do, and keeps what they measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console
from tests.benchmarks import bench, machine_noise
from tests.benchmarks.bench_parts import PARTS, BenchPart
from tests.benchmarks.measurements import read_runs

FIGURE = '{"type":"figure","name":"read","unit":"s","values":[1.5]}'
AIM = '{"type":"aim","name":"reads","values":[3.0],"bound":2.0,"is_least":true}'
FAULT = '{"type":"fault","name":"read","subject":"kio","text":"it hung up"}'


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_noise, "_STEPS", 1_000)


def _printing(*lines: str, then: str = "") -> list[str]:
    return [sys.executable, "-S", "-c", f"print({chr(10).join(lines)!r}, flush=True); {then}"]


def test_the_rounds_of_a_part_s_processes_are_one_figure() -> None:
    run = bench.part_run(_printing(FIGURE, AIM, FAULT), times=2, seconds_max=60)

    assert run.failed == ""
    assert [(figure.name, figure.values) for figure in run.figures] == [("read", (1.5, 1.5))]
    assert [(aim.values, aim.is_met) for aim in run.aims] == [((3.0, 3.0), True)]
    assert [(fault.subject, fault.text) for fault in run.faults] == [("kio", "it hung up")]


@pytest.mark.parametrize(
    ("then", "seconds_max", "failed"),
    [("raise SystemExit('no kfake here')", 60, "ended with 1: no kfake here"), ("import signal; signal.pause()", 0.5, "not done after 0.5 s")],
)  # fmt: skip
def test_a_part_that_fails_is_named(then: str, seconds_max: float, failed: str) -> None:
    assert bench.part_run(_printing(FIGURE, then=then), times=3, seconds_max=seconds_max).failed == failed


def test_a_failed_part_keeps_what_it_measured_before_and_the_others_still_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = BenchPart(title="A part", measure=lambda: iter(()), times=1, seconds_max=60)
    monkeypatch.setattr(bench, "PARTS", {"broken": part, "whole": part})
    commands = {"broken": _printing(FIGURE, then="raise SystemExit('out of memory')"), "whole": _printing(AIM)}
    run_part = bench.part_run
    monkeypatch.setattr(bench, "part_run", lambda command, **options: run_part(commands[command[-1]], **options))

    with pytest.raises(SystemExit, match="1"):
        bench.main.callback(names=(), keep=tmp_path / "runs.jsonl", forget=False)  # type: ignore[misc]  # click makes it so

    (run,) = read_runs(tmp_path / "runs.jsonl")
    assert {name: (len(part.figures), len(part.aims), part.failed) for name, part in run.parts.items()} == {
        "broken": (1, 0, "ended with 1: out of memory"), "whole": (0, 1, ""),
    }  # fmt: skip
    assert "1 of 2 parts have run; failed: broken" in capsys.readouterr().out


def test_what_is_printed_has_figures_aims_faults_and_the_noise(capsys: pytest.CaptureFixture[str]) -> None:
    bench.show_part(Console(width=100), bench.part_run(_printing(FIGURE, AIM, FAULT), times=1, seconds_max=60))

    printed = capsys.readouterr().out
    for text in ("groupproof", "1.5", "reads: 3; the aim, at least 2, is met", "kio, read: it hung up", "the same work differed by"):
        assert text in printed


def test_every_part_has_a_bound_and_a_title_of_its_own() -> None:
    assert all(part.times >= 1 and part.seconds_max > 0 for part in PARTS.values())
    assert len({part.title for part in PARTS.values()}) == len(PARTS)
