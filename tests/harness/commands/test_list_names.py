from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.cases.catalogue import every_case
from groupproof.protocol.rules import known_profiles
from groupproof.protocol.rules.verification import verification


def test_cases_are_listed_with_level_and_title(groupproof: Call) -> None:
    called = groupproof("list")

    assert called.code == 0
    assert [line.split()[:3] for line in called.out.splitlines()] == [[case.id, case.side, case.level.value] for case in every_case()]
    assert called.err == f"{len(every_case())} cases\n"


@pytest.mark.parametrize("side", ["client", "coordinator"])
def test_the_cases_of_one_side_are_listed(side: str, groupproof: Call) -> None:
    called = groupproof("list", "--side", side)

    assert [line.split()[0] for line in called.out.splitlines()] == [case.id for case in every_case() if case.side == side]
    assert {item["side"] for item in groupproof("list", "subjects", "--side", side, "--json").json} == {side}


def test_a_registered_client_says_whether_its_toolchain_is_here(groupproof: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    rows = {row["name"]: row for row in groupproof("list", "clients", "--json").json}

    assert {name: row["absent"] for name, row in rows.items() if row["language"] in ("go", "javascript")} == {
        "confluent-kafka-go": ["go", "cc"], "franz-go": ["go"], "kafka-go": ["go"], "sarama": ["go"], "kafkajs": ["node", "npm"],
        "node-rdkafka": ["node", "npm", "cc", "make"], "platformatic-kafka": ["node", "npm"], "confluent-kafka-javascript": ["node", "npm", "cc", "make"],
    }  # fmt: skip
    assert {rows[name]["language"]: sorted(rows[name]["absent"]) for name in ("krafka", "librdkafka")} == {
        "rust": ["cargo", "cc", "make"], "c": ["cargo", "cc", "make"],
    }  # fmt: skip
    assert (rows["groupproof"]["state"], rows["kafkajs"]["state"]) == ("ready", "needs node and npm")
    assert "1.21.7" in rows["franz-go"]["releases"]


def test_what_has_no_side_is_not_asked_for_one(groupproof: Call) -> None:
    called = groupproof("list", "profiles", "--side", "client")

    assert (called.code, called.complaint) == (
        3,
        "groupproof: profiles have no side; --side is for cases and subjects (see groupproof list --help)",
    )


def test_a_requirement_tells_in_what_it_is_judged(groupproof: Call) -> None:
    lines = {line.split()[0]: line for line in groupproof("list", "requirements").out.splitlines()}

    assert re.match(r"CLIENT-46 +MUST +client ", lines["CLIENT-46"])
    assert re.match(r"TR-118 +MUST +coordinator ", lines["TR-118"])
    assert re.match(r"ZK-01 +\w+ +- ", lines["ZK-01"])
    (row,) = groupproof("list", "requirements", "--only", "CLIENT-46", "--json").json
    assert set(row["cases"]) <= {case.id for case in every_case()}
    assert row["cases"]


def test_patterns_and_levels_choose_among_them(groupproof: Call) -> None:
    called = groupproof("list", "--only", "CLIENT-48", "--skip", "heartbeat", "--level", "must", "--json")

    assert called.json
    assert all("CLIENT-48" in item["requirements"] and item["level"] == "MUST" and "/" in item["id"] for item in called.json)
    assert not any(item["id"].startswith("heartbeat/") for item in called.json)


@pytest.mark.parametrize(
    ("listing", "key", "name"), [("requirements", "id", "HB-03"), ("profiles", "name", "kafka-2.4"), ("subjects", "name", "java")]
)
def test_everything_that_has_a_name_is_listed(listing: str, key: str, name: str, groupproof: Call) -> None:
    called = groupproof("list", listing, "--only", name, "--json")

    assert [item[key] for item in called.json] == [name]


def test_subjects_of_both_sides_are_listed(groupproof: Call) -> None:
    rows = groupproof("list", "subjects", "--json").json

    assert {row["side"] for row in rows} == {"client", "coordinator"}
    (kafka,) = (row for row in rows if row["name"] == "apache-kafka")
    assert (kafka["side"], kafka["title"]) == ("coordinator", "judged by kafka-4.1")
    assert {"1.1.0", "4.1.0"} <= set(kafka["releases"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["subjects", "--only", "kafka-pyton"], "did you mean kafka-python"),
        (["--only", "heartbet"], "did you mean heartbeat/"),
        (["cses"], "'cses' is not one of"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(arguments: list[str], message: str, groupproof: Call) -> None:
    called = groupproof("list", *arguments)

    assert called.code == 3
    assert message in called.complaint


def test_a_profile_tells_its_release_and_whether_it_is_verified(groupproof: Call) -> None:
    called = groupproof("list", "profiles", "--json")

    assert [item["name"] for item in called.json] == list(known_profiles())
    for entry in called.json:
        found = verification(entry["name"])
        assert entry["state"] == ("read in the sources" if found is None else f"verified with {found.release}")
        assert (entry["verified"] is None) == (found is None)
