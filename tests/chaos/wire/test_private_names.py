"""Each case has names of its own on the cluster, and its trace has the plan's."""

from __future__ import annotations

import re
from dataclasses import replace

from groupproof.chaos.wire.private_names import Renaming, groups_of, topics_of
from groupproof.harness.model.plan import Append, Arm, Await, Command, Grow, Matches, Member, Plan, Start
from groupproof.protocol.faults import Cut, Fault, Selector
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.subscription import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

PLAN = Plan(
    members=(Member(name="m0"), Member(name="m1", settings={"group": "h", "topics": ["u"]})),
    steps=(
        Start(member="m0"),
        Arm(fault=Fault(name="f", selector=Selector(api="Heartbeat", group="h"), action=Cut())),
        Command(member="m0", command="commit", fields={"offsets": [["t", 0, 5]]}),
        Grow(topic="t", partitions=4),
        Append(topic="u", partitions=1, records=2),
        Await(until=Matches(kind_of="event", where={"partitions": [{"topic": "t", "partition": 1}]})),
    ),
    topics={"t": 2, "u": 1},
    coordinator={"t": 1},
)
NAMES = Renaming.of(PLAN, "c1")


def test_a_plan_names_its_groups_and_topics_once_each() -> None:
    assert groups_of(PLAN) == ("g", "h")
    assert topics_of(PLAN) == ("t", "u")
    assert topics_of(Plan(members=(Member(name="m0"),), steps=(), topics={"x": 1})) == ("x", "t")


def test_a_pattern_matches_the_topics_of_its_own_case_alone() -> None:
    names = Renaming.of(Plan(members=(Member(name="m0", settings={"pattern": "t.*"}),), steps=(), topics={"t": 1, "t2": 1}), "c1")
    (member,) = names.plan(Plan(members=(Member(name="m0", settings={"pattern": "t.*"}),), steps=())).members
    pattern = re.compile(member.settings["pattern"])

    assert [bool(pattern.fullmatch(topic)) for topic in ("t-c1", "t2-c1", "t-c2", "u-c1")] == [True, True, False, False]


def test_the_plan_has_real_names_wherever_one_stands() -> None:
    plan = NAMES.plan(PLAN)
    start, arm, command, grow, append, wait = plan.steps

    assert [dict(member.settings) for member in plan.members] == [{"group": "g-c1", "topics": ["t-c1"]}, {"group": "h-c1", "topics": ["u-c1"]}]
    assert plan.topics == {"t-c1": 2, "u-c1": 1}
    assert plan.coordinator == {"t": 1}
    assert start == Start(member="m0")
    assert isinstance(arm, Arm)
    assert arm.fault.selector.group == "h-c1"
    assert isinstance(command, Command)
    assert command.fields == {"offsets": [["t-c1", 0, 5]]}
    assert grow == Grow(topic="t-c1", partitions=4)
    assert append == Append(topic="u-c1", partitions=1, records=2)
    assert isinstance(wait, Await)
    assert isinstance(wait.until, Matches)
    assert wait.until.where == {"partitions": [{"topic": "t-c1", "partition": 1}]}


def test_a_group_whose_name_is_in_use_gets_another() -> None:
    names = Renaming.of(PLAN, "c1", is_free=lambda group: group not in ("g-c1", "g-c1-1"))

    assert (names.real["g"], names.real["h"]) == ("g-c1-2", "h-c1")
    assert Renaming.of(PLAN, "c1", is_free=lambda group: False).real["g"] == "g-c1"


def test_what_is_seen_has_the_plan_s_names_also_in_its_blobs() -> None:
    wanted = Subscription(topics=("t-c1", "other"), owned=(("t-c1", 1),), generation=3, version=2, user_data=b"t-c1")
    handed_out = Assignment(partitions=(("u-c1", 0), ("t-c1", 1)))
    body = {
        "group_id": "g-c1",
        "protocols": ({"name": "range", "metadata": encode_subscription(wanted)},),
        "assignments": [{"assignment": encode_assignment(handed_out)}, {"assignment": b""}, {"assignment": b"?"}],
        "topics": {"t-c1": 2},
    }
    obs = Observation(
        seq=1, at_ns=2, kind="request", group="g-c1", client="m0", partitions=(("t-c1", 0),), offsets=(("u-c1", 1, 5), ("x", 0, 0)), body=body
    )
    report = NAMES.restored(obs)

    assert (report.group, report.client, report.partitions, report.offsets) == ("g", "m0", (("t", 0),), (("u", 1, 5), ("x", 0, 0)))
    assert (report.body["group_id"], report.body["topics"]) == ("g", {"t": 2})
    assert decode_subscription(report.body["protocols"][0]["metadata"]) == replace(wanted, topics=("t", "other"), owned=(("t", 1),))
    blobs = [assignment["assignment"] for assignment in report.body["assignments"]]
    assert decode_assignment(blobs[0]).partitions == (("u", 0), ("t", 1))
    assert blobs[1:] == [b"", b"?"]


def test_what_names_nothing_stays_as_it_was() -> None:
    obs = Observation(seq=1, at_ns=2, kind="event", body={"name": "end", "text": "g-c1 is over"})

    assert NAMES.restored(obs) == obs


def test_a_stranger_on_a_port_that_was_another_s_before_is_not_in_the_trace() -> None:
    def spoke(seq: int, connection: int | None, group: str | None) -> Observation:
        return Observation(seq=seq, at_ns=seq, kind="request", connection=connection, group=group, client="m0")

    observations = [spoke(0, 1, None), spoke(1, 2, None), spoke(2, 2, "g"), spoke(3, 1, "g-c1"), spoke(4, 2, None), spoke(5, None, None)]

    assert [(obs.seq, obs.at_ns, obs.connection, obs.group) for obs in NAMES.trace(observations)] == [
        (0, 0, 1, None), (1, 3, 1, "g"), (2, 5, None, None),
    ]  # fmt: skip
