"""The planted bugs of `consumer` members: each is one deviation, and breaks what the catalogue asks for."""

from __future__ import annotations

from groupproof.clients.member.policy import REFERENCE
from groupproof.clients.planted.misbehaviours_of_epochs import EPOCH_BUGS
from groupproof.protocol.rules.requirements import requirements


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len({bug.name for bug in EPOCH_BUGS}) == len(EPOCH_BUGS) >= 50


def test_each_deviates_and_names_requirements_that_exist() -> None:
    ids = {requirement.id for requirement in requirements()}
    for bug in EPOCH_BUGS:
        assert bug.policy != REFERENCE, bug.name
        assert bug.breaks, bug.name
        assert set(bug.breaks) <= ids, bug.name
