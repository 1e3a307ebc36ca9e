from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from groupproof.clients.registry.registered_clients import resolve
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.museum.museum_rows import load_rows, select_rows
from groupproof.harness.subjects.brokers.apache.broker_releases import NEW
from groupproof.protocol.rules.profiles import known_profiles

GOOD = """
[[row]]
name = "a-bug"
client = "kafkajs"
buggy = "2.2.3"
fixed = "2.2.4"
case = "heartbeat/classic/illegal-generation"
title = "It stops."
source = "https://example.org/1"
verdict = "FAILED"
observed = "No JoinGroup came."
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "rows.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_row_says_what_is_expected_of_both_releases(tmp_path: Path) -> None:
    (row,) = load_rows(written(tmp_path, GOOD))

    assert (row.verdict, row.then) == (Verdict.FAILED, Verdict.OK)
    assert row.profile == "kafka-4.1"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("illegal-generation", "illegal-genration"), "did you mean heartbeat/classic/illegal-generation"),
        (GOOD + GOOD, "two rows called a-bug"),
        (GOOD.replace('source = "https://example.org/1"\n', ""), "'source' is a required property"),
        (GOOD.replace("FAILED", "INCONCLUSIVE"), "verdict"),
        ("[[row", "holds no rows"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_fault(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"rows\.toml") as refused:
        load_rows(written(tmp_path, text))

    assert complaint in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="can't read"):
        load_rows(tmp_path / "none.toml")


def test_each_row_that_ships_names_registered_releases_the_older_one_with_the_bug() -> None:
    faults = []
    for row in load_rows():
        # Of a coordinator any release that Maven has can be named.
        releases = resolve(row.subject).releases if row.side == "client" else (row.buggy, row.fixed)
        if not {row.buggy, row.fixed} <= set(releases):
            faults.append(f"{row.name}: {row.buggy} or {row.fixed} is not registered")
        if Version(row.buggy.removesuffix(NEW)) >= Version(row.fixed.removesuffix(NEW)):
            faults.append(f"{row.name}: {row.buggy} is no older than {row.fixed}")
        if row.profile not in known_profiles():
            faults.append(f"{row.name}: there is no profile {row.profile}")

    assert not faults


def test_a_row_of_a_coordinator_names_one_of_its_own_cases_and_is_judged_by_its_profile(tmp_path: Path) -> None:
    text = (
        GOOD.replace('client = "kafkajs"', 'coordinator = "apache-kafka"\nprofile = "kafka-4.2"').replace("2.2.3", "4.1.1").replace("2.2.4", "4.2.2")
    )
    (row,) = load_rows(written(tmp_path, text.replace("heartbeat/classic/illegal-generation", "epoch/consumer/returns-later")))

    assert [(visit.subject, visit.side, visit.folder) for visit in row.visits] == [
        ("apache-kafka@4.1.1", "coordinator", "apache-kafka@4.1.1-kafka-4.2"),
        ("apache-kafka@4.2.2", "coordinator", "apache-kafka@4.2.2-kafka-4.2"),
    ]
    with pytest.raises(WrongUsage, match="which does not exist"):
        load_rows(written(tmp_path, text))
    with pytest.raises(WrongUsage, match="holds no rows"):
        load_rows(written(tmp_path, text.replace("[[row]]", '[[row]]\nclient = "kafkajs"')))


def test_no_bug_ships_twice() -> None:
    rows = [(row.subject, row.buggy, row.fixed, row.case, row.profile) for row in load_rows()]

    assert len(rows) == len(set(rows))


def test_patterns_choose_rows_and_one_that_means_none_is_refused(tmp_path: Path) -> None:
    rows = load_rows(written(tmp_path, GOOD + GOOD.replace("a-bug", "b-bug").replace("kafkajs", "java")))

    assert [row.name for row in select_rows(rows, ())] == ["a-bug", "b-bug"]
    assert [row.name for row in select_rows(rows, ("java",))] == ["b-bug"]
    with pytest.raises(WrongUsage, match="did you mean kafkajs"):
        select_rows(rows, ("kafkjas",))
