"""junit.xml: one test case a case. A failure is the subject's, an error is not; what was not judged is skipped, never green."""

from __future__ import annotations

from xml.etree import ElementTree

from groupproof.harness.certification import Certification
from groupproof.harness.runner import CaseResult
from groupproof.harness.verdicts import Verdict

__all__ = ["junit_of"]

_ERRORS = frozenset({Verdict.BROKEN, Verdict.INCONCLUSIVE})
_SKIPPED = frozenset({Verdict.UNIMPLEMENTED, Verdict.EXCUSED})


def junit_of(run: Certification) -> str:
    """Return the document; stale expectations are failures of a suite of their own."""
    root = ElementTree.Element("testsuites", name=f"groupproof {run.subject.title} {run.profile}")
    suite = _suite(root, "groupproof.cases")
    for result in run.results:
        _case(suite, run, result)
    if run.settled.stale:
        expectations = _suite(root, "groupproof.expectations")
        for stale in run.settled.stale:
            entry = ElementTree.SubElement(expectations, "testcase", classname="expectations", name=stale.split(": ")[0])
            ElementTree.SubElement(entry, "failure", message=f"stale: {stale}", type="STALE")
    for each in root:
        _count(each)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(root, "testsuite", name=name)


def _count(suite: ElementTree.Element) -> None:
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in suite):.3f}")


def _case(suite: ElementTree.Element, run: Certification, result: CaseResult) -> None:
    case, verdict = result.case, run.verdict_of(result)
    area, _, name = case.id.rpartition("/")
    element = ElementTree.SubElement(suite, "testcase", classname=area.replace("/", "."), name=name, time=f"{result.duration_s:.3f}")
    told = _printable(f"{verdict.value}: {result.ruling.observed}")
    if verdict is Verdict.FAILED and not case.preview:
        _outcome(element, "failure", told, run, result)
    elif result.trouble is not None or (verdict in _ERRORS and not case.preview):
        _outcome(element, "error", told, run, result)
    elif verdict in _SKIPPED or case.preview and verdict is not Verdict.OK:
        ElementTree.SubElement(element, "skipped", message=told)
    elif verdict is not Verdict.OK:
        ElementTree.SubElement(element, "system-out").text = told


def _outcome(element: ElementTree.Element, tag: str, told: str, run: Certification, result: CaseResult) -> None:
    outcome = ElementTree.SubElement(element, tag, message=told, type=result.ruling.verdict.value)
    lines = [
        f"requirements: {', '.join(result.case.requirements)}",
        f"expected: {result.ruling.expected}",
        f"observed: {result.ruling.observed}",
        *(f"{each.requirement}: {each.detail}" for each in result.ruling.findings if each.detail),
        f"replay: {run.replay_of(result)}",
    ]
    outcome.text = _printable("\n".join(lines))


def _printable(text: str) -> str:
    """Leave out what XML 1.0 can't hold, such as the escape codes of a shim's log."""
    return "".join(char for char in text if char in "\t\n" or ord(char) >= 32)
