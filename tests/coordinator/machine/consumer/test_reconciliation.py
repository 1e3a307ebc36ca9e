from __future__ import annotations

from collections.abc import Set

from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember, MemberProgress
from groupproof.coordinator.machine.consumer.reconciliation import Reconciler, Step

STABLE, UNREVOKED, UNRELEASED = MemberProgress.STABLE, MemberProgress.UNREVOKED_PARTITIONS, MemberProgress.UNRELEASED_PARTITIONS


def _reconciler(
    target: tuple[int, ...], epoch: int, *, owned: Set[int] | None = None, owned_by_others: Set[int] = frozenset(), subscribed: Set[str] | None = None,
    enforces: bool = False, keeps_epoch: bool = True, frees_own: bool = True,
) -> Reconciler:  # fmt: skip
    return Reconciler(
        target={"t": target}, target_epoch=epoch, owned=None if owned is None else {"t": owned}, is_owned=lambda topic_id, index: index in owned_by_others,
        subscribed=subscribed, enforces=enforces, keeps_epoch=keeps_epoch, frees_own=frees_own,
    )  # fmt: skip


def _member(assigned: Set[int], *, epoch: int = 1, pending: Set[int] = frozenset(), progress: MemberProgress = STABLE) -> ConsumerMember:
    return ConsumerMember(
        member_id="a", epoch=epoch, progress=progress, assigned={"t": dict.fromkeys(assigned, epoch)} if assigned else {},
        pending={"t": dict.fromkeys(pending, epoch)} if pending else {},
    )  # fmt: skip


def test_a_member_is_to_revoke_at_its_old_epoch_before_it_is_given_anything() -> None:
    step = _reconciler((0, 5), 2).step(_member({0, 1}))

    assert step == Step(UNREVOKED, 1, {"t": {0: 1}}, {"t": {1: 1}})


def test_what_is_not_reported_is_revoked_in_the_same_step() -> None:
    step = _reconciler((0,), 2, owned={0}).step(_member({0, 1}))

    assert step == Step(STABLE, 2, {"t": {0: 1}}, {})


def test_a_member_that_does_not_report_what_it_owns_has_not_acknowledged() -> None:
    assert _reconciler((0,), 2).step(_member({0}, pending={1}, progress=UNREVOKED)) is None
    assert _reconciler((0,), 2, owned={0, 1}).step(_member({0}, pending={1}, progress=UNREVOKED)) is None


def test_the_acknowledgement_moves_the_member_to_the_epoch_of_the_target() -> None:
    step = _reconciler((0,), 3, owned={0}).step(_member({0}, pending={1}, progress=UNREVOKED))

    assert step == Step(STABLE, 3, {"t": {0: 1}}, {})


def test_an_outdated_order_is_followed_by_the_next_one() -> None:
    member = _member({0, 1}, pending={2}, progress=UNREVOKED)

    step = _reconciler((0,), 5, owned={0, 1}).step(member)
    before_4_2 = _reconciler((0,), 5, owned={0, 1}, keeps_epoch=False).step(member)

    assert (step is not None and (step.epoch, step.pending)) == (1, {"t": {1: 1}})
    assert (before_4_2 is not None and (before_4_2.epoch, before_4_2.pending)) == (2, {"t": {1: 1}})


def test_what_others_own_is_waited_for_and_what_is_free_is_given_at_once() -> None:
    step = _reconciler((0, 1, 2), 2, owned_by_others={0, 2}).step(_member({0}))

    assert step == Step(UNRELEASED, 2, {"t": {0: 1, 1: 2}}, {})


def test_a_waiting_member_is_given_what_became_free_at_the_epoch_of_the_target() -> None:
    step = _reconciler((0, 1), 2, owned_by_others={0}).step(_member({0}, epoch=2, progress=UNRELEASED))

    assert step == Step(STABLE, 2, {"t": {0: 2, 1: 2}}, {})


def test_a_member_is_given_back_what_it_gave_up_itself_but_by_4_1_one_step_later() -> None:
    member = _member({0}, pending={1}, progress=UNREVOKED)

    step = _reconciler((0, 1), 3, owned={0}, owned_by_others={0, 1}).step(member)
    by_4_1 = _reconciler((0, 1), 3, owned={0}, owned_by_others={0, 1}, frees_own=False).step(member)

    assert step == Step(STABLE, 3, {"t": {0: 1, 1: 3}}, {})
    assert by_4_1 == Step(UNRELEASED, 3, {"t": {0: 1}}, {})


def test_a_settled_member_stays_as_it_is() -> None:
    assert _reconciler((0,), 1).step(_member({0})) is None


def test_a_dropped_topic_is_revoked_before_the_next_target() -> None:
    step = _reconciler((0,), 1, subscribed=frozenset(), enforces=True).step(_member({0}))
    gone = _reconciler((0,), 1, owned=frozenset(), subscribed=frozenset(), enforces=True).step(_member({0}))

    assert step == Step(UNREVOKED, 1, {}, {"t": {0: 1}})
    assert gone == Step(STABLE, 1, {}, {})


def test_a_topic_that_is_not_subscribed_to_is_not_given_though_a_target_has_it() -> None:
    assert _reconciler((0, 1), 2, subscribed=frozenset()).step(_member(frozenset(), epoch=1)) == Step(STABLE, 2, {}, {})


def test_a_pending_order_grows_when_more_is_dropped() -> None:
    member = ConsumerMember(member_id="a", epoch=1, progress=UNREVOKED, assigned={"t": {0: 1}, "u": {0: 1}}, pending={"t": {1: 1}})
    step = _reconciler((0,), 1, subscribed={"t"}, enforces=True).step(member)

    assert step == Step(UNREVOKED, 1, {"t": {0: 1}}, {"t": {1: 1}, "u": {0: 1}})
