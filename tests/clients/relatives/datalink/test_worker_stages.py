"""The stages of the ticking thread, and which belong together."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.datalink.worker_stages import BEATING, ENDED, REFRESHING, SYNCING, Stage


@pytest.mark.requirement("WORKER-19")
def test_nobody_beats_who_joins_syncs_or_has_ended() -> None:
    assert not set(BEATING) & {Stage.JOINING, *SYNCING, *ENDED}
    assert {*BEATING, *SYNCING, *ENDED, Stage.JOINING} == set(Stage)


def test_leaders_and_followers_read_configurations_again() -> None:
    assert [stage in SYNCING for stage in REFRESHING] == [True, False]
