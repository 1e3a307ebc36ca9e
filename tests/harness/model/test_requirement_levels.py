from __future__ import annotations

import pytest

from groupproof.harness.model.requirement_levels import MOST_SEVERE, capped, highest_level
from groupproof.harness.model.verdicts import Finding, Level, Verdict
from groupproof.protocol.rules.requirements import UnknownRequirement, by_id

F, N, INFO, OK = Verdict.FAILED, Verdict.NON_STRICT, Verdict.INFORMATIONAL, Verdict.OK


def finding(verdict: Verdict, requirement: str) -> Finding:
    return Finding(verdict=verdict, requirement=requirement, expected="", observed="")


@pytest.mark.parametrize(
    ("requirement", "level", "verdicts"),
    [
        ("CLIENT-63", Level.MUST, {F: F, N: N, INFO: INFO, OK: OK}),
        ("CLIENT-73", Level.SHOULD, {F: N, N: N, INFO: INFO, OK: OK}),
        ("CLIENT-72", Level.INFO, {F: INFO, N: INFO, INFO: INFO, OK: OK}),
        ("MY-01", None, {F: F, N: N, OK: OK}),
    ],
)
def test_a_finding_is_not_more_severe_than_its_requirement(requirement: str, level: Level | None, verdicts: dict[Verdict, Verdict]) -> None:
    assert level is None or by_id(requirement).level is level
    assert {verdict: capped(finding(verdict, requirement)).verdict for verdict in verdicts} == verdicts


def test_what_decides_nothing_is_left_as_it_is() -> None:
    for verdict in (Verdict.INCONCLUSIVE, Verdict.BROKEN, Verdict.UNIMPLEMENTED):
        assert capped(finding(verdict, "CLIENT-72")).verdict is verdict


def test_every_level_has_a_most_severe_verdict() -> None:
    assert set(MOST_SEVERE) == set(Level)


def test_the_most_severe_level_of_some_requirements_is_that_of_a_case_about_them() -> None:
    assert highest_level(("CLIENT-72", "CLIENT-63", "CLIENT-73")) is Level.MUST
    assert highest_level(("CLIENT-72", "CLIENT-73")) is Level.SHOULD
    assert highest_level(iter(("CLIENT-72",))) is Level.INFO
    with pytest.raises(UnknownRequirement, match="MY-01"):
        highest_level(("CLIENT-72", "MY-01"))
