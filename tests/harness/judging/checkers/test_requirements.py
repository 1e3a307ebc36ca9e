from __future__ import annotations

import pytest

from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.judging.checkers.requirements import SPEAKS_OF
from groupproof.protocol.rules.requirements import by_id

OF_DRIVEN_CLIENTS = {"CGP-13", "CGT-03", "CLIENT-62", "CLIENT-69", "COMMIT-27"}
"""What is judged only of a client whose application the kit drives, or whose application reports what it does: not of every live group."""


def test_every_checker_of_every_case_names_its_requirements() -> None:
    assert set(SPEAKS_OF) == {*UNIVERSAL_CHECKERS, *CONSUMER_CHECKERS.members}
    names = {name for fold in CONSUMER_CHECKERS.members for name in SPEAKS_OF[fold]}
    assert names - set(CONSUMER_CHECKERS.member_requirements) == OF_DRIVEN_CLIENTS
    assert set(CONSUMER_CHECKERS.member_requirements) <= names


@pytest.mark.parametrize("requirement", sorted({name for of in SPEAKS_OF.values() for name in of}))
def test_what_they_speak_of_is_in_the_catalogue(requirement: str) -> None:
    assert by_id(requirement).id == requirement
