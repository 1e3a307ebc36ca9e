"""report.json: the machine's form of a run, validated against the schema that ships with the kit."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from groupproof.harness.certification import Certification
from groupproof.harness.runner import CaseResult
from groupproof.protocol.schemas import validate
from groupproof.protocol.spec.requirements import catalogue_sha256

__all__ = ["document_of", "suite_version"]


def suite_version() -> str:
    """Return this kit's version, or 0 when it runs from a work tree that was never installed."""
    try:
        return version("groupproof")
    except PackageNotFoundError:
        return "0"


def document_of(run: Certification) -> dict[str, Any]:
    """Return the report as JSON has it; raise `SchemaError` if it is not as its schema says, which would be the kit's own failure."""
    subject = run.subject
    document = {
        "schema": "groupproof.report/1",
        "suite": {"version": suite_version(), "catalogue_sha256": catalogue_sha256(), "profile": run.profile, "dialect": "classic"},
        "subject": {
            "side": subject.side,
            "name": subject.name,
            "version": subject.version,
            "language": subject.language,
            "capabilities": sorted(subject.capabilities),
        },
        "run": {
            "seed": run.seed,
            "started": run.started,
            "duration_s": round(run.duration_s, 3),
            "jobs": run.jobs,
            "faults": "frames",
            "environment": dict(run.environment),
            "command": list(run.command),
            "interrupted": run.interrupted,
        },
        "totals": run.totals,
        "grade": run.grade,
        "cases": [_case(run, each) for each in run.results],
    }
    validate("report", document)
    return document


def _case(run: Certification, result: CaseResult) -> dict[str, Any]:
    case, ruling = result.case, result.ruling
    return {
        "id": case.id,
        "title": case.title,
        "requirements": list(case.requirements),
        "level": case.level.value,
        "preview": case.preview,
        "time": "virtual" if run.is_virtual else "wall",
        "verdict": run.verdict_of(result).value,
        "goodbye": ruling.goodbye.value,
        "stability": ruling.stability,
        "expected": ruling.expected,
        "observed": ruling.observed,
        "fingerprint": ruling.fingerprint or None,
        "receipts": ruling.receipts,
        "duration_s": round(result.duration_s, 3),
        "trace": f"cases/{case.id}/trace.ndjson" if result.plays and run.output is not None else None,
        "replay": run.replay_of(result),
    }
