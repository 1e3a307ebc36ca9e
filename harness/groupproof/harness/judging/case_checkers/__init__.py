"""Judges: small pure functions over `Evidence`, and factories of them for the cases to name.

`UNIVERSAL` are run on every case: what is illegal or unsafe whatever the case is about. They return findings only where a rule is
broken; a case's own judges say OK, so that nothing judged is never a pass.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_FOLDS
from groupproof.harness.model.case import Judge

__all__ = ["UNIVERSAL"]

UNIVERSAL: Final[tuple[Judge, ...]] = (folded(*UNIVERSAL_FOLDS),)
