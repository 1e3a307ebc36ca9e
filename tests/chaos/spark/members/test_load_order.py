from __future__ import annotations

import pickle

import msgspec
from tests.chaos.spark.loads import order

from groupproof.chaos.spark.members.churn_plan import Action, Deed
from groupproof.chaos.spark.members.load_order import Chosen, LoadOrder, after, task_orders


def test_members_are_dealt_to_tasks_in_blocks_and_to_groups_in_turn() -> None:
    wanted = order(members=5, groups=2, tasks=2)
    orders = task_orders(
        wanted, [(Deed(0.0, Action.START),)] * 5, run="r", output="o", bootstrap=[("h", 1)], client=Chosen(kind="reference"), channel=("c", 2),
        secret="s", settings={},
    )  # fmt: skip

    assert [[each.client for each in task.members] for task in orders] == [["m0", "m1"], ["m2", "m3", "m4"]]
    assert [each.group for task in orders for each in task.members] == ["load-0", "load-1", "load-0", "load-1", "load-0"]
    assert [task.slot for task in orders] == [1, 2]
    assert pickle.loads(pickle.dumps(orders)) == orders


def test_an_order_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(order(faults=("Heartbeat,drop",))), type=LoadOrder) == order(faults=("Heartbeat,drop",))


def test_who_was_up_is_started_at_once_and_who_was_gone_is_not() -> None:
    deeds = (Deed(0.0, Action.START), Deed(10.0, Action.DIE), Deed(20.0, Action.START))

    assert after(deeds, 5.0) == (Deed(5.0, Action.START), *deeds[1:])
    assert after(deeds, 15.0) == (deeds[2],)
    assert after(deeds, 25.0) == (Deed(25.0, Action.START),)
    assert after((), 1.0) == ()
