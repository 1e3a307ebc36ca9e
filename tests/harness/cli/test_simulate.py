"""`groupproof simulate`: what it takes, what it refuses, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.cli.calling import Call

QUICK = ("--duration", "20s", "--members", "3", "--session-timeout", "6s", "--max-poll-interval", "10s")


def test_a_run_that_breaks_no_law_is_0_and_tells_what_happened(groupproof: Call) -> None:
    called = groupproof("simulate", "--seed", "3", *QUICK, "--faults", "crash,leave")

    assert called.code == 0
    assert "seed 3: 3 members, range, kafka-4.1; sessions of 6 s, polls within 10 s" in called.out
    assert "after everything was healed, and stayed so" in called.out
    assert "replay" not in called.out


def test_a_law_that_is_broken_is_1_with_the_line_that_replays_it(groupproof: Call) -> None:
    called = groupproof("simulate", "--seed", "3", *QUICK, "--coordinator-variant", "generation-skips-one")
    (replay,) = (line for line in called.out.splitlines() if "replay: " in line)
    again = groupproof(*replay.partition("replay: groupproof ")[2].split())

    assert called.code == again.code == 1
    assert [line for line in called.out.splitlines() if "BROKEN" in line] == [line for line in again.out.splitlines() if "BROKEN" in line]


def test_json_stands_alone_on_stdout(groupproof: Call) -> None:
    called = groupproof("simulate", "--seed", "3", *QUICK, "--json")

    assert called.json["simulation"]["seed"] == 3
    assert called.json["violations"] == []
    assert called.json["converged_at_ms"] >= 20_000
    assert "seed 3" in called.err


def test_an_output_holds_the_schedule_the_trace_and_a_picture_and_can_be_replayed(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("simulate", "--seed", "3", *QUICK, "--output", "run", "--member-variant", "leader-assigns-twice")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["simulation.json", "timeline.svg", "trace.ndjson"]
    assert "replay: groupproof replay run/simulation.json" in called.out

    again = groupproof("replay", "run/simulation.json")
    assert (called.code, again.code) == (1, 1)
    assert "reproduced: recorded was that ASSIGN-09 was broken" in again.out


def test_many_seeds_are_run_and_those_that_break_a_law_are_named(groupproof: Call) -> None:
    well = groupproof("simulate", "--seeds", "1..3", *QUICK, "--jobs", "1")
    ill = groupproof("simulate", "--seeds", "1..3", *QUICK, "--jobs", "1", "--coordinator-variant", "generation-stays", "--json")

    assert (well.code, ill.code) == (0, 1)
    assert "3 seeds, " in well.out
    assert "0 broke a law" in well.out
    assert [each["violations"][0]["requirement"] for each in ill.json["broken"]] == ["INV-04"] * 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--faults", "crahs"), "no fault is called 'crahs'; did you mean crash?"),
        (("--assignor", "rnge"), "no assignor is called 'rnge'; did you mean range?"),
        (("--profile", "kafka-9"), "no profile is called 'kafka-9'"),
        (("--duration", "10"), "'10' is no duration"),
        (("--duration", "0s"), "'0s' is no duration"),
        (("--seeds", "5"), "'5' is no range of seeds"),
        (("--seeds", "5..1"), "'5..1' is no range of seeds"),
        (("--seeds", "1..2", "--output", "x"), "--output is for one run"),
        (("--duration", "2h", "--output", "x"), "choose a shorter --duration"),
        (("--coordinator-variant", "generation-stay"), "did you mean generation-stays"),
        (("--member-variant", "nothing-like-it"), "no variant 'nothing-like-it'"),
    ],
)
def test_wrong_usage_is_3_and_one_line(groupproof: Call, arguments: tuple[str, ...], said: str) -> None:
    called = groupproof("simulate", *arguments)

    assert called.code == 3
    assert said in called.complaint


def test_a_simulation_is_replayed_against_no_other_subject(groupproof: Call, tmp_path: Path) -> None:
    groupproof("simulate", *QUICK, "--output", "run", "--faults", "none")
    called = groupproof("replay", "run/simulation.json", "java")

    assert called.code == 3
    assert "the reference takes both sides" in called.complaint
