from __future__ import annotations

import pickle

import msgspec
from tests.chaos.spark.loads import order

from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import ClientChoice, LoadOrder, after, task_orders


def test_members_are_dealt_to_tasks_in_blocks_and_to_groups_in_turn() -> None:
    wanted = order(members=5, groups=2, tasks=2)
    orders = task_orders(
        wanted, [(MemberAction(0.0, Action.START),)] * 5, run="r", output="o", bootstrap=[("h", 1)], client=ClientChoice(kind="reference"), channel=("c", 2),
        secret="s", settings={},
    )  # fmt: skip

    assert [[member.client for member in task.members] for task in orders] == [["m0", "m1"], ["m2", "m3", "m4"]]
    assert [member.group for task in orders for member in task.members] == ["load-0", "load-1", "load-0", "load-1", "load-0"]
    assert [task.slot for task in orders] == [1, 2]
    assert pickle.loads(pickle.dumps(orders)) == orders


def test_an_order_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(order(faults=("Heartbeat,drop",))), type=LoadOrder) == order(faults=("Heartbeat,drop",))


def test_a_member_that_ran_is_started_at_once_and_one_that_was_gone_is_not() -> None:
    actions = (MemberAction(0.0, Action.START), MemberAction(10.0, Action.DIE), MemberAction(20.0, Action.START))

    assert after(actions, 5.0) == (MemberAction(5.0, Action.START), *actions[1:])
    assert after(actions, 15.0) == (actions[2],)
    assert after(actions, 25.0) == (MemberAction(25.0, Action.START),)
    assert after((), 1.0) == ()
