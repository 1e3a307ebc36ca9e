from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from tests.harness.reports.bundle.made import CLOSE, REJOIN, client

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.judging.summary.grade import required_of
from groupproof.harness.reports.bundle.manifest import UserChoices, cases_sha256, libraries, manifest_of, reproduction
from groupproof.protocol.rules.requirements import catalogue_sha256
from groupproof.protocol.schemas import validate


def report_of(**subject: Any) -> dict[str, Any]:
    return {
        "subject": {"side": "client", "spec": "kafka-python@3.0.12", "name": "kafka-python", "version": "3.0.12", **subject},
        "run": {"profile": "kafka-4.1", "seed": 7, "level": "info", "fail_on": []},
        "selection": {"only": [], "skip": [], "others": []},
        "expectations": [],
    }


@pytest.mark.slow
def test_the_manifest_of_a_run_says_by_what_and_of_whom_and_which_cases_it_takes() -> None:
    run = client().summary
    manifest = manifest_of(run, UserChoices(skip=["x"]), expectations=[], files={"report.json": ("0" * 64, 3)})

    validate("bundle", manifest)
    assert manifest["kit"]["catalogue_sha256"] == catalogue_sha256()
    assert manifest["required"] == [case.id for case in required_of(cases_of("client", run.subject.capabilities), "info")]
    assert manifest["selected"] == [case.id for case in run.selected]
    assert set(manifest["selected"]) == {CLOSE, REJOIN}
    assert manifest["unreached"] == []
    assert manifest["files"] == {"report.json": {"sha256": "0" * 64, "bytes": 3}}
    assert {"trio", "kio", "zstandard"} <= manifest["made_with"]["libraries"].keys()
    assert manifest["reproduce"].endswith("--seed 1 --skip x")
    assert manifest_of(replace(run, results=()), UserChoices(), expectations=[], files={})["unreached"] == manifest["selected"]


def test_the_command_that_has_the_run_again_names_release_profile_and_seed() -> None:
    assert reproduction(report_of()) == "groupproof certify client kafka-python@3.0.12 --profile kafka-4.1 --seed 7"
    assert " aiokafka@0.14.0 " in reproduction(report_of(spec="aiokafka", name="aiokafka", version="0.14.0"))
    assert " groupproof --profile" in reproduction(report_of(spec="groupproof", name="groupproof", version="0.1.0"))
    assert " localhost:9092 --profile" in reproduction(report_of(side="coordinator", spec="localhost:9092", name="localhost:9092", version=None))


def test_what_was_chosen_stands_in_the_command_and_a_program_behind_it() -> None:
    manifest = report_of(spec=["python", "my shim.py"])
    manifest["run"].update(level="must", fail_on=["unclean"])
    manifest["selection"].update(only=["a", "b"], skip=["c"], others=["--shim-level", "0"])
    manifest["expectations"] = ["expectations/1-x.toml"]

    words = shlex.split(reproduction(manifest))

    assert words[:8] == ["groupproof", "certify", "client", "--profile", "kafka-4.1", "--seed", "7", "--level"]
    assert words[8:] == [
        "must", "--only", "a", "--only", "b", "--skip", "c", "--shim-level", "0", "--expect", "expectations/1-x.toml", "--fail-on", "unclean",
        "--", "python", "my shim.py",
    ]  # fmt: skip


def test_each_side_has_a_digest_of_its_cases() -> None:
    assert cases_sha256("client") != cases_sha256("coordinator")
    assert cases_sha256("client") == cases_sha256("client")
    assert len(cases_sha256("coordinator")) == 64


def test_the_libraries_are_those_of_the_kit_and_not_of_its_extras() -> None:
    assert "pyspark" not in libraries()
    assert json.dumps(libraries())
