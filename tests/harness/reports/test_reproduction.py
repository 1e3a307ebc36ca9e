from __future__ import annotations

from typing import Any

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.reports.reproduction import reproduction


def of(command: list[str] | str, **subject: Any) -> str:
    made = report({"leave/classic/close": ("OK", None)})
    made["subject"] |= {"name": "kafka-python", "version": "3.0.12"} | subject
    made["run"] |= {"command": command, "seed": 7}
    return " ".join(reproduction(made))


@pytest.mark.parametrize("named", ["kafka-python", "kafka-python@3.0.12"])
def test_a_registered_client_is_named_with_its_release(named: str) -> None:
    line = of(["groupproof", "certify", "client", "--output", "/tmp/x", named, "--only", "join"])

    assert line == "groupproof certify client kafka-python@3.0.12 --profile kafka-4.1 --seed 7"


def test_a_program_stands_behind_the_dashes() -> None:
    assert of(["groupproof", "certify", "client", "--", "node", "my shim.mjs"]) == (
        "groupproof certify client --profile kafka-4.1 --seed 7 -- node my shim.mjs"
    )


def test_a_broker_is_named_by_its_address() -> None:
    line = of(["groupproof", "certify", "coordinator", "127.0.0.1:9092"], side="coordinator", name="a broker", version=None)

    assert line == "groupproof certify coordinator 127.0.0.1:9092 --profile kafka-4.1 --seed 7"


def test_the_reference_has_no_releases_to_choose_from() -> None:
    assert of("groupproof certify client groupproof", name="groupproof", version="0.1.0").startswith("groupproof certify client groupproof --profile")


def test_the_words_of_a_published_run_stay_as_they_are() -> None:
    once = of(["groupproof", "certify", "client", "kafka-python"])

    assert of(once) == once
