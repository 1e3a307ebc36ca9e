from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile, profiles
from groupproof.protocol.rules.consumer.mends import MENDED, MENDED_ROWS, MENDS, mends_of
from groupproof.protocol.rules.profiles import UnknownProfile, mixed
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Level


def test_no_release_has_a_mend_and_a_profile_that_is_mixed_for_it_does() -> None:
    assert {name for item in profiles() for name in profile(item).fields} & MENDS.keys() == set()
    assert [profile(mixed("kafka-4.2", mend, MENDED)).fields[mend] for mend in MENDS] == [1] * len(MENDS)


@pytest.mark.parametrize("mend", MENDED_ROWS)
def test_a_bug_that_is_of_rows_is_gone_with_them(mend: str) -> None:
    table = profile("kafka-4.2").tables["consumer"]
    without = profile(mixed("kafka-4.2", mend, MENDED)).tables["consumer"]

    assert set(table.rules()) - set(without.rules()) == {rule for rule in table.rules() if rule[-1].name == MENDED_ROWS[mend]}
    assert mend in mends_of(table)
    assert mend not in mends_of(without)
    assert mend not in mends_of(profile("kafka-4.3").tables["consumer"])
    with pytest.raises(UnknownProfile):
        profile(mixed("kafka-4.3", mend, MENDED))


def test_a_mended_coordinator_keeps_a_must() -> None:
    assert {by_id(requirement).level for requirement in MENDS.values()} == {Level.MUST}
