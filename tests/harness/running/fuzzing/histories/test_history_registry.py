"""Which histories are drawn for which profile."""

from __future__ import annotations

import pytest
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_histories import LEASE_HISTORIES

from groupproof.harness.model.dialect_parts import registered
from groupproof.harness.running.fuzzing.histories.history_registry import HISTORIES, histories_on


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-3.9", "datalink"])
def test_releases_of_kafka_and_their_relatives_are_asked_classic_requests(profile: str) -> None:
    assert [part.dialect.name for part in histories_on(profile)] == ["classic"]


def test_releases_that_speak_the_consumer_protocol_are_asked_in_both() -> None:
    assert [part.dialect.name for part in histories_on("kafka-4.0")] == ["classic", "consumer"]


def test_a_profile_of_two_dialects_is_asked_in_both() -> None:
    with registered(LEASE_FUNCTIONS, LEASE_HISTORIES):
        assert [part.dialect.name for part in histories_on(LEASE_BROKER)] == ["classic", "lease"]
        assert LEASE_HISTORIES in HISTORIES.all()
    assert LEASE_HISTORIES not in HISTORIES.all()
