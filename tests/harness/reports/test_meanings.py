from __future__ import annotations

from groupproof.harness.model.verdicts import Goodbye, Level, Proof, Verdict
from groupproof.harness.reports.meanings import GOODBYES, GRADES, LEVELS, PROOFS, VERDICTS, grade_word


def test_every_word_has_its_meaning() -> None:
    assert set(VERDICTS) == set(Verdict)
    assert set(GOODBYES) == set(Goodbye)
    assert set(LEVELS) == set(Level)
    assert set(PROOFS) == set(Proof)


def test_a_grade_is_looked_up_without_its_count() -> None:
    assert grade_word("PARTIAL 3/40") == "PARTIAL"
    assert {grade_word(grade) for grade in ("PASSED", "FAILED", "PARTIAL 1/2", "NO_VERDICT")} == set(GRADES)
