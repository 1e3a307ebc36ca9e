"""`groupproof simulate`: what it takes, what it refuses, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.stateful.plans import within_seconds

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault

QUICK = ("--duration", "20s", "--members", "3", "--session-timeout", "6s", "--max-poll-interval", "10s")


def test_a_run_that_breaks_no_invariant_is_0_and_reports_what_happened(groupproof: Call) -> None:
    called = groupproof("simulate", "--seed", "3", *QUICK, "--faults", "crash,leave")

    assert called.code == 0
    assert "seed 3: 3 members, range, kafka-4.1; sessions of 6 s, polls within 10 s" in called.out
    assert "after everything was healed, and stayed so" in called.out
    assert "replay" not in called.out


def test_a_broken_invariant_is_1_with_the_line_that_replays_it(groupproof: Call) -> None:
    called = groupproof("simulate", "--seed", "3", *QUICK, "--coordinator-variant", "generation-negative")
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


def test_many_seeds_are_run_and_those_that_break_an_invariant_are_named(groupproof: Call) -> None:
    well = groupproof("simulate", "--seeds", "1..3", *QUICK, "--jobs", "1")
    ill = groupproof("simulate", "--seeds", "1..3", *QUICK, "--jobs", "1", "--coordinator-variant", "generation-negative", "--json")

    assert (well.code, ill.code) == (0, 1)
    assert "3 seeds, " in well.out
    assert "0 broke a law" in well.out
    assert [item["violations"][0]["requirement"] for item in ill.json["broken"]] == ["INV-04"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
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
def test_wrong_usage_is_3_and_one_line(groupproof: Call, arguments: tuple[str, ...], message: str) -> None:
    called = groupproof("simulate", *arguments)

    assert called.code == 3
    assert message in called.complaint


def test_a_simulation_is_replayed_against_no_other_subject(groupproof: Call, tmp_path: Path) -> None:
    groupproof("simulate", *QUICK, "--output", "run", "--faults", "none")
    called = groupproof("replay", "run/simulation.json", "java")

    assert called.code == 3
    assert "only the reference can run it" in called.complaint


LEAVING = {
    "schema": "groupproof.simulation/1",
    "simulation": within_seconds(member_variant="heartbeats-after-leave").to_json(),
    "violations": [{"requirement": "CLIENT-11", "at_ms": 0, "what": "seen before"}],
    "happenings": Schedule(faults=(ScheduledFault(at_ms=1_500, kind="leave", who=("m0",), for_ms=1_300, how={}),)).to_json(),
}


@pytest.mark.parametrize("engine", ["simulator", "trio", "sockets"])
@pytest.mark.slow
def test_a_schedule_is_replayed_by_each_engine_with_the_same_verdict(groupproof: Call, tmp_path: Path, engine: str) -> None:
    (tmp_path / "ill.json").write_text(json.dumps(LEAVING))
    (tmp_path / "well.json").write_text(json.dumps(LEAVING | {"simulation": within_seconds().to_json()}))
    ill, well = (groupproof("replay", f"{name}.json", "--engine", engine) for name in ("ill", "well"))

    assert (ill.code, well.code) == (1, 0)
    assert "BROKEN CLIENT-11" in ill.out
    assert "\nreproduced: recorded was that CLIENT-11 was broken" in ill.out
    assert "not reproduced" in well.out


def test_what_is_not_a_simulations_has_no_engine(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    called = groupproof("replay", "plan.json", "--engine", "trio")

    assert called.code == 3
    assert "--engine is for a simulation's schedule" in called.complaint


def test_observations_of_many_seeds_are_kept_in_pieces_and_made_once(groupproof: Call, tmp_path: Path) -> None:
    pieces = ("--observations", str(tmp_path / "trace"))
    first = groupproof("simulate", "--seeds", "1..2", *QUICK, "--jobs", "1", *pieces)
    again = groupproof("simulate", "--seeds", "1..3", *QUICK, "--jobs", "1", *pieces)

    assert (first.code, again.code) == (0, 0)
    assert "2 of 3 pieces are in" in again.out
    assert "\n1 seeds, " in again.out
    assert len(list((tmp_path / "trace").rglob("*.parquet"))) == 3


def test_pieces_that_have_no_room_are_4_and_say_how_to_continue(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    called = groupproof("simulate", "--seeds", "1..2", *QUICK, "--jobs", "1", "--observations", str(tmp_path / "file"))

    assert called.code == 4
    assert (
        "can't be written: Not a directory; the files there are complete: free some space, and run the same command again to continue" in called.err
    )


def test_observations_of_one_run_are_refused_with_the_option_that_keeps_them(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("simulate", "--seed", "1", *QUICK, "--observations", str(tmp_path))

    assert called.code == 3
    assert "what is seen of one run goes to --output" in called.err


@pytest.mark.parametrize(("seed", "dialect"), [(1, "consumer"), (130, "consumer"), (147, "consumer"), (156, "consumer"), (1, "classic")])
def test_nobody_is_blamed_for_what_befalls_a_simulated_group(groupproof: Call, tmp_path: Path, seed: int, dialect: str) -> None:
    """In these seeds a group is denied, converted while a consumer leaves, or created again under its name."""
    asked = ("--seeds", f"{seed}..{seed}", "--members", "8", "--duration", "2m", "--dialect", dialect, "--profile", "kafka-4.2")
    assert groupproof("simulate", *asked, "--observations", str(tmp_path)).code == 0

    checked = groupproof("trace", "check", str(tmp_path))

    assert checked.code == 0, checked.out
    assert f"OK observed/{dialect}/g" in checked.out
