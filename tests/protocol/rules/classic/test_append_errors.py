"""What a client is answered when the log refuses a record: the table of the catalogue's sources, "Log-append failure"."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import ClassicEvent
from groupproof.protocol.rules.classic.append_errors import NEWEST_APPENDS, SCALA_APPENDS


@pytest.mark.parametrize(("log", "group", "offsets", "java"), [
    (3, 15, 15, 15), (19, 15, 15, 15), (20, 15, 15, 15),  # no such partition, too few replicas
    (6, 16, 16, 16), (56, 16, 16, 16),  # not the leader, disk failed
    (7, 27, None, 15),  # timed out
    (10, -1, 28, -1), (18, -1, 28, -1), (4, -1, 28, -1),  # too large
    (13, None, 14, 14),  # the transaction could not be verified
    (1, None, None, None),  # anything else
])  # fmt: skip
def test_an_error_of_the_log_becomes_the_clients(log: int, group: int | None, offsets: int | None, java: int | None) -> None:
    assert [SCALA_APPENDS[kind].get(log) for kind in (ClassicEvent.JOIN_GROUP, ClassicEvent.SYNC_GROUP)] == [group] * 2
    assert [SCALA_APPENDS[kind].get(log) for kind in (ClassicEvent.OFFSET_COMMIT, ClassicEvent.TXN_OFFSET_COMMIT)] == [offsets] * 2
    assert {answers.get(log) for answers in NEWEST_APPENDS.values()} == {java}


def test_both_know_the_same_requests() -> None:
    assert SCALA_APPENDS.keys() == NEWEST_APPENDS.keys()
