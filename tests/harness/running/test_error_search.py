from __future__ import annotations

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure
from groupproof.harness.running.error_search import trouble_in


def test_the_trouble_in_a_group_of_errors_is_found() -> None:
    inner = BrokenEnvironment("no port")

    assert trouble_in(ExceptionGroup("outer", [ExceptionGroup("inner", [inner])])) is inner
    assert trouble_in(inner) is inner
    ours = trouble_in(ExceptionGroup("outer", [ValueError("x")]), CASES[0])
    assert isinstance(ours, KitFailure)
    assert str(ours) == f"groupproof itself failed in {CASES[0].id}: ValueError: x"


def test_a_package_that_is_missing_is_the_environments_trouble() -> None:
    absent = trouble_in(ExceptionGroup("outer", [ModuleNotFoundError("no hypothesis", name="hypothesis.strategies")]))

    assert isinstance(absent, BrokenEnvironment)
    assert "hypothesis" in str(absent)
