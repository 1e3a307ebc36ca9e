from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.rules.classic.signs_of_life import ANOTHER, HELD_TO, SIGNS_OF_LIFE
from groupproof.protocol.rules.profiles import mixed
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Level


@pytest.mark.parametrize("part", SIGNS_OF_LIFE)
@pytest.mark.parametrize("release", ["kafka-2.4", "kafka-4.1"])
def test_only_refusals_of_members_restart_sessions_beside_what_kafka_restarts(release: str, part: str) -> None:
    own, other = dict(profile(release).named_rules()), dict(profile(mixed(release, part, ANOTHER)).named_rules())
    changed = {name: row for name, row in other.items() if row != own[name]}

    assert {name.partition("/")[0] for name in changed} == {kind.value for kind in SIGNS_OF_LIFE[part]}
    assert all(row.answer in (22, 23, 27) and row.effects[-1] is Effect.REFRESH_SESSION for row in changed.values())


@pytest.mark.requirement("HB-13")
def test_a_ghost_member_is_against_advice() -> None:
    assert by_id(HELD_TO).level is Level.SHOULD
