from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.spark.loads import ThreadJob

from groupproof.chaos.spark.load import spark_job as job_module
from groupproof.harness.commands.base import boundary

SHORT = ("--members", "2", "--tasks", "1", "--duration", "1s")


class ThreadsForSpark(ThreadJob):
    def __init__(self, where: str, **conf: Any) -> None:
        super().__init__()
        self.where, self.slots = where, 2

    def open(self) -> None:
        return

    def close(self) -> None:
        return


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "SparkJob", ThreadsForSpark)


@pytest.mark.slow
def test_a_load_leaves_its_trace_and_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = boundary.run(["load", *SHORT, "--output", str(tmp_path), "--json"])

    # In a second a group may form or not: then there is nothing that was loaded.
    assert code in (0, 2)
    summary = json.loads(capsys.readouterr().out)
    assert (summary["end"], summary["order"]["members"]) == ("finished", 2)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert boundary.run(["load", *SHORT, "--output", str(tmp_path)]) == 3
    assert "holds a finished load" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--churn", "third-die"], "did you mean third-dies"),
        (["--client", "franz-go"], "the client of the members is reference, librdkafka or kafka-python"),
        (["--client", "kafka-python", "--dialect", "consumer"], "kafka-python does not speak the dialect consumer"),
        (["--dialect", "share"], "members of a load speak classic or consumer, not 'share'"),
        (["--client", "librdkafka", "--churn", "zombies"], "can't be made to freeze"),
        (["--coordinator", "apache"], "did you mean apache-kafka"),
        (["--duration", "soon"], "is no span of time; write 90, 90s, 10m or 1h"),
        (["--topics", ":3"], "is no topic"),
        (["--set", "sesion_timeout_ms=1"], "did you mean session_timeout_ms"),
        (["--set", "x"], "is no setting; write NAME=VALUE"),
        (["--set", "session_timeout_ms=soon"], "--set: session_timeout_ms: Expected `int`"),
        (["--set", "remote_assignor=range"], "reference members have no setting remote_assignor in the dialect classic"),
        (["--conf", "x=1"], r"is no setting of Spark; write spark.NAME=VALUE"),
        (["--fault", "Heartbeet,drop"], "did you mean Heartbeat"),
        (["--profile", "kafka-9"], "no profile is called"),
    ],
)
def test_what_makes_no_sense_is_answered_in_a_line(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(["load", *SHORT, "--output", str(tmp_path / "out"), *arguments]) == 3
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_plans_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(["load", "--list"]) == 0
    assert "third-dies       A third of the members dies at once" in capsys.readouterr().out
