"""Writes a report's folder: whole or not at all, and never over what is not a report's."""

from __future__ import annotations

import json
from pathlib import Path

from groupproof.harness.report.model import RunSummary
from groupproof.harness.troubles import BrokenEnvironment, KitFailure
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["check_output", "write_report"]


def check_output(output: Path) -> None:
    """Make the folder, and raise `BrokenEnvironment` when nothing can be written there: before a run rather than after it."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrokenEnvironment(f"can't write the report to {output}: {error.strerror}; choose another --output") from error


def write_report(run: RunSummary, output: Path) -> None:
    """Write all files of the report; `output` as the user gave it, for replay lines name it so."""
    value = run.to_json(str(output))
    try:
        validate("report", value)
    except SchemaError as error:
        raise KitFailure(f"the report is not as its schema says: {error}") from error
    check_output(output)
    (output / "report.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
