from __future__ import annotations

from tests.harness.running.fuzzing.drawn import model

from groupproof.harness.model.script_builders import REBALANCE_MS, SESSION_MS, beat, join, leave, sync
from groupproof.harness.running.fuzzing.histories.model_state import STEP_MS, ModelState
from groupproof.protocol.vocabulary import Api, GroupState


def gathered(*names: str) -> ModelState:
    """Return a group that waits for its members' syncs; each has joined alone, the last makes the others rejoin."""
    group = model()
    for index, name in enumerate(names):
        group.ask(join(name, label=f"id {name}"))
        group.ask(join(name, label=f"in {name}"))
        for earlier in names[:index]:
            group.ask(join(earlier, label=f"again {index} {earlier}"))
    return group


def test_a_newcomer_is_first_given_an_id_and_then_leads() -> None:
    group = model()

    first = group.ask(join("m0", label="first"))
    assert first is not None
    assert not first.is_parked
    assert group.is_pending("m0")
    assert not group.is_in("m0")

    group.ask(join("m0", label="second"))
    assert group.is_in("m0")
    assert group.leads("m0")
    assert group.state is GroupState.COMPLETING_REBALANCE


def test_a_parked_request_makes_its_connection_mute_until_another_lets_it_go() -> None:
    group = gathered("m0", "m1")

    follower = group.ask(sync("m1", label="follower"))
    assert follower is not None
    assert follower.is_parked
    assert group.is_parked("m1")
    assert group.free_connection("m1") == "m1+"
    assert group.free_connection("m0") == "m0"

    leader = group.ask(sync("m0", {"m0": [("t", 0)], "m1": [("t", 1)]}, label="leader"))
    assert leader is not None
    assert leader.released == ("follower",)
    assert group.state is GroupState.STABLE
    assert group.free_connection("m1") == "m1"


def test_time_that_passes_ends_a_join_phase_and_tells_whom_it_answers() -> None:
    group = gathered("m0")
    group.ask(join("m1", label="id"))
    group.ask(join("m1", label="waits"))

    due_ms = group.due_in_ms()
    assert due_ms is not None
    assert SESSION_MS - 10 * STEP_MS < due_ms <= REBALANCE_MS
    assert group.elapse(REBALANCE_MS) == ("waits",)
    assert not group.is_in("m0")


def test_nobody_sees_the_answer_to_what_was_parked_on_a_connection_that_was_cut() -> None:
    group = gathered("m0", "m1")
    group.ask(sync("m1", label="follower"))

    group.cut("m1")

    assert not group.is_parked("m1")
    released = group.ask(sync("m0", {"m0": [("t", 0)]}, label="leader"))
    assert released is not None
    assert released.released == ()


def test_what_a_version_cannot_say_is_not_processed() -> None:
    group = model()

    assert group.ask(leave("m0", members=[{"member_id": "a", "group_instance_id": None}] * 2, version=0)) is None
    assert group.ask(beat("m0")) is not None


def test_the_versions_are_those_that_both_sides_speak() -> None:
    group = model()
    group.ranges = {Api.HEARTBEAT: (0, 2)}

    assert group.speaks(Api.HEARTBEAT)
    assert not group.speaks(Api.OFFSET_DELETE)
    assert group.version(beat("m0")) == 2
    assert group.version(beat("m0", version=1)) == 1
