"""The report on Spark's Kafka source: `report.json`, `report.html`, and the trace of each scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from groupproof.chaos.spark.streaming.streaming_picture import drawn
from groupproof.chaos.spark.streaming.streaming_run import StreamingResult
from groupproof.chaos.spark.streaming.streaming_verdict import ScenarioOutcome, outcome_of
from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.reports.output_folder import check_folder, write_text
from groupproof.harness.reports.pages.template_engine import environment
from groupproof.harness.reports.pictures.palette import VERDICT_COLOURS
from groupproof.harness.running.trace_check import check_files
from groupproof.protocol.schemas import validate
from groupproof.protocol.trace import write_trace

__all__ = ["SCHEMA", "TRACE", "judged", "write_streaming_report"]

SCHEMA: Final = "groupproof.spark-streaming/1"
TRACE: Final = "trace.ndjson"


def judged(result: StreamingResult, folder: Path) -> ScenarioOutcome:
    """Write the scenario's trace, and judge it as `groupproof trace check` does; raise `BrokenEnvironment` where it cannot be written."""
    with check_folder(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / TRACE, "".join(f"{line}\n" for line in write_trace(result.trace)))
    return outcome_of(result, check_files([folder / TRACE], every_case, UNIVERSAL).results)


def write_streaming_report(
    output: Path, head: Mapping[str, Any], had: Sequence[tuple[StreamingResult, ScenarioOutcome]], *, partitions: int
) -> dict[str, Any]:
    """Write the page and the JSON, and return the JSON; raise `BrokenEnvironment`."""
    value = {"schema": SCHEMA, **head, "scenarios": [outcome.to_json() for _, outcome in had]}
    pictured = [
        {"outcome": outcome, "colour": VERDICT_COLOURS[outcome.verdict], "picture": drawn(result, outcome.assignments, partitions)}
        for result, outcome in had
    ]
    validate("spark-streaming", value)
    template = (files("groupproof.chaos.spark") / "streaming_report.html.j2").read_text("utf-8")
    with check_folder(output):
        write_text(output / "report.html", environment().from_string(template).render(head=head, outcomes=pictured))
        write_text(output / "report.json", json.dumps(value, ensure_ascii=False, indent=1) + "\n")
    return value
