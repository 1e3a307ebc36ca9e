from __future__ import annotations

from groupproof.protocol.rules import profile, profiles
from groupproof.protocol.rules.consumer.mends import MENDED, MENDS
from groupproof.protocol.rules.profiles import mixed
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Level


def test_no_release_has_a_mend_and_a_profile_that_is_mixed_for_it_does() -> None:
    assert {name for item in profiles() for name in profile(item).fields} & MENDS.keys() == set()
    assert [profile(mixed("kafka-4.4", mend, MENDED)).fields[mend] for mend in MENDS] == [1] * len(MENDS)


def test_a_mended_coordinator_keeps_a_must() -> None:
    assert {by_id(requirement).level for requirement in MENDS.values()} == {Level.MUST}
