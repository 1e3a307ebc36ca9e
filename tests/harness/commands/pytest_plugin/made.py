"""Run plans and results made by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.commands.pytest_plugin.pytest_options import PytestOptions
from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
from groupproof.harness.commands.pytest_plugin.xdist_shares import RunEnd, SharedResult, SubjectRecord
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.expectations import Expectations
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.verdicts import Finding, Goodbye, Verdict

__all__ = ["CASE", "OTHER", "about", "options", "ruling", "run_plan", "shared_result", "subject_record"]

CASE = next(case for case in cases_of("client") if case.id == "heartbeat/classic/illegal-generation")
OTHER = next(case for case in cases_of("client") if case.id == "heartbeat/classic/rebalance-in-progress")
SUBJECT = SubjectInfo(name="odd", version="1.2", language="python", capabilities=("classic",), spec="odd@1.2")


def options(**changed: Any) -> PytestOptions:
    plain: dict[str, Any] = {
        "side": "client", "named": "groupproof", "program": (), "profile": None, "only": (), "skip": (), "level": "info", "seed": 1, "jobs": None,
        "timeout_s": None, "shim_level": None, "fail_on": frozenset(), "expect": (), "output": None,
    }  # fmt: skip
    return PytestOptions(**{**plain, **changed})


def run_plan(expectations: Expectations | None = None, **changed: Any) -> RunPlan:
    named = {"expect": (Path("known.toml"),)} if expectations is not None else {}
    return RunPlan(options=options(**{**named, **changed}), cases=(CASE, OTHER), expectations=expectations or Expectations())


def ruling(verdict: Verdict, *, observed: str = "It went on.", goodbye: Goodbye = Goodbye.CLEAN, fingerprint: str = "") -> Ruling:
    finding = Finding(verdict=verdict, requirement="HB-03", expected="It rejoins.", observed=observed)
    return Ruling(
        verdict=verdict,
        goodbye=goodbye,
        stability="1/1",
        expected="It rejoins.",
        observed=observed,
        fingerprint=fingerprint,
        receipts=1,
        findings=(finding,),
        goodbye_reason="odd went without a LeaveGroup" if goodbye is Goodbye.UNCLEAN else "",
    )


def subject_record() -> SubjectRecord:
    return SubjectRecord(subject=SUBJECT, release="1.2", profile="kafka-4.1", shipped=None)


def shared_result(verdict: Verdict, case: str = CASE.id, *, trouble: RunError | None = None, **of_ruling: Any) -> SharedResult:
    return SharedResult(case=case, subject_record=subject_record(), ruling=ruling(verdict, **of_ruling), plays=(), duration_s=0.5, trouble=trouble)


def about(started_s: int = 0, duration_s: float = 2.0, **changed: Any) -> RunEnd:
    plain: dict[str, Any] = {
        "subject": SUBJECT,
        "subject_record": subject_record(),
        "jobs": 4,
        "is_virtual": False,
        "environment": {"lag_ms_worst": 3.0},
    }
    return RunEnd(**{**plain, "started": datetime.fromtimestamp(started_s, UTC), "duration_s": duration_s, **changed})
