"""The oracle of coordinator cases: a recorded script run against the rules of a release, answer by answer."""

from __future__ import annotations

from groupproof.harness.judging.oracle.explanation import Prediction
from groupproof.harness.judging.oracle.predictions import TracePrediction, findings_of, judge_of, predictions, read, transitions
from groupproof.harness.judging.oracle.tolerance import Tolerance

__all__ = ["Prediction", "Tolerance", "TracePrediction", "findings_of", "judge_of", "predictions", "read", "transitions"]
