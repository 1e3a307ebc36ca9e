"""Reports: one run as JSON, a page, JUnit, a badge and Markdown, with each case's evidence beside it; several runs as a matrix."""

from __future__ import annotations

from groupproof.harness.report.matrix import write_matrix
from groupproof.harness.report.model import CaseReport, RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.report.writing import check_output, write_report

__all__ = ["CaseReport", "RunInfo", "RunSummary", "SubjectInfo", "SuiteInfo", "check_output", "write_matrix", "write_report"]
