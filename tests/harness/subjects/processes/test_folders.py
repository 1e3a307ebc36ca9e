from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.processes.folders import LOGS_MAX, folders


def test_data_goes_with_the_run_and_logs_stay(tmp_path: Path) -> None:
    with folders("kafka", cache=tmp_path / "cache", logs=tmp_path / "logs") as own:
        (own.data / "0").mkdir()
        (own.logs / "broker.log").write_text("up")

    assert not own.data.exists()
    assert (tmp_path / "logs" / "broker.log").read_text() == "up"


def test_data_goes_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError), folders("kafka", cache=tmp_path, logs=None) as own:
        raise KeyError
    assert not own.data.exists()


def test_logs_without_a_place_are_kept_for_the_last_runs_alone(tmp_path: Path) -> None:
    for _ in range(LOGS_MAX + 3):
        with folders("kafka", cache=tmp_path, logs=None) as own:
            assert own.logs.is_relative_to(tmp_path / "logs")

    assert len(list((tmp_path / "logs").iterdir())) == LOGS_MAX
    assert own.logs.is_dir()


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prefix: str) -> str:
        raise PermissionError(13, f"no {prefix}")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(BrokenEnvironment, match="set GROUPPROOF_CACHE and TMPDIR"), folders("kafka", cache=tmp_path, logs=tmp_path):
        pass
