"""What a change of a group's settings is due to be answered, by the settings of the broker."""

from __future__ import annotations

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.judging.script_checkers.config_codes import due_config_code
from groupproof.harness.model.consumer_script_builders import beat, configure
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import Script
from groupproof.protocol.vocabulary import Api

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
LEAST = "group.consumer.min.session.timeout.ms"
STEPS = (
    configure("z", {SESSION: "44999"}), configure("z", {INTERVAL: "6000"}), configure("z", {INTERVAL: None, SESSION: "46000"}), configure("z", {"no.such": "1"}),
    configure("z", {INTERVAL: "6000"}, group=""),
)  # fmt: skip
EVIDENCE = Evidence(performed(Script(steps=STEPS)))


@pytest.mark.parametrize(
    ("settings", "codes"),
    [({}, [40, 0, 0, 40, 42]), ({LEAST: 10_000}, [0, 0, 0, 40, 42]), ({"group.consumer.heartbeat.interval.ms": 45_000}, [40, 0, 0, 40, 42])],
)
def test_the_bounds_that_the_broker_has_decide(settings: dict[str, int], codes: list[int]) -> None:
    due = due_config_code("kafka-4.1", settings)

    assert [due(EVIDENCE, request) for request in EVIDENCE.requests(Api.INCREMENTAL_ALTER_CONFIGS)] == codes


def test_of_other_requests_and_releases_without_such_settings_only_the_script_tells() -> None:
    (request, *_) = EVIDENCE.requests(Api.INCREMENTAL_ALTER_CONFIGS)
    other = Evidence(performed(Script(steps=(beat("a", epoch=5),))))

    assert due_config_code("kafka-3.9", {})(EVIDENCE, request) is None
    assert [due_config_code("kafka-4.1", {})(other, asked) for asked in other.requests(Api.CONSUMER_GROUP_HEARTBEAT)] == [None]


def test_a_controller_that_is_not_known_may_have_other_bounds_and_what_no_bounds_allow_is_still_wrong() -> None:
    """The broker has answered by the bounds of 45 s: 40, 0, 0, 40, 42."""
    due = due_config_code("kafka-4.1", {LEAST: 10_000, "group.consumer.min.heartbeat.interval.ms": 7_000}, knows_controllers=False)

    assert [due(EVIDENCE, request) for request in EVIDENCE.requests(Api.INCREMENTAL_ALTER_CONFIGS)] == [40, 0, 0, 40, 42]
