"""What bugs planted beside the table do to a machine; that cases catch them is shown in tests/power."""

from __future__ import annotations

import random

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings
from groupproof.coordinator.machine.machine_outputs import Output
from groupproof.coordinator.planted.rule_bugs import BUGS_OF_RULES
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinGroupResponse, JoinProtocol

BY_NAME = {bugs_of_rule.name: bugs_of_rule for bugs_of_rule in BUGS_OF_RULES}


def _joined(name: str) -> tuple[Coordinator, list[Output]]:
    """Return a machine with the bug after the first join of a group, at 0 ms, by a version without an id round."""
    settings = Settings.of({"group.initial.rebalance.delay.ms": 0})
    machine = Coordinator(settings=settings, random=random.Random(1), variant=BY_NAME[name])
    asked = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        protocol_type="consumer",
        protocols=(JoinProtocol(name="range", metadata=b""),),
    )
    return machine, machine.handle(asked, Arrival(token=1, api_version=3, client_id="c", client_host="/127.0.0.1"), 0)


def _answer(outputs: list[Output]) -> JoinGroupResponse:
    (answer,) = (output.message for output in outputs if isinstance(output, Reply))
    assert isinstance(answer, JoinGroupResponse)
    return answer


def test_a_generation_is_counted_wrongly() -> None:
    assert _answer(_joined("generation-stays")[1]).generation_id == 0
    assert _answer(_joined("generation-falls")[1]).generation_id == 10
    assert _answer(_joined("generation-negative")[1]).generation_id == -1


def test_a_session_ends_never_early_or_late() -> None:
    assert _joined("session-ends-early")[0].next_deadline_ms() == 9_300
    assert _joined("session-ends-late")[0].next_deadline_ms() == 14_000
    assert _joined("session-never-ends")[0].next_deadline_ms() == 20_000


def test_an_id_is_required_of_old_versions_too() -> None:
    assert _answer(_joined("id-required-of-all")[1]).error_code == 79


def test_a_parked_join_is_never_answered() -> None:
    assert [output for output in _joined("initial-delay-never-ends")[1] if isinstance(output, Reply)] == []
