"""summary.md: a run for a pull request's comment; the verdicts in a line, then only what a reader must act on."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.certification import Certification
from groupproof.harness.runner import CaseResult
from groupproof.harness.verdicts import Goodbye, Verdict

__all__ = ["headline", "summary_of"]

_SHOWN = (Verdict.FAILED, Verdict.BROKEN, Verdict.INCONCLUSIVE, Verdict.NON_STRICT, Verdict.EXCUSED)
_TITLES = {
    Verdict.FAILED: "Failed: breaks a MUST",
    Verdict.BROKEN: "Broken: the shim, not the client",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.NON_STRICT: "Non-strict: breaks a SHOULD, or passes by a tolerated alternative",
    Verdict.EXCUSED: "Excused: known, and still failing in the same way",
}


def headline(run: Certification) -> str:
    """Return the run in one line."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.totals.items() if count)
    interrupted = ", interrupted" if run.interrupted else ""
    return f"{run.subject.title} against {run.profile}: {run.grade}{interrupted} ({counts or 'nothing judged'}) in {run.duration_s:.1f} s"


def summary_of(run: Certification) -> str:
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Certification) -> Iterator[str]:
    yield f"## groupproof: {run.subject.title}"
    yield ""
    yield f"**{run.grade}**{' (interrupted)' if run.interrupted else ''} against `{run.profile}`, seed `{run.seed}`, {run.duration_s:.1f} s."
    yield ""
    yield "| " + " | ".join(run.totals) + " |"
    yield "|" + " ---: |" * len(run.totals)
    yield "| " + " | ".join(str(count) for count in run.totals.values()) + " |"
    if run.settled.stale:
        yield from ("", "### Stale expectations", "", *(f"- {each}" for each in run.settled.stale))
    for verdict in _SHOWN:
        shown = [each for each in run.results if run.verdict_of(each) is verdict]
        if shown:
            yield from ("", f"### {_TITLES[verdict]}", "", "| case | requirements | expected | observed |", "| --- | --- | --- | --- |")
            yield from (_row(run, each) for each in shown)
    unclean = [each for each in run.results if each.ruling.goodbye is Goodbye.UNCLEAN]
    if unclean:
        yield from ("", "### Unclean goodbyes", "", *(f"- `{each.case.id}`: {each.ruling.goodbye_reason}" for each in unclean))
    yield from ("", f"Again: `{' '.join(run.command)}`")


def _row(run: Certification, result: CaseResult) -> str:
    excuse = run.excuse_of(result)
    observed = result.ruling.observed + (f" ({excuse.reason}: {excuse.source})" if excuse else "")
    stability = "" if result.ruling.stability in ("1/1", "3/3") else f" [{result.ruling.stability}]"
    cells = (f"`{result.case.id}`", ", ".join(result.case.requirements), result.ruling.expected, observed + stability)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
