"""Reads a run's `report.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["REPORT", "folder_of", "read_report", "title_of"]

REPORT: Final = "report.json"


def read_report(path: Path) -> Mapping[str, Any]:
    """Return the report of a run, by its folder or its file. Raise `WrongUsage` where it is no report."""
    file = path if path.suffix == ".json" else path / REPORT
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        validate("report", value)
    except OSError as error:
        raise WrongUsage(f"can't read {file}: {error.strerror}; name folders that a run has written") from error
    except SchemaError as error:
        raise WrongUsage(f"{file} is no report of a version that this one reads: {error}") from error
    except ValueError as error:
        raise WrongUsage(f"{file} is no JSON: {error}") from error
    report: Mapping[str, Any] = value
    return report


def folder_of(path: Path) -> Path:
    """Return the folder of a report that was named by its folder or its file."""
    return path.parent if path.suffix == ".json" else path


def title_of(report: Mapping[str, Any]) -> str:
    """Return the subject's name, with its release if it has one."""
    subject = report["subject"]
    return " ".join(filter(None, (subject["name"], subject["version"])))
