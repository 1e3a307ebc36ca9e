from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile, profiles
from groupproof.protocol.rules.check_order import BROKEN_OFF, FIXED_ORDERS, order_of
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, ErrorCode


@pytest.mark.parametrize(
    ("request_api", "first", "second", "requirement"),
    [
        (Api.HEARTBEAT, 82, 22, "HB-51"),
        (Api.HEARTBEAT, 22, 82, None),
        (Api.SYNC_GROUP, 25, 23, "SYNC-51"),
        (Api.SYNC_GROUP, 23, 25, None),
        (Api.OFFSET_COMMIT, 22, 27, "COMMIT-51"),
        (Api.OFFSET_COMMIT, 35, 113, None),
        (Api.JOIN_GROUP, 24, 26, "JOIN-55"),
        (Api.JOIN_GROUP, 24, 25, "JOIN-28"),
        (Api.JOIN_GROUP, 81, 25, None),
        (Api.CONSUMER_GROUP_HEARTBEAT, 81, 25, "CGM-37"),
        (Api.CONSUMER_GROUP_HEARTBEAT, 42, 128, "CGH-26"),
        (Api.CONSUMER_GROUP_HEARTBEAT, 16, 42, None),
        (Api.TXN_OFFSET_COMMIT, 25, 22, None),
    ],
)
def test_an_order_is_as_severe_as_the_most_severe_requirement(request_api: Api, first: int, second: int, requirement: str | None) -> None:
    assert order_of(request_api, first, second) == requirement


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
