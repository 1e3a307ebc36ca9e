"""`groupproof rehearse`: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.simulation.rehearsal.small import SMALL

QUICK = ("--only", "gc-pause", "--only", "node-lost", "--no-advice")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "my.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in {**SMALL, "bootstrap.servers": "kafka:9092", "group.id": "orders"}.items()))
    return str(path)


def test_exercises_have_their_figures_and_what_has_no_effect_is_named(groupproof: Call, file: str) -> None:
    called = groupproof("rehearse", file, *QUICK)

    assert called.code == 0
    assert called.out.startswith("orders: 3 members, 3 partitions, classic protocol")
    assert [line.split()[0] for line in called.out.splitlines()[3:]] == ["node-lost", "gc-pause"]
    assert called.err == "without effect here: bootstrap.servers\n"


def test_json_stands_alone_on_stdout_and_is_as_its_schema_says(groupproof: Call, file: str) -> None:
    document = groupproof("rehearse", file, *QUICK, "--json", "--seed", "2").json

    assert (document["seed"], document["settings"]["session.timeout.ms"], document["advice"]) == (2, 12_000, [])
    assert [row["exercise"] for row in document["exercises"]] == ["node-lost", "gc-pause"]


def test_advice_stands_below_the_table(groupproof: Call, file: str) -> None:
    called = groupproof("rehearse", file, "--only", "slow-poll")

    assert "What to change:\nslow-poll:\n  max.poll." in called.out


@pytest.mark.parametrize(("most", "code"), [("1s", 1), ("60s", 0)])
def test_a_partition_that_is_unowned_for_too_long_is_1(most: str, code: int, groupproof: Call, file: str) -> None:
    assert groupproof("rehearse", file, *QUICK, "--unowned-max", most).code == code


def test_a_wrong_setting_file_or_exercise_is_3_in_one_line(groupproof: Call, file: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("sesion.timeout.ms=1\n")

    refused = groupproof("rehearse", str(wrong))
    assert refused.code == 3
    assert "wrong.properties: no setting is called 'sesion.timeout.ms'; did you mean session.timeout.ms" in refused.complaint
    assert groupproof("rehearse", str(tmp_path / "none")).code == 3
    assert "did you mean slow-poll" in groupproof("rehearse", file, "--only", "slow-pol").err


def test_an_incident_happens_without_its_remedy_alone(groupproof: Call) -> None:
    called = groupproof("rehearse", "--incident", "zombie-commits")
    assert called.code == 0
    assert "with it   0 records read again" in called.out
    assert groupproof("rehearse", "--incident", "zombie-commits", "--json").json["before"]["occurs"]

    unknown = groupproof("rehearse", "--incident", "zombie-commit")
    assert unknown.code == 3
    assert "did you mean zombie-commits" in unknown.err
    assert "zombie-commits" in groupproof("list", "incidents").out
    assert groupproof("rehearse").code == 3
