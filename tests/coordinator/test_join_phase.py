"""The join phase to the millisecond: the initial delay and its extension, early completion, the deadline and eviction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.coordinator.conftest import Scene

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NONE = ErrorCode.NONE


@pytest.mark.requirement("IDJ-02", "TIMER-01")
def test_the_initial_delay_never_ends_early(scene: Scene) -> None:
    joined = scene.join()
    scene.after(1_000).join(scene.members()[0])

    assert joined.is_parked
    assert scene.state() is PREPARING


@pytest.mark.requirement("TIMER-01")
def test_the_initial_delay_is_three_seconds(scene: Scene) -> None:
    joined = scene.join()
    scene.after(2_999)
    assert joined.is_parked

    scene.after(1)
    assert joined.answer.generation_id == 1


@pytest.mark.requirement("TIMER-03")
def test_a_member_with_a_rebalance_timeout_of_the_initial_delay_has_it_prolonged_by_nobody(scene: Scene) -> None:
    first = scene.join(rebalance_ms=1_000)
    late = scene.after(2_900).join(rebalance_ms=1_000)
    scene.after(100)

    assert [len(first.answer.members), late.answer.generation_id] == [2, 1]


@pytest.mark.requirement("IDJ-04", "IDJ-07", "TR-052")
def test_a_lone_member_waits_one_delay(scene: Scene) -> None:
    joined = scene.join()
    scene.after(2_999)
    assert joined.is_parked
    scene.after(1)
    assert joined.answer.generation_id == 1


@pytest.mark.requirement("IDJ-03", "TR-051")
def test_each_newcomer_extends_the_delay_once_it_ends(scene: Scene) -> None:
    first = scene.join()
    scene.after(1_000).join()
    scene.after(3_000).join()  # at 4 s, in the second delay
    scene.after(4_999)  # 8,999
    assert first.is_parked
    scene.after(1)
    assert len(first.answer.members) == 3


@pytest.mark.requirement("IDJ-05", "TIMER-03", "TIMER-41")
def test_a_trickle_of_joiners_is_let_in_for_exactly_the_rebalance_timeout(scene: Scene) -> None:
    first = scene.join()
    for _ in range(149):
        scene.after(2_000).join()
    scene.after(1_999)  # 299,999
    assert first.is_parked
    scene.after(1)
    assert len(first.answer.members) == 150
    assert scene.generation() == 1


@pytest.mark.requirement("IDJ-08")
def test_a_newcomer_extends_the_delay_at_any_generation(scene: Scene) -> None:
    # Measured on 4.1.0: the catalogue's sentence (one delay from the second generation on) is the rule of 1.1.
    (leader,) = scene.stable()
    scene.leave(leader)
    assert (scene.state(), scene.generation()) == (EMPTY, 2)

    first = scene.join()
    scene.after(1_000).join()
    scene.after(2_000)
    assert first.is_parked
    scene.after(3_000)
    assert first.answer.generation_id == 3


@pytest.mark.requirement("IDJ-09")
def test_a_repeated_join_extends_nothing(scene: Scene) -> None:
    member = scene.given_id()
    scene.join(member, version=4)
    again = scene.after(1_000).join(member, version=4)
    scene.after(2_000)

    assert again.answer.generation_id == 1


@pytest.mark.requirement("IDJ-10", "TIMER-21")
def test_ten_members_within_the_delay_cost_one_rebalance(scene: Scene) -> None:
    ids = scene.joined(10)

    assert scene.generation() == 1
    assert scene.members() == ids


@pytest.mark.requirement("IDJ-11")
def test_a_rebalance_timeout_shorter_than_the_delay_does_not_shorten_it(scene: Scene) -> None:
    joined = scene.join(rebalance_ms=1_000)
    scene.join(rebalance_ms=1_000)
    scene.after(2_999)
    assert joined.is_parked
    scene.after(1)
    assert joined.answer.generation_id == 1


@pytest.mark.requirement("IDJ-12", "TR-053", "TR-061")
def test_a_group_that_everybody_leaves_during_the_delay_is_empty_at_its_end(scene: Scene) -> None:
    member = scene.given_id()
    joined = scene.join(member, version=4)
    scene.leave(member)

    assert joined.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.after(2_999).state() is PREPARING
    assert scene.after(1).state() is EMPTY
    assert scene.generation() == 1


@pytest.mark.requirement("IDJ-13", "TIMER-43")
def test_without_an_initial_delay_the_first_member_is_answered_at_once(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(group_initial_rebalance_delay_ms=0)

    assert scene.join().answer.generation_id == 1
    assert scene.now_ms == 0


@pytest.mark.requirement("IDJ-14")
def test_a_join_at_the_instant_of_expiry_is_in_this_generation_or_the_next(scene: Scene) -> None:
    first = scene.join()
    scene.now_ms = 3_000
    before_the_timer = scene.join()  # taken up at the same instant, before the timer
    assert first.is_parked
    scene.after(3_000)
    assert before_the_timer.answer.generation_id == 1

    after_the_timer = scene.join()
    scene.join(first.answer.member_id)
    scene.join(before_the_timer.answer.member_id)
    assert after_the_timer.answer.generation_id == 2


@pytest.mark.requirement("DJOIN-01", "TIMER-02")
def test_the_join_deadline_is_the_longest_rebalance_timeout(scene: Scene) -> None:
    quick = scene.join(rebalance_ms=10_000, session_ms=200_000)
    scene.join(rebalance_ms=60_000, session_ms=200_000)
    scene.after(6_000)
    again = scene.join(quick.answer.member_id, rebalance_ms=10_000, session_ms=200_000, protocols=("range", "sticky"))
    scene.after(59_999)
    assert again.is_parked
    scene.after(1)
    assert again.answer.generation_id == 2


@pytest.mark.requirement("DJOIN-02", "DJOIN-06", "DJOIN-08", "JOIN-17", "JOIN-57")
def test_the_last_join_ends_the_phase_at_once_and_the_deadline_with_it(scene: Scene) -> None:
    leader, follower = scene.stable(2)
    first = scene.join(leader)
    scene.after(500).join(follower)

    assert first.answer.generation_id == 2
    scene.sync(leader, 2)
    scene.sync(follower, 2)
    for _ in range(60):
        scene.after(5_000)
        assert scene.heartbeat(leader, 2) is scene.heartbeat(follower, 2) is NONE
    assert scene.generation() == 2


@pytest.mark.requirement("DJOIN-03", "DJOIN-14", "DJOIN-17", "TR-048", "TRIG-11", "DJOIN-52")
def test_a_member_that_heartbeats_but_does_not_rejoin_holds_the_phase_for_five_minutes(scene: Scene) -> None:
    leader, slow = scene.stable(2)
    rejoined = scene.join(leader)
    for _ in range(59):
        scene.after(5_000)
        assert scene.heartbeat(slow) is ErrorCode.REBALANCE_IN_PROGRESS
    scene.after(4_999)
    assert rejoined.is_parked
    scene.after(1)

    assert rejoined.answer.generation_id == 2
    assert scene.members() == [leader]
    assert scene.heartbeat(slow) is scene.join(slow).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.join().is_parked
    assert scene.state() is PREPARING


@pytest.mark.reading("DISC-12")
@pytest.mark.requirement("DJOIN-19", "HB-59")
@pytest.mark.parametrize(("profile", "ends"), [("kafka-4.1", (STABLE, 2)), ("kafka-1.1", (PREPARING, 2))])
def test_an_evicted_members_timer_causes_no_further_rebalance_but_in_1_1(
    scene_of: Callable[..., Scene], profile: str, ends: tuple[GroupState, int]
) -> None:
    witness = scene_of("kafka-1.1", group_max_session_timeout_ms=1_800_000)
    scene = scene_of(profile, group_max_session_timeout_ms=1_800_000)
    for item in {witness, scene}:
        leader, _ = item.stable(2, session_ms=400_000, version=2)
        item.join(leader, session_ms=400_000, version=2)
        item.after(300_000)
        item.sync(leader, 2)
        item.after(399_999)

    assert (scene.state(), scene.generation()) == ends


@pytest.mark.requirement("DJOIN-05")
@pytest.mark.parametrize("timer_first", [True, False])
def test_a_last_join_at_the_deadline_gives_one_generation_and_one_answer(scene: Scene, timer_first: bool) -> None:
    leader, slow = scene.stable(2, session_ms=400_000)
    rejoined = scene.join(leader, session_ms=400_000)
    if timer_first:
        scene.after(300_000)
    else:
        scene.after(299_999)
        scene.now_ms += 1
    last = scene.join(slow, session_ms=400_000)

    assert rejoined.answer.generation_id == scene.generation() == 2
    assert last.error is (ErrorCode.UNKNOWN_MEMBER_ID if timer_first else NONE)


@pytest.mark.requirement("DJOIN-09", "DJOIN-21", "TR-047", "TR-122")
def test_the_last_leave_empties_the_group_at_once(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.leave(leader)

    assert scene.path()[-2:] == [PREPARING, EMPTY]
    view = scene.view()
    assert (view.generation, view.protocol_name, view.leader) == (2, None, None)


@pytest.mark.requirement("DJOIN-11", "TR-067", "EMIG-02")
def test_a_phase_of_a_group_that_moved_away_never_completes(scene: Scene) -> None:
    joined = scene.join()
    scene.take(scene.coordinator.unload(3, scene.now_ms))
    scene.after(300_000)

    assert joined.error is ErrorCode.NOT_COORDINATOR
    assert scene.path() == [EMPTY, PREPARING, DEAD]


@pytest.mark.requirement("DJOIN-12", "DJOIN-53", "NEWM-04")
def test_the_answer_to_a_join_restarts_the_session(scene: Scene) -> None:
    scene.join(session_ms=10_000)
    scene.after(3_000)
    scene.after(9_999)
    assert len(scene.members()) == 1
    scene.after(1)
    assert scene.members() == []


@pytest.mark.requirement("DJOIN-15", "NEWM-03", "TR-059")
def test_a_parked_member_is_not_expired(scene: Scene) -> None:
    leader, other = scene.stable(2)
    scene.join(leader)
    for _ in range(8):
        scene.after(5_000)
        scene.heartbeat(other)

    assert leader in scene.members()


@pytest.mark.requirement("DJOIN-16", "TR-058", "HB-15")
def test_a_member_that_dies_in_the_phase_ends_it_with_its_session(scene: Scene) -> None:
    leader, _ = scene.stable(2)
    rejoined = scene.join(leader)
    scene.after(9_999)
    assert rejoined.is_parked
    scene.after(1)

    assert rejoined.answer.generation_id == 2
    assert scene.members() == [leader]


@pytest.mark.requirement("NEWM-01", "NEWM-02", "TR-060", "TIMER-12")
def test_a_newcomer_is_kept_waiting_for_five_minutes_at_most(scene: Scene) -> None:
    leader, slow = scene.stable(2, rebalance_ms=600_000)
    rejoined = scene.join(leader, rebalance_ms=600_000)
    newcomer = scene.join(rebalance_ms=600_000)
    for _ in range(59):
        scene.after(5_000)
        scene.heartbeat(slow)
    scene.after(4_999)
    assert newcomer.is_parked
    scene.after(1)

    assert newcomer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer.answer.member_id == ""
    assert rejoined.is_parked
    assert scene.members() == [leader, slow]


@pytest.mark.requirement("TR-049")
def test_when_nobody_rejoins_by_the_deadline_the_group_is_empty(scene: Scene) -> None:
    leader, follower = scene.stable(2, session_ms=400_000)
    scene.join(session_ms=400_000)
    scene.after(299_999)
    scene.leave(scene.members()[-1])
    scene.after(1)

    assert scene.state() is EMPTY
    assert scene.heartbeat(leader) is scene.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.requirement("TRIG-13")
def test_the_life_of_a_group_from_first_join_to_cleanup(scene: Scene) -> None:
    (leader,) = scene.stable()
    scene.leave(leader)
    scene.after(600_000)

    assert scene.path() == [EMPTY, PREPARING, COMPLETING, STABLE, PREPARING, EMPTY, DEAD]
    assert scene.state() is None


@pytest.mark.requirement("TR-062")
def test_a_leave_during_the_initial_delay_does_not_end_it(scene: Scene) -> None:
    joined = scene.join()
    scene.join()
    scene.leave(scene.members()[-1])
    assert joined.is_parked

    scene.after(6_000)
    assert len(joined.answer.members) == 1


@pytest.mark.requirement("TR-098", "TR-101", "INV-07")
def test_the_deadline_of_a_phase_that_is_over_does_nothing(scene: Scene) -> None:
    leader, follower = scene.stable(2, rebalance_ms=5_000, session_ms=60_000)
    scene.join(leader, rebalance_ms=5_000, session_ms=60_000)
    scene.join(follower, rebalance_ms=5_000, session_ms=60_000)
    scene.sync(follower, 2)
    scene.sync(leader, 2)
    scene.after(5_000)

    assert (scene.state(), scene.generation(), scene.members()) == (STABLE, 2, [leader, follower])


@pytest.mark.requirement("TR-146")
def test_no_timer_of_a_dead_group_goes_off(scene: Scene) -> None:
    scene.stable(2)
    scene.join()
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    moves = len(scene.transitions)
    scene.after(600_000 - scene.now_ms)

    assert len(scene.transitions) == moves


@pytest.mark.requirement("IDJ-06", "JOIN-12")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps_ms=st.lists(st.integers(0, 3_500), max_size=25), rebalance_ms=st.integers(1_000, 20_000))
def test_the_initial_delays_together_never_exceed_their_budget(scene_of: Callable[..., Scene], gaps_ms: list[int], rebalance_ms: int) -> None:
    scene = scene_of()
    first = scene.join(rebalance_ms=rebalance_ms)
    for gap_ms in gaps_ms:
        scene.after(gap_ms).join(rebalance_ms=rebalance_ms)
    ended_at_ms = max(rebalance_ms, 3_000)
    scene.after(max(ended_at_ms - scene.now_ms, 0))

    assert not first.is_parked


@pytest.mark.requirement("TR-020", "JOIN-51", "JOIN-52")
def test_an_empty_group_admits_who_has_no_id_and_no_one_else(scene: Scene) -> None:
    (old,) = scene.stable()
    scene.leave(old)

    assert scene.join(old).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.join().is_parked
    assert scene.state() is PREPARING
