"""A heartbeat whose records are not written leaves the group as it was: the log refused them, or the assignor failed."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player
from tests.coordinator.machine.twin_machines import TOPIC, History

from groupproof.coordinator.assignors.server_assignors import AssignorFailed
from groupproof.coordinator.machine.consumer import refused_writes
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator import Coordinator, partition_of
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import AppliedRow, Arrival
from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

REPLICAS, LEADER, LARGE = ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE
SHARED = ("A join", "B join", "A beat", "A beat owned=own", "B beat", "B beat owned=own")


def played(*lines: str, profile: str = "kafka-4.1") -> Player:
    player = Player(profile)
    player.group = "g"
    for line in lines:
        player.play("-", line.split(" "))
    return player


def refused(player: Player, line: str, log: ErrorCode) -> int | None:
    """Return what a line is answered while the log refuses all records; they are taken again then."""
    player.machine.append_error = log
    observed = player.play("-", line.split(" "))
    player.machine.append_error = ErrorCode.NONE
    return None if observed is None else observed.code


@pytest.mark.requirement("CGL-15")
@pytest.mark.parametrize("line", ["C join", "A leave", "A beat names=t,u", "C join instance=i1"])
@pytest.mark.parametrize(("log", "code"), [(REPLICAS, 15), (LEADER, 16), (LARGE, -1)])
def test_a_heartbeat_whose_records_are_refused_changes_nothing(line: str, log: ErrorCode, code: int) -> None:
    player, untouched = played(*SHARED), played(*SHARED)

    assert refused(player, line, log) == code
    assert player._described("g") == untouched._described("g")
    assert player.machine.stored(_partition(player)) == untouched.machine.stored(_partition(untouched))


@pytest.mark.requirement("CGL-15")
@pytest.mark.parametrize("before", [(), SHARED])
def test_what_was_refused_can_be_asked_again(before: tuple[str, ...]) -> None:
    player, untouched = played(*before), played(*before)
    refused(player, "C join", REPLICAS)

    again, first = (one.play("-", ["C", "join"]) for one in (player, untouched))

    assert again == first
    assert player._described("g") == untouched._described("g")


def test_a_group_whose_first_member_is_refused_is_none() -> None:
    player = played()
    assert refused(player, "A join", REPLICAS) == 15

    assert player._described("g").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert player.machine.group("g") is None
    player._pass(60_000)  # no timer of the member that never was goes off


def test_a_heartbeat_that_has_nothing_to_write_is_answered_though_the_log_refuses() -> None:
    assert refused(played(*SHARED), "A beat", REPLICAS) == 0


def test_a_member_whose_leave_was_refused_has_no_session_until_it_heartbeats() -> None:
    """As in Kafka: a leave cancels the member's timers, and no snapshot brings them back."""
    player = played(*SHARED)
    refused(player, "A leave", REPLICAS)

    player._pass(60_000)
    assert [member.member_id for member in player._described("g").members] == ["A"]
    player.play("-", ["A", "beat"])
    player._pass(60_000)
    assert player._described("g").members == ()


def test_the_row_of_a_refused_heartbeat_says_so() -> None:
    player = played(*SHARED)
    player.machine.append_error = REPLICAS
    leave: Any = ConsumerGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=-1)

    outputs = player.machine.handle(leave, Arrival("leave", 1, "c", "/h"), player.now_ms)

    assert [output.requirement for output in outputs if isinstance(output, AppliedRow)] == ["CGL-15"]


@pytest.mark.requirement("CGA-26")
def test_an_assignor_that_fails_is_answered_as_an_unknown_error_and_the_old_target_stays() -> None:
    player, untouched = played(*SHARED), played(*SHARED)
    stored = player.machine.stored(_partition(player))
    player.machine = Coordinator(
        profile=player.profile, settings=Settings.of(player.settings, player.profile), random=random.Random(0), variant=_fails("C")
    )  # fmt: skip
    player.machine.change_topics(player.topics)
    player.machine.load(_partition(player), stored, player.now_ms)

    (code,) = [one.code for one in (player.play("-", ["C", "join"]),) if one is not None]

    assert code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert player._described("g") == untouched._described("g")
    beaten = player.play("-", ["A", "beat"])
    assert beaten is not None
    assert beaten.code == 0


def _fails(member_id: str) -> Variant:
    """Return a coordinator whose assignor fails for who joins as `member_id`."""

    def assign(engine: Any, event: Any) -> None:
        if event.member_id == member_id:
            raise AssignorFailed(member_id)

    return Variant(name="assignor-fails", says="Its assignor fails.", effects={ConsumerEffect.ASSIGN: assign})


def _partition(player: Player) -> int:
    return partition_of("g", player.machine.settings.offsets_topic_num_partitions)


class Refusing(History):
    """A history in which the log refuses records half of the time, and a member that is static may come back under another id."""

    def _beats(self) -> None:
        log = self.draw.choice((ErrorCode.NONE, REPLICAS))
        self.twins.both(lambda machine: setattr(machine, "append_error", log))
        super()._beats()
        if self.draw.random() < 0.2:
            self.twins.ask(
                ConsumerGroupHeartbeatRequest(
                    group_id="g", member_id=self.draw.choice(("s", "s2")), member_epoch=0, instance_id="i", rebalance_timeout_ms=5_000,
                    subscribed_topic_names=(TOPIC,), topic_partitions=(),
                )
            )  # fmt: skip


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.4"])
@pytest.mark.slow
def test_a_refused_heartbeat_leaves_all_members_as_they_were_though_few_were_copied(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[Any] = []
    undone: list[bool] = []
    copied, undo = ConsumerGroup.copied, refused_writes._undo

    def kept(group: ConsumerGroup, *changing: str) -> ConsumerGroup:
        before.append(deepcopy(group))
        return copied(group, *changing)

    def compared(engine: Any, event: Any, group: Any, written: Any) -> None:
        undo(engine, event, group, written)
        if written is not None:
            undone.append(engine.groups[event.group_id] == before[-1])

    monkeypatch.setattr(ConsumerGroup, "copied", kept)
    monkeypatch.setattr(refused_writes, "_undo", compared)
    for seed in range(6):
        Refusing(profile, seed).run()

    assert len(undone) > 20, "few heartbeats are refused: the histories show nothing"
    assert all(undone)
