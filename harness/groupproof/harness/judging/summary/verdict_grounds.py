"""The grounds of a verdict in one line: its proof, the number of runs and the run that shows it, receipts, and lag. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict

__all__ = ["deciding", "grounds_of", "proof_of"]

_COUNTS = re.compile(r"(\d+)/(\d+)$")
_SILENT = frozenset({Verdict.OK, Verdict.UNIMPLEMENTED})


def grounds_of(ruling: Ruling) -> str:
    """Return the line; "" where there is nothing to prove."""
    if ruling.verdict in _SILENT or _runs(ruling)[1] == 0:
        return ""
    return " · ".join(_parts(ruling))


def proof_of(finding: Finding) -> str:
    """Return the proof of a finding in words that the number of runs completes."""
    if finding.proof is Proof.SAFETY:
        return "proven by frames and a line of the shim's" if finding.grounds is not None and finding.grounds.word else "proven on the wire"
    if finding.proof is Proof.TIMING:
        return "came late"
    if finding.grounds is not None and finding.grounds.is_reported:
        return "reported by the application's events"
    return "never came" if finding.wait is not None else "it was so at the end"


def deciding(ruling: Ruling) -> Finding | None:
    """Return the finding that decides an adverse verdict. Among several, prefer one that its run proves on the wire."""
    decisive = [finding for finding in ruling.findings if finding.verdict is ruling.verdict and finding.verdict in ADVERSE]
    of_run = [finding for finding in decisive if finding.grounds is None or finding.grounds.run == ruling.run]
    return next((finding for finding in of_run if finding.proof is Proof.SAFETY), next(iter(of_run or decisive), None))


def _parts(ruling: Ruling) -> Iterator[str]:
    count, runs = _runs(ruling)
    finding = deciding(ruling)
    word = "seen" if finding is None else proof_of(finding)
    which = f", run {ruling.run}" if count < runs and not ruling.stability.startswith("unstable") else ""
    yield f"{word} in {count} of {runs} run{'s' if runs > 1 else ''}{which}"
    yield f"{ruling.receipts} receipt{'' if ruling.receipts == 1 else 's'}"
    yield _lag(ruling)
    if finding is not None and finding.grounds is not None and finding.grounds.word:
        otherwise = "that held when it was tried" if finding.grounds.is_tried else "where that is wrong the shim is to blame"
        yield f"it rests on the shim's word for {finding.grounds.word}: {otherwise}, see groupproof shim check"
    yield from (f"repeated alone, because at first {blur}" for blur in dict.fromkeys(ruling.blurs))


def _lag(ruling: Ruling) -> str:
    if not ruling.measures_lag:
        return "the kit's lag was not measured"
    return f"the kit lagged {ruling.lag_ms:.0f} ms at most" if ruling.lag_ms else "the kit did not lag"


def _runs(ruling: Ruling) -> tuple[int, int]:
    counts = _COUNTS.search(ruling.stability)
    return (int(counts[1]), int(counts[2])) if counts is not None and int(counts[1]) else (0, 0)
