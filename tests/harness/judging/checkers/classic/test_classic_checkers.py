"""What is held of classic groups, and what keeps a classic coordinator from being judged."""

from __future__ import annotations

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api


def _why(story: Trace) -> list[str]:
    return [why for look in CLASSIC_CHECKERS.blind_spots if (why := look(story))]


def test_they_are_the_checkers_of_every_case() -> None:
    assert CLASSIC_CHECKERS.dialect is CLASSIC
    assert CLASSIC_CHECKERS.members == UNIVERSAL_CHECKERS


def test_their_requirements_are_in_the_catalogue() -> None:
    ids = {requirement.id for requirement in requirements()}

    assert {*CLASSIC_CHECKERS.member_requirements, *CLASSIC_CHECKERS.invariant_requirements} <= ids


@pytest.mark.parametrize(("generation", "why"), [(1, []), (4, ["it was first seen in generation 4"])])
def test_a_group_that_was_there_before_is_not_judged(generation: int, why: list[str]) -> None:
    story = Story()
    story.join(generation=generation, members={ID: ("t",)})

    assert _why(story.trace) == why


def test_members_that_came_another_way_and_transactions_are_reasons_too() -> None:
    story = Story()
    story.join(members={ID: ("t",), "somebody-else": ("t",)})
    story.request(Api.TXN_OFFSET_COMMIT)

    assert _why(story.trace) == [
        "offsets were committed in transactions, whose end is not seen",
        "members are in it that did not come through the tap",
    ]
