from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile, profiles
from groupproof.protocol.rules.check_order import BROKEN_OFF, FIXED_ORDERS, order_of
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, ErrorCode, Level


@pytest.mark.parametrize(
    ("request_api", "first", "second", "requirement"),
    [
        (Api.HEARTBEAT, 82, 22, ("HB-51", Level.MUST)),
        (Api.HEARTBEAT, 22, 82, None),
        (Api.HEARTBEAT, 82, 27, ("HB-51", Level.MUST)),
        (Api.HEARTBEAT, 25, 22, ("HB-51", Level.SHOULD)),
        (Api.HEARTBEAT, 25, 27, ("HB-51", Level.SHOULD)),
        (Api.SYNC_GROUP, 25, 23, ("SYNC-51", Level.MUST)),
        (Api.SYNC_GROUP, 23, 25, None),
        (Api.SYNC_GROUP, 23, 27, ("SYNC-51", Level.SHOULD)),
        (Api.OFFSET_COMMIT, 22, 27, ("COMMIT-51", Level.INFO)),
        (Api.OFFSET_COMMIT, 15, 27, ("COMMIT-51", Level.MUST)),
        (Api.OFFSET_COMMIT, 35, 113, None),
        (Api.JOIN_GROUP, 24, 26, ("JOIN-55", Level.SHOULD)),
        (Api.JOIN_GROUP, 24, 25, ("JOIN-28", Level.MUST)),
        (Api.JOIN_GROUP, 81, 25, None),
        (Api.CONSUMER_GROUP_HEARTBEAT, 81, 25, ("CGM-37", by_id("CGM-37").level)),
        (Api.CONSUMER_GROUP_HEARTBEAT, 42, 128, ("CGH-26", by_id("CGH-26").level)),
        (Api.CONSUMER_GROUP_HEARTBEAT, 16, 42, None),
        (Api.TXN_OFFSET_COMMIT, 25, 22, None),
    ],
)
def test_an_order_is_as_severe_as_the_most_severe_part(request_api: Api, first: int, second: int, requirement: tuple[str, Level] | None) -> None:
    order = order_of(request_api, first, second)

    assert (order and (order.requirement, order.severity)) == requirement


def test_every_order_is_named_by_a_requirement_and_no_code_stands_in_two_stages() -> None:
    for order in FIXED_ORDERS:
        codes = [code for stage in order.stages for code in stage]
        assert by_id(order.requirement).id == order.requirement
        assert len(codes) == len(set(codes))


def test_kafka_breaks_off_by_rows_that_there_are() -> None:
    broken_off = {
        name.rpartition("/")[2] for item in profiles() for name, row in profile(item).named_rules() if row.answer is ErrorCode.UNKNOWN_SERVER_ERROR
    }

    assert broken_off >= BROKEN_OFF
