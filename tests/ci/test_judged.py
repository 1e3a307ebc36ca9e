"""What the package says of its cases is what they do: a case that came to judge something else fails until `make docs` has been run.

All cases are held against it where the reference plays each of them anyway: `tests/harness/cases/test_client.py` and `test_coordinator.py`. Here is
that `make docs` plays them alike: a second look, in turn by the commit (decision 42).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import judged
import pytest
from tests.power.shares import is_in_turn

from groupproof.harness.cases.catalogue import cases_of, client_side
from groupproof.harness.model.case import script_of

SHARE = 24
"""One case in so many, others with each commit."""


@pytest.fixture(scope="module")
def data() -> Mapping[str, Mapping[str, Any]]:
    written: Mapping[str, Mapping[str, Any]] = json.loads(judged.DATA.read_text())
    return written


@pytest.mark.slow
def test_what_client_cases_judge_is_current(data: Mapping[str, Mapping[str, Any]]) -> None:
    now = judged.of_clients([case for case in client_side() if is_in_turn(case.id, SHARE)])

    assert {case: data["client"][case] for case in now} == now, "run: make docs"
    assert now


@pytest.mark.slow
def test_what_coordinator_cases_judge_is_current(data: Mapping[str, Mapping[str, Any]]) -> None:
    now = judged.of_coordinators([case for case in cases_of("coordinator") if is_in_turn(case.id, SHARE)])

    assert {case: data["coordinator"][case] for case in now} == now, "run: make docs"
    assert now


def test_every_case_is_in_it_but_the_scripts_that_are_too_long(data: Mapping[str, Mapping[str, Any]]) -> None:
    assert list(data["client"]) == sorted(case.id for case in client_side())
    assert {case.id for case in cases_of("coordinator")} - data["coordinator"].keys() == {
        case.id for case in cases_of("coordinator") if len(script_of(case).steps) > judged.SCRIPT_STEPS_MAX
    }


def test_the_check_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(judged, "DATA", tmp_path / "judged.json")
    monkeypatch.setattr(judged, "found", lambda: {"client": {"a/b/c": {"lists": ["HB-03"], "judged": []}}})
    (tmp_path / "judged.json").write_text("{}")

    assert judged.main(["--check"]) == 1
    assert "run: make docs" in capsys.readouterr().err
    assert judged.main([]) == 0
    assert (tmp_path / "judged.json").read_text() == '{\n "client": {\n  "a/b/c": {"lists": ["HB-03"], "judged": []}\n }\n}\n'
    assert judged.main(["--check"]) == 0
