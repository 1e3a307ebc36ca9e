"""Releases of a client that does not exist: the reference member with a planted bug, and without."""

from __future__ import annotations

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.museum_row import Visit
from groupproof.harness.subjects.client_registry import Candidate
from groupproof.harness.subjects.subject import ReferenceSubject

__all__ = ["CASE", "OTHER", "ROWS", "release_of"]

CASE = "heartbeat/classic/illegal-generation"
OTHER = "leave/classic/close"

ROWS = f"""
[[row]]
name = "zombie"
client = "fake"
buggy = "1.0"
fixed = "1.1"
case = "{CASE}"
title = "It goes on with its old generation."
source = "https://example.org/zombie"
verdict = "FAILED"
observed = "No JoinGroup came."
"""

_VARIANTS = {"1.0": "ignores-heartbeat-22", "1.1": None}


def release_of(visit: Visit) -> Candidate:
    """Return a release as a candidate; raise `BrokenEnvironment` for one that there is not."""
    name, _, release = visit.subject.partition("@")
    if release not in _VARIANTS:
        raise BrokenEnvironment(f"{visit.subject} is not available here")
    subject = ReferenceSubject(run_shim, is_virtual=True, variant=_VARIANTS[release])
    return Candidate(name=name, release=release, subject=subject, words=(visit.subject,), jobs=4)
