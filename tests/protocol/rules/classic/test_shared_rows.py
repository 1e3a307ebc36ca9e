"""Rows that more than one table has."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import ClassicEvent, profile
from groupproof.protocol.rules.classic.deltas_since_2_5 import SCALA_ORDER
from groupproof.protocol.rules.classic.shared_rows import UNNAMED


@pytest.mark.requirement("SYNC-51")
def test_the_row_of_an_unnamed_protocol_is_one_and_the_same_in_both_orders_of_checks() -> None:
    assert UNNAMED in profile("kafka-4.1").table.before_group[ClassicEvent.SYNC_GROUP]
    assert UNNAMED in SCALA_ORDER[ClassicEvent.SYNC_GROUP]
