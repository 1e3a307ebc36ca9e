"""The oracle of coordinator cases: it compares each recorded answer to a script with the rules of a release."""

from __future__ import annotations

from groupproof.harness.judging.oracle.explanation import Prediction
from groupproof.harness.judging.oracle.predictions import TracePrediction, findings_of, judge_of, predictions, read, transitions
from groupproof.harness.judging.oracle.tolerance import Tolerance

__all__ = ["Prediction", "Tolerance", "TracePrediction", "findings_of", "judge_of", "predictions", "read", "transitions"]
