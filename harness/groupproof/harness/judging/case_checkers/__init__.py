"""Judges: small pure functions over `Evidence`, and factories of them that the cases name.

`UNIVERSAL` run on every case and check what is illegal or unsafe in any case. They return findings only where a rule is broken. A case's own judges
also yield OK, so that a case without a judged observation is never a pass.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.model.case import Judge

__all__ = ["UNIVERSAL"]

UNIVERSAL: Final[tuple[Judge, ...]] = (folded(*UNIVERSAL_CHECKERS),)
