"""Ten whole runs, certified and verified; each certificate is refused once a count, and once a trace of it was changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.reports.bundle.made import altered_by, edited, rehashed, unpacked
from tests.soaking import SEED

from groupproof.harness.commands.base.boundary import run

pytestmark = [pytest.mark.soak, pytest.mark.network]

RUNS = [
    ("client", "groupproof"),
    ("client", "groupproof", "--profile", "kafka-2.4"),
    ("client", "groupproof", "--profile", "kafka-3.0", "--level", "must"),
    ("client", "kafka-python@3.0.12"),
    ("client", "kafka-python@2.2.3"),
    ("client", "aiokafka"),
    ("client", "confluent-kafka"),
    ("coordinator", "groupproof"),
    ("coordinator", "kfake"),
    pytest.param(("coordinator", "apache-kafka@4.1.0"), marks=pytest.mark.java),
]


@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_a_whole_run_is_certified_verified_and_refused_once_it_was_changed(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = run(["certify", *words, "--seed", str(SEED), "--bundle", "out.tar.zst"])
    assert made in (0, 1, 2, 4)

    contents = (tmp_path / "out.tar.zst").read_bytes()
    assert run(["verify", "out.tar.zst"]) in (0, 2)

    files = unpacked(contents)
    counted = edited(files, "report.json", lambda report: report["totals"].update(OK=report["totals"]["OK"] + 1))
    assert "report.json: totals.OK is" in altered_by(rehashed(counted), tmp_path)
    trace = next(name for name in files if name.endswith("/trace.ndjson"))
    lines = files[trace].splitlines(keepends=True)
    assert f"{trace}: line 2 has the number 2 where 1 is due" in altered_by(rehashed({**files, trace: b"".join(lines[:1] + lines[2:])}), tmp_path)
