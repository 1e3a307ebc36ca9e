"""The parts of `make bench` print what their benchmarks measured, with the peer's figure beside groupproof's own."""

from __future__ import annotations

import msgspec
import pytest
from tests.benchmarks import bench_parts, wire
from tests.benchmarks.bench_parts import aim_of, main
from tests.benchmarks.measurements import Figure, Measured


def test_a_part_prints_a_line_for_each_figure_of_both_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(wire, "_ROUNDS", 1)
    monkeypatch.setattr(wire, "_ROUND_S", 1e-6)
    monkeypatch.setattr(wire, "CASES", wire.CASES[:1])
    main(["wire"])

    items = [msgspec.json.decode(line, type=Measured) for line in capsys.readouterr().out.splitlines()]
    assert [(item.name, item.subject) for item in items if isinstance(item, Figure)] == [
        (f"{side} Heartbeat v3 request", subject) for side in ("write", "read") for subject in ("groupproof", "kio")
    ]
    assert items[-1].name == "write a message: times as fast as kio, at the least"


def test_digits_that_say_nothing_are_left_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    part = bench_parts.BenchPart(title="One", measure=lambda: iter([Figure(name="a", unit="s", values=(1 / 3,))]), times=1, seconds_max=1)
    monkeypatch.setitem(bench_parts.PARTS, "one", part)
    main(["one"])

    assert '"values":[0.33333]' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "name", "bound", "is_least"),
    [("heartbeats: groupproof / kfake >= 0.8", "heartbeats: groupproof / kfake", 0.8, True), ("form <= 1", "form", 1.0, False)],
)  # fmt: skip
def test_an_aim_in_words_has_its_bound(text: str, name: str, bound: float, is_least: bool) -> None:
    aim = aim_of(text, 0.9)

    assert (aim.name, aim.bound, aim.is_least, aim.is_met) == (name, bound, is_least, True)


def test_the_part_of_the_compiled_build_refuses_to_measure_the_source() -> None:
    """Without this check a wheel that is not found would show the source's figures as those of the compiled build."""
    with pytest.raises(SystemExit, match=r"coordinator\.py is not of the compiled wheel"):
        main(["compiled-engines"])
