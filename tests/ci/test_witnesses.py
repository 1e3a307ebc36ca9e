from __future__ import annotations

import json
from pathlib import Path

import pytest
import witnesses

from groupproof.protocol.rules import coverage
from groupproof.protocol.rules.coverage import Gap

ROOT = Path(__file__).parents[2]

TESTS = """
import pytest
pytestmark = pytest.mark.{all}

@pytest.mark.requirement("JOIN-01", "HB-03")
@pytest.mark.reading("DISC-01")
def test_a(): ...

@pytest.mark.{one}
@pytest.mark.requirement("JOIN-02")
async def test_b(): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("JOIN-03"))])
def test_c(x): ...

def test_d(): ...
"""


def _found(folder: Path, **marks: str) -> dict[str, list[str]]:
    tests = folder / "tests" / "coordinator"
    tests.mkdir(parents=True)
    (tests / "test_x.py").write_text(TESTS.format(**{"all": "slow", "one": "slow", **marks}))
    return witnesses.found(folder / "tests")


def test_a_test_is_a_witness_of_what_its_marks_name(tmp_path: Path) -> None:
    test = "tests/coordinator/test_x.py::test_"

    assert _found(tmp_path) == {
        "JOIN-01": [f"{test}a"], "JOIN-02": [f"{test}b"], "JOIN-03": [f"{test}c"], "HB-03": [f"{test}a"], "DISC-01": [f"{test}a"],
    }  # fmt: skip


@pytest.mark.parametrize("mark", ["soak", "network", "java"])
def test_what_the_gate_leaves_out_proves_nothing(tmp_path: Path, mark: str) -> None:
    assert "JOIN-02" not in _found(tmp_path / "one", one=mark)
    assert _found(tmp_path / "all", all=mark) == {}


@pytest.fixture(scope="module")
def now() -> dict[str, list[str]]:
    return witnesses.found(ROOT / "tests")


def test_the_names_in_the_package_are_those_of_the_tests(now: dict[str, list[str]]) -> None:
    assert json.loads(witnesses.DATA.read_text()) == now, "run: make docs"
    assert witnesses.troubles(now, now) == []


def test_an_id_may_not_lose_its_last_witness(now: dict[str, list[str]]) -> None:
    fewer = {key: tests for key, tests in now.items() if key != "JOIN-01"}
    (complaint,) = witnesses.troubles(fewer, now)

    assert complaint.startswith("JOIN-01 had a witness, tests/coordinator/test_joining.py::")
    assert witnesses.troubles(fewer, fewer) == ["JOIN-01 has neither a witness nor a reason in unwitnessed.toml, or two"]


def test_what_is_proven_is_no_gap_and_an_unknown_id_no_requirement(now: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = coverage.gaps()
    monkeypatch.setattr(coverage, "gaps", lambda: (*gaps, Gap(needs="time", why="There was none.", ids=("TIMER-20",))))
    complaints = witnesses.troubles({**now, "TIMER-20": ["tests/test_zk.py::test_a"], "JOIN-99": ["tests/test_b.py::test_b"]}, now)

    assert complaints == [
        "tests/test_b.py::test_b: there is no requirement JOIN-99",
        "TIMER-20 has a witness, tests/test_zk.py::test_a: take it out of unwitnessed.toml",
    ]


def test_a_loss_stops_the_writing_and_the_check_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], now: dict[str, list[str]]
) -> None:
    data = tmp_path / "witnesses.json"
    monkeypatch.setattr(witnesses, "DATA", data)
    monkeypatch.setattr(witnesses, "found", lambda tests: now)
    data.write_text("{}")
    assert witnesses.main(["--check"]) == 1
    assert "run: make docs" in capsys.readouterr().err
    assert data.read_text() == "{}"

    assert witnesses.main([]) == 0
    assert json.loads(data.read_text()) == now
    assert witnesses.main(["--check"]) == 0

    before = data.read_text()
    monkeypatch.setattr(witnesses, "found", lambda tests: {key: by for key, by in now.items() if key != "JOIN-01"})
    assert witnesses.main([]) == 1
    assert "JOIN-01 had a witness" in capsys.readouterr().err
    assert data.read_text() == before
