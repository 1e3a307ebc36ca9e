from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from importlib import resources
from typing import Any

import pytest

from groupproof.protocol.rules.requirements import UnknownRequirement, by_id, catalogue_sha256, nearest, requirements
from groupproof.protocol.vocabulary import Level

COUNT = 710
CONSUMER_COUNT = 550
IDS_SHA256 = "e840b9951f2129bc79a72c7cd945ff21a0488d96a4e5e2e38979c5e837b4139f"
CLIENT_COUNT = 68
PROFILES = {"kafka-1.1", "kafka-2.4+", "datalink", "zookeeper"}
CONSUMER_PROFILE = re.compile(r"kafka-4\.\d+(\.\d+)?(\+| to 4\.\d+)")

SPEC = resources.files("groupproof.protocol.rules")
LEVELS: dict[str, Any] = tomllib.loads(SPEC.joinpath("levels.toml").read_text())


def test_the_ids_are_final() -> None:
    every = [requirement.id for requirement in requirements()]
    ids = [id for id in every if not id.startswith("CG")]

    assert len(every) == len(set(every)) == COUNT + CONSUMER_COUNT
    assert len(ids) == COUNT
    assert hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest() == IDS_SHA256, "an id was added, dropped or renamed; ids are final"


def test_every_requirement_is_a_sentence_with_a_level_and_a_reason_for_it() -> None:
    for requirement in requirements():
        assert requirement.level in Level, requirement.id
        assert requirement.text.strip(), requirement.id
        assert requirement.reason.strip(), requirement.id
        assert requirement.source.strip(), requirement.id
        assert requirement.observe.strip(), requirement.id
        assert all(profile in PROFILES or CONSUMER_PROFILE.fullmatch(profile) for profile in requirement.profiles), requirement.id
        assert requirement.profiles, requirement.id


def test_no_level_is_given_to_an_id_or_a_family_that_is_not_there() -> None:
    ids = {requirement.id for requirement in requirements()}
    families = {requirement.family for requirement in requirements()}

    assert set(LEVELS["requirements"]) <= ids
    assert set(LEVELS["families"]) | {"CLIENT"} == families


def test_every_client_requirement_is_judged_by_itself() -> None:
    client = {requirement.id for requirement in requirements() if requirement.family == "CLIENT"}

    assert len(client) == CLIENT_COUNT
    assert client <= set(LEVELS["requirements"])
    assert "CLIENT" not in LEVELS["families"]


def test_an_exception_says_more_than_its_family() -> None:
    for requirement, judged in LEVELS["requirements"].items():
        family = LEVELS["families"].get(requirement.rpartition("-")[0])
        assert judged != family, f"{requirement} repeats its family's level and reason"


@pytest.mark.parametrize(
    ("requirement", "level"),
    [
        ("CLIENT-47", Level.SHOULD),  # the contract: dropping the id on 22 is NON_STRICT, keeping it OK
        ("CLIENT-76", Level.MUST),  # yet a client that never rejoins is lost to its group
        ("CLIENT-43", Level.INFO),  # heartbeats between join and sync are legal
        ("CLIENT-60", Level.INFO),  # so are background joins
        ("CLIENT-73", Level.SHOULD),  # a ghost member until its session ends
        ("CLIENT-66", Level.MUST),  # a stale commit
        ("DIAG-01", Level.INFO),  # a log line
        ("HB-07", Level.MUST),  # an answer that clients see
        ("JOIN-25", Level.SHOULD),  # a needless rebalance
    ],
)
def test_levels_follow_the_contracts_rule(requirement: str, level: Level) -> None:
    assert by_id(requirement).level is level


def test_a_reference_to_another_requirement_is_never_dangling() -> None:
    ids = {requirement.id for requirement in requirements()}
    cited = re.compile(rf"\b(?:{'|'.join(sorted({requirement.family for requirement in requirements()}))})-\d+\b")

    for item in requirements():
        for text in (item.text, item.reason, item.observe, item.source):
            assert set(cited.findall(text)) <= ids, item.id


def test_sources_are_shown_by_the_number_of_their_seed() -> None:
    assert not [
        requirement.id for requirement in requirements() if re.search(r"[0-9a-f]{16}", requirement.source + requirement.text + requirement.observe)
    ]
    assert "seed 000" in by_id("FIND-01").source


def test_an_unknown_id_is_answered_with_the_nearest_right_ones() -> None:
    assert nearest("hb-3")[0] in {"HB-03", "HB-13", "HB-53"}
    assert nearest("CLIENT47")[0] == "CLIENT-47"
    with pytest.raises(UnknownRequirement, match=r"no requirement HB-99; did you mean HB-"):
        by_id("HB-99")
    with pytest.raises(UnknownRequirement, match=r"no requirement \?$"):
        by_id("?")


def test_families_are_the_ids_without_their_numbers() -> None:
    counts = Counter(requirement.family for requirement in requirements())

    assert counts["CLIENT"] == CLIENT_COUNT
    assert counts["TR"] == 107
    assert counts["ERR"] == 22


def test_a_note_says_what_is_judged_where_the_sentence_alone_asks_for_more() -> None:
    noted = {requirement.id: requirement.note for requirement in requirements() if requirement.note}

    assert noted.keys() == tomllib.loads(SPEC.joinpath("judged_notes.toml").read_text()).keys()
    assert "share an epoch" in noted["CGI-14"]
    assert "order of the others is open" in noted["CGA-22"]
    assert all("decision 73" in note for note in noted.values())


def test_the_digest_covers_sentences_and_levels() -> None:
    files = ("requirements.json", "consumer_requirements.json", "levels.toml")

    assert catalogue_sha256() == hashlib.sha256(b"".join(SPEC.joinpath(name).read_bytes() for name in files)).hexdigest()


def test_a_requirement_of_the_consumer_protocol_brings_its_level_its_side_and_where_it_was_measured() -> None:
    accepted, committed = by_id("CGM-19"), by_id("CGO-03")

    assert (accepted.level, accepted.side, accepted.profiles) == (Level.MUST, "coordinator", ("kafka-4.2+",))
    assert committed.profiles == ("kafka-4.0 to 4.2",)
    assert "E01" in accepted.measured
    assert accepted.observe.startswith("W: ")
    assert by_id("CGM-04").reason == LEVELS["consumer"]["INFO"]


@pytest.mark.parametrize("name", ["requirements.json", "consumer_requirements.json"])
def test_the_data_file_holds_one_requirement_a_line_so_that_a_change_is_one_line_of_a_diff(name: str) -> None:
    text = SPEC.joinpath(name).read_text()

    assert len(json.loads(text)) == len(text.splitlines()) - 2
