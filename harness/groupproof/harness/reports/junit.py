"""`junit.xml`: the run in the format that continuous integration reads. Pure.

A test case is a case. `failure` breaks a MUST (or what `--fail-on` adds). `error` has no verdict because the shim, environment or run was not
sound. `skipped` was not judged, is a preview or is excused, or was no better in the baseline. A stale expectation is its own failure, because it
fails the run; so is a case that vanished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as xml

from groupproof.harness.judging.summary.baseline import Change
from groupproof.harness.judging.summary.run_summary import CaseReport, RunSummary
from groupproof.harness.model.case import Case
from groupproof.harness.model.report_paths import replay_line
from groupproof.harness.model.verdicts import Goodbye, Verdict

__all__ = ["junit"]

EXPECTATIONS: Final = "expectations"

_FAILURE, _ERROR, _SKIPPED = "failure", "error", "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    element: str
    type: str
    message: str


def junit(run: RunSummary, output: str) -> str:
    """Return the file. `output` is the report's folder as the user wrote it."""
    suite = xml.Element("testsuite")
    cases = [
        *(_case(case, run, output) for case in run.cases),
        *(_unreached(case) for case in run.unreached),
        *(_stale(name) for name in run.settled.stale),
        *(_vanished(change) for change in (run.delta.vanished if run.delta is not None else ())),
    ]
    counts: dict[str, str] = {
        "tests": str(len(cases)),
        "failures": _count(cases, _FAILURE),
        "errors": _count(cases, _ERROR),
        "skipped": _count(cases, _SKIPPED),
        "time": f"{run.run.duration_s:.3f}",
    }
    for name, value in {"name": f"groupproof {run.subject.title} {run.suite.profile}", **counts, "timestamp": run.run.started[:19]}.items():
        suite.set(name, _clean(value))
    suite.append(_properties(run))
    suite.extend(cases)
    suites = xml.Element("testsuites", {"name": "groupproof", **counts})
    suites.append(suite)
    xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(suites, encoding="unicode") + "\n"


def _properties(run: RunSummary) -> xml.Element:
    by_name = {
        "grade": run.grade,
        "subject": run.subject.title,
        "profile": run.suite.profile,
        "seed": str(run.run.seed),
        "interrupted": str(run.run.interrupted).lower(),
        "catalogue_sha256": run.suite.catalogue_sha256,
    }
    element = xml.Element("properties")
    for name, value in by_name.items():
        xml.SubElement(element, "property", name=name, value=_clean(value))
    return element


def _count(cases: Iterable[xml.Element], tag: str) -> str:
    return str(sum(1 for case in cases if case.find(tag) is not None))


def _testcase(id: str, seconds: float) -> xml.Element:
    area, _, name = id.rpartition("/")
    return xml.Element("testcase", classname=_clean((area or "case").replace("/", ".")), name=_clean(name), time=f"{seconds:.3f}")


def _case(report: CaseReport, run: RunSummary, output: str) -> xml.Element:
    element = _testcase(report.case.id, report.result.duration_s)
    outcome = _outcome(report, run)
    lines = list(_output_lines(report, output))
    if outcome is None:
        _add(element, "system-out", lines)
    else:
        child = xml.SubElement(element, outcome.element, type=outcome.type, message=_clean(outcome.message))
        child.text = _clean("\n".join(["", *lines, ""]))
    return element


def _outcome(report: CaseReport, run: RunSummary) -> _Outcome | None:
    """Return what is not a plain pass. Against a baseline, known results are skipped, and a case that moved off OK fails in any case."""
    outcome = next(_outcomes(report, run.run.fail_on), None)
    if run.delta is None:
        return outcome
    if outcome is not None and outcome.element != _SKIPPED and report.case.id in run.delta.known_cases and report.result.trouble is None:
        return _Outcome(element=_SKIPPED, type=outcome.type, message=f"no worse than in {run.delta.name}: {outcome.message}")
    moved = next((change for change in run.delta.moved if change.id == report.case.id), None)
    if moved is not None and (outcome is None or outcome.element == _SKIPPED):
        return _Outcome(element=_FAILURE, type="MOVED", message=str(moved))
    return outcome


def _outcomes(report: CaseReport, fail_on: frozenset[str]) -> Iterator[_Outcome]:
    """Yield what is not a plain pass, the decisive one first."""
    ruling, verdict = report.result.ruling, report.verdict
    name = verdict.value
    observed = ruling.observed or name
    if report.result.trouble is not None:
        yield _Outcome(element=_ERROR, type=type(report.result.trouble).__name__, message=str(report.result.trouble))
    if report.case.preview and verdict is not Verdict.OK:
        yield _Outcome(element=_SKIPPED, type="preview", message=f"preview, not counted: {name}: {observed}")
    elif verdict is Verdict.FAILED or (verdict is Verdict.NON_STRICT and "non-strict" in fail_on):
        yield _Outcome(element=_FAILURE, type=name, message=observed)
    elif verdict in (Verdict.BROKEN, Verdict.INCONCLUSIVE):
        yield _Outcome(element=_ERROR, type=name, message=observed)
    elif report.excuse is not None:
        yield _Outcome(element=_SKIPPED, type=name, message=f"known: {report.excuse.reason} ({report.excuse.source})")
    elif verdict is Verdict.UNIMPLEMENTED:
        yield _Outcome(element=_SKIPPED, type=name, message=observed)
    if ruling.goodbye is Goodbye.UNCLEAN and "unclean" in fail_on and not report.case.preview:
        yield _Outcome(element=_FAILURE, type=ruling.goodbye.value, message=ruling.goodbye_reason)


def _output_lines(report: CaseReport, output: str) -> Iterator[str]:
    case, ruling = report.case, report.result.ruling
    yield f"{report.verdict.value} · {case.level.value} · {case.title}"
    yield f"requirements: {', '.join(case.requirements)}"
    if ruling.expected:
        yield f"expected: {ruling.expected}"
    if ruling.observed:
        yield f"observed: {ruling.observed}"
    if ruling.goodbye is Goodbye.UNCLEAN:
        yield f"goodbye: UNCLEAN: {ruling.goodbye_reason}"
    if report.grounds:
        yield f"grounds: {report.grounds}"
    if ruling.stability != "1/1":
        yield f"stability: {ruling.stability}"
    if ruling.fingerprint:
        yield f"fingerprint: {ruling.fingerprint}"
    if report.trace is not None:
        yield f"trace: {output.rstrip('/')}/{report.trace}"
    yield f"replay: {replay_line(output, case.id)}"


def _unreached(case: Case) -> xml.Element:
    element = _testcase(case.id, 0.0)
    xml.SubElement(element, _SKIPPED, type="NOT_REACHED", message="not reached: the run was interrupted")
    return element


def _vanished(change: Change) -> xml.Element:
    element = _testcase(change.id, 0.0)
    xml.SubElement(element, _FAILURE, type="VANISHED", message=_clean(f"{change.before} in the baseline, and not in this run"))
    return element


def _stale(entry: str) -> xml.Element:
    element = xml.Element("testcase", classname=EXPECTATIONS, name=_clean(entry.partition(":")[0]), time="0.000")
    xml.SubElement(element, _FAILURE, type="STALE", message=_clean(entry))
    return element


def _add(element: xml.Element, tag: str, lines: Iterable[str]) -> None:
    xml.SubElement(element, tag).text = _clean("\n".join(["", *lines, ""]))


def _clean(text: str) -> str:
    """Return text without characters that XML cannot hold, whatever a client has sent."""
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
