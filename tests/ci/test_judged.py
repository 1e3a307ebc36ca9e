"""What the package says of its cases is what they do: a case that came to judge something else fails here until `make docs` has been run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import judged
import pytest

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.model.case import script_of


@pytest.fixture(scope="module")
def data() -> Mapping[str, Mapping[str, Any]]:
    written: Mapping[str, Mapping[str, Any]] = json.loads(judged.DATA.read_text())
    return written


@pytest.mark.slow
def test_what_client_cases_judge_is_current(data: Mapping[str, Mapping[str, Any]]) -> None:
    assert data["client"] == judged.of_clients(), "run: make docs"


@pytest.mark.slow
def test_what_coordinator_cases_judge_is_current(data: Mapping[str, Mapping[str, Any]]) -> None:
    assert data["coordinator"] == judged.of_coordinators(), "run: make docs"


def test_every_case_is_in_it_but_the_scripts_that_are_too_long(data: Mapping[str, Mapping[str, Any]]) -> None:
    assert list(data["client"]) == sorted(case.id for case in cases_of("client"))
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
