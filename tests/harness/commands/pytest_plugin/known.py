"""A known failure, made by hand."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from groupproof.harness.judging.summary.expectations import KnownFailure
from groupproof.harness.model.verdicts import Verdict

__all__ = ["KNOWN"]

KNOWN = KnownFailure(
    case="heartbeat/classic/illegal-generation",
    verdict=Verdict.FAILED,
    reason="drops its id",
    source="https://example.org/7",
    subject=SpecifierSet(""),
    fingerprint="f00",
    where="known.toml, entry 1",
)
