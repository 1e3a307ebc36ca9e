"""The oracle of coordinator cases: a recorded script run against the rules of a release, answer by answer."""

from __future__ import annotations

from groupproof.harness.oracle.reading import Reading, findings_of, judge_of, predictions, read, transitions
from groupproof.harness.oracle.telling import Prediction
from groupproof.harness.oracle.tolerance import Tolerance

__all__ = ["Prediction", "Reading", "Tolerance", "findings_of", "judge_of", "predictions", "read", "transitions"]
