from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.spark.streaming.test_streaming_verdict import JOINED, played, read

from groupproof.chaos.spark import session as session_module
from groupproof.chaos.spark.streaming import streaming_scenario_run
from groupproof.chaos.spark.streaming.streaming_run import StreamingResult
from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario, scenarios
from groupproof.harness.commands.base import boundary
from groupproof.harness.subjects import spark_connector

RUN = ("chaos", "spark")


class NoSpark:
    stopped = 0

    def stop(self) -> None:
        NoSpark.stopped += 1


@pytest.fixture
def recorded_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Play nothing: every scenario comes to one query that joins and reads all; what it was called with."""
    calls: list[dict[str, Any]] = []

    def play(spark: object, scenario: Scenario, brokers: object, **options: Any) -> StreamingResult:
        calls.append({"scenario": scenario.name, "brokers": brokers, **options})
        return played(scenario.name, JOINED, read("a", 0, 1))

    monkeypatch.setattr(streaming_scenario_run, "played", play)
    monkeypatch.setattr(session_module, "session", lambda *_, **__: NoSpark())
    monkeypatch.setattr(spark_connector, "connector_jars", lambda *_: ())
    return calls


def test_the_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run([*RUN, "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [scenario.name for scenario in scenarios()]


def test_what_is_as_expected_ends_with_0_and_leaves_a_report(
    recorded_calls: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert boundary.run([*RUN, "deprecated-path", "--output", str(tmp_path), "--partitions", "2", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)
    assert value == json.loads((tmp_path / "report.json").read_text())
    assert (value["schema"], value["scenarios"][0]["verdict"]) == ("groupproof.spark-streaming/1", "OK")
    assert (recorded_calls[0]["folder"], recorded_calls[0]["partitions"], recorded_calls[0]["brokers"]) == (tmp_path / "deprecated-path", 2, None)
    assert NoSpark.stopped


def test_what_is_not_as_expected_ends_with_1_and_is_reported(
    recorded_calls: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert boundary.run([*RUN, "default-path", "--output", str(tmp_path), "--partitions", "2"]) == 1
    assert "NOT SO: Nobody sends a request of membership. JoinGroup and its like: 1." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name scenarios"),
        (["shared"], "no scenario of Spark is called 'shared'"),
        (["all", "--coordinator", "kafkaesque"], "no registered coordinator is called 'kafkaesque'"),
        (["all", "--fault", "Heartbeat"], "--fault"),
    ],
)
def test_wrong_usage_is_reported_before_spark_starts(
    arguments: list[str], message: str, recorded_calls: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert boundary.run([*RUN, *arguments]) == 3
    assert message in capsys.readouterr().err
    assert recorded_calls == []
