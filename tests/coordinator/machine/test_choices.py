from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest

from groupproof.coordinator.assignors.group_spec import TargetAssignment
from groupproof.coordinator.machine.choices import JoinedGroup, RandomChoices, TargetQuestion
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinGroupResponse, JoinProtocol, LeaveGroupRequest, LeaveMember

ARRIVAL = Arrival(token="t", api_version=3, client_id="app", client_host="/127.0.0.1")


@pytest.mark.requirement("JOIN-03", "STATIC-01")
def test_a_member_id_is_a_prefix_and_a_uuid_of_version_4_drawn_from_the_generator_given() -> None:
    ids = [RandomChoices(random.Random(3)).member_id("app", ARRIVAL) for _ in range(2)]

    assert ids[0] == ids[1]
    assert re.fullmatch(r"app-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", ids[0])


class _All:
    """Draws the same bit over and over."""

    def __init__(self, bit: int) -> None:
        self._bit = bit

    def getrandbits(self, k: int, /) -> int:
        return self._bit * ((1 << k) - 1)


@pytest.mark.parametrize(("bit", "id"), [(0, "00000000-0000-4000-8000-000000000000"), (1, "ffffffff-ffff-4fff-bfff-ffffffffffff")])
def test_a_uuid_tells_its_version_and_its_kind_whatever_is_drawn(bit: int, id: str) -> None:
    assert RandomChoices(_All(bit)).member_id("app", ARRIVAL) == f"app-{id}"


def test_the_reference_takes_the_first_leader_and_the_first_protocol() -> None:
    drawn = RandomChoices(random.Random(3))

    assert (drawn.leader("g", ("b", "a")), drawn.protocol("g", ["range", "sticky"])) == ("b", "range")


class _Last:
    """Numbers the members, and prefers whoever or whatever comes last."""

    counts_by_one = True

    def __init__(self) -> None:
        self.count = 0

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        self.count += 1
        return f"{prefix}/{self.count}/{arrival.token}"

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return candidates[-1]

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        return tied[-1]

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        return tied[0]

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        return now_ms >= due_ms

    def resolves_at_once(self, arrival: object) -> bool:
        return False

    def target(self, question: TargetQuestion) -> TargetAssignment:
        return question.kafkas

    def group_epoch(self, group: ConsumerGroup, arrival: object) -> int:
        return group.generation + 1

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + 1

    def computes_target(self, group: object, arrival: object, *, is_usual: bool) -> bool:
        return is_usual


def _join(coordinator: Coordinator, token: str, at_ms: int, *protocols: str, member_id: str = "") -> list[JoinGroupResponse]:
    asked = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=60_000, member_id=member_id, protocol_type="app",
        protocols=tuple(JoinProtocol(name=name, metadata=b"") for name in protocols),
    )  # fmt: skip
    arrival = Arrival(token=token, api_version=3, client_id=token[0], client_host="/127.0.0.1")
    outputs = coordinator.handle(asked, arrival, at_ms)
    return [output.message for output in outputs if isinstance(output, Reply) and isinstance(output.message, JoinGroupResponse)]


@pytest.mark.requirement("JOIN-03", "JOIN-07", "JOIN-32")
def test_ids_successors_and_tied_votes_are_as_the_choices_say() -> None:
    settings = Settings.of({"group.initial.rebalance.delay.ms": 10})
    coordinator = Coordinator(settings=settings, choices=_Last())
    for index, (token, protocols) in enumerate([("a", ("x", "y")), ("b", ("y", "x")), ("c", ("x", "y")), ("d", ("y", "x"))]):
        _join(coordinator, token, index, *protocols)
    first = [output.message for output in coordinator.advance(1_000) if isinstance(output, Reply)]
    assert [(response.member_id, response.leader, response.protocol_name) for response in first if isinstance(response, JoinGroupResponse)] == [
        ("a/1/a", "a/1/a", "y"), ("b/2/b", "a/1/a", "y"), ("c/3/c", "a/1/a", "y"), ("d/4/d", "a/1/a", "y"),
    ]  # fmt: skip

    left = LeaveGroupRequest(group_id="g", members=(LeaveMember(member_id="a/1/a"),))
    coordinator.handle(left, ARRIVAL, 1_100)
    view = coordinator.view("g")
    assert view is not None
    assert view.leader == "d/4/d"


def test_a_coordinator_without_choices_or_random_is_refused() -> None:
    with pytest.raises(TypeError, match="needs choices, or a random"):
        Coordinator()
