from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.harness.subjects.java_for_spark import Java, find_java, javas


def installed(home: Path, release: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch()
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return home


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the only place where a Java can be."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("groupproof.harness.subjects.java_for_spark._FOLDERS", (str(tmp_path / "jvm"),))
    return tmp_path


def test_the_java_of_java_home_comes_first(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(alone / "jvm" / "a", "17.0.15")
    named = installed(alone / "mine", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(named))

    assert [java.release for java in javas()] == ["21.0.2", "17.0.15"]
    assert find_java() == Java(home=named, release="21.0.2")


@pytest.mark.parametrize(("release", "fits"), [("11.0.2", False), ("17.0.15", True), ("21", True), ("25.0.1", False)])
def test_spark_runs_on_17_to_21(release: str, fits: bool) -> None:
    assert Java(home=Path("/j"), release=release).fits is fits


def test_one_that_does_not_fit_is_passed_over(alone: Path) -> None:
    installed(alone / "jvm" / "25", "25")
    fit = installed(alone / "jvm" / "z17", "17.0.1")

    assert find_java() == Java(home=fit, release="17.0.1")


def test_without_java_there_is_none(alone: Path) -> None:
    assert list(javas()) == []
    assert find_java() is None
