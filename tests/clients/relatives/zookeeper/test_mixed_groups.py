"""What is said of groups that mix logics."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.zookeeper.mixed_groups import hazards
from groupproof.clients.relatives.zookeeper.registration import Registration

OLD = Registration((("t", 2),))


@pytest.mark.requirement("ZK-08")
def test_consumers_of_one_group_that_subscribe_differently_are_a_hazard() -> None:
    (hazard,) = hazards({"old": OLD, "new": Registration((("t", 1), ("u", 1)))})

    assert "static t; static t, u" in hazard


@pytest.mark.requirement("ZK-08")
def test_old_consumers_beside_members_at_a_coordinator_are_a_hazard() -> None:
    (hazard,) = hazards({"old": OLD}, ["member-1", "member-2"])

    assert "stop the old consumers before the new ones start" in hazard


def test_consumers_of_one_logic_are_none_whatever_their_threads() -> None:
    assert hazards({"a": OLD, "b": Registration((("t", 5),))}) == hazards({}, ["member-1"]) == ()
