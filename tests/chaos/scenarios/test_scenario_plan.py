from __future__ import annotations

from tests.chaos.scenario_texts import scenario

from groupproof.chaos.scenarios.scenario import RunMode, Scenario
from groupproof.chaos.scenarios.scenario_plan import ACTIONS, Terms, plan_of_scenario
from groupproof.harness.model.plan import (
    Arm,
    Await,
    Command,
    ConfigureGroup,
    Freeze,
    GroupSettled,
    Grow,
    Heal,
    Impair,
    Kill,
    Mark,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Start,
    Step,
    Thaw,
    plan_from_json,
    plan_to_json,
)  # fmt: skip
from groupproof.protocol.schemas import validate


def planned(written: Scenario, *, members: int = 3, mode: RunMode = RunMode.VIRTUAL, is_calm: bool = False) -> Plan:
    return plan_of_scenario(Terms(written, members, mode), is_calm=is_calm)


def since(plan: Plan, mark: str) -> list[Step]:
    return list(plan.steps[plan.steps.index(Mark(name=mark)) + 1 :])


def without_marks(steps: list[Step]) -> list[Step]:
    return [step for step in steps if not isinstance(step, Mark)]


CRASH = '[[phase]]\nname = "crash"\nactions = [{ do = "kill", who = "one" }]\nfor = "past-session"\n'


def test_a_group_begins_with_its_leader_and_settles_before_anything_breaks() -> None:
    plan = planned(scenario(CRASH))
    before = without_marks(list(plan.steps[: plan.steps.index(Mark(name="crash"))]))

    assert [step.member for step in before if isinstance(step, Start)] == ["m0", "m1", "m2"]
    awaited = [step.until.members for step in before if isinstance(step, Await) and isinstance(step.until, GroupSettled)]
    assert awaited == [("m0",), ("m0", "m1", "m2")]


def test_what_is_settled_is_awaited_as_of_now_and_not_as_of_before() -> None:
    plan = planned(scenario('[[phase]]\nname = "p"\nactions = [{ do = "restart", who = "one" }]\nuntil = { settled = "all" }\n'))

    awaits = [(at, step.until) for at, step in enumerate(plan.steps) if isinstance(step, Await) and isinstance(step.until, GroupSettled)]
    assert all(plan.steps[at - 1] == Mark(name=until.after or "") for at, until in awaits)
    assert len({until.after for _, until in awaits}) == len(awaits) == 5


def test_a_group_can_begin_empty() -> None:
    plan = planned(scenario('[[phase]]\nname = "p"\nactions = [{ do = "start", who = "all" }]\n', head='begin = "empty"\n'))

    assert plan.steps[0] == Mark(name="p")


def test_a_killed_member_is_started_again_at_the_healing_and_expected_members_are_awaited() -> None:
    plan = planned(scenario(CRASH))
    crash = without_marks(since(plan, "crash"))

    assert crash[:3] == [Kill(member="m1"), Pass(ms=60_000), Start(member="m1")]
    healed = GroupSettled(members=("m0", "m1", "m2"), topics={"t": 6}, after="healed")
    assert [step.until for step in crash if isinstance(step, Await)] == [healed]
    assert isinstance(crash[-1], Pass)


def test_durations_are_those_of_the_run_mode() -> None:
    virtual, wire = (planned(scenario(CRASH), mode=mode) for mode in RunMode)

    assert [Pass(ms=60_000) in virtual.steps, Pass(ms=8_000) in wire.steps] == [True, True]
    assert virtual.members[0].settings["session_timeout_ms"] == 45_000
    assert wire.members[0].settings["session_timeout_ms"] == 6_000


FAULTY = """
[[phase]]
name = "first"
faults = [{ name = "held", kind = "hold", api = "Heartbeat", who = "one" }, { name = "slow", kind = "slow", latency = 10, who = "half", lasts = true }]
for = "moment"

[[phase]]
name = "second"
for = "moment"
"""


def test_a_fault_ends_with_its_phase_unless_it_lasts_until_the_healing() -> None:
    plan = planned(scenario(FAULTY))
    kinds = [step for step in since(plan, "first") if isinstance(step, Arm | Heal | Impair | Mend | Mark)]

    assert [step.kind for step in kinds] == ["arm", "impair", "heal", "mark", "mend", "mark"]
    assert [step.name for step in kinds if isinstance(step, Mark)] == ["second", "healed"]


def test_what_is_frozen_paused_or_closed_is_put_right_at_the_healing() -> None:
    actions = '{ do = "freeze", who = "one" }, { do = "pause", who = "leader" }, { do = "close", who = "minority" }'
    plan = planned(scenario(f'[[phase]]\nname = "p"\nactions = [{actions}]\nfor = "moment"\n'), members=4)

    after = without_marks(since(plan, "p"))
    assert after[0] == Freeze(member="m1")
    assert after[1] == Command(member="m0", command="pause", wait=False)
    assert [step.kind for step in after[2:7]] == ["command", "pass", "thaw", "command", "start"]
    assert after[4:7] == [Thaw(member="m1"), Command(member="m0", command="resume", wait=False), Start(member="m3")]


def test_members_are_restarted_one_by_one_and_the_group_settles_between() -> None:
    plan = planned(scenario('[[phase]]\nname = "p"\nactions = [{ do = "restart", who = "followers", by = "kill", down = "moment" }]\n'))

    kinds = [step.kind for step in without_marks(since(plan, "p"))]
    assert kinds == ["kill", "pass", "start", "await", "kill", "pass", "start", "await", "await", "pass"]


def test_members_are_replaced_one_by_one_by_those_who_come_later() -> None:
    plan = planned(scenario('[[phase]]\nname = "p"\nactions = [{ do = "replace", who = "followers" }]\n', head="joiners = 2\n"))

    steps = [step for step in since(plan, "p") if isinstance(step, Command | Start)]
    assert [(step.member, step.kind) for step in steps] == [
        ("m1", "command"),
        ("j0", "start"),
        ("m2", "command"),
        ("j1", "start"),
        ("m1", "start"),
        ("m2", "start"),
    ]


def test_a_topic_that_is_made_later_has_to_have_owners_too() -> None:
    plan = planned(scenario('[[phase]]\nname = "p"\nactions = [{ do = "grow", topic = "u", partitions = 3 }]\n'))

    assert Grow(topic="u", partitions=3) in plan.steps
    assert plan.topics == {"t": 6}
    assert [step.until.topics for step in since(plan, "p") if isinstance(step, Await) and isinstance(step.until, GroupSettled)] == [{"t": 6, "u": 3}]


def test_members_of_the_consumer_protocol_have_their_times_from_the_coordinator() -> None:
    head = 'dialect = "consumer"\njoiners = 1\n[settings_of.joiner]\ngroup_protocol = "classic"\n'
    plan = planned(scenario(CRASH, head=head))

    assert [member.settings["group_protocol"] for member in plan.members] == ["consumer"] * 3 + ["classic"]
    assert plan.coordinator["group.consumer.session.timeout.ms"] == plan.coordinator["group.consumer.min.session.timeout.ms"] == 45_000
    assert plan.coordinator["group.consumer.heartbeat.interval.ms"] == 3_000


def test_no_member_is_stopped_twice_and_only_running_members_get_commands() -> None:
    actions = ", ".join(
        f'{{ do = "{do}", who = "one" }}' for do in ("kill", "close", "kill", "freeze", "pause", "commit", "thaw", "resume", "start", "start")
    )
    plan = planned(scenario(f'[[phase]]\nname = "p"\nactions = [{actions}, {{ do = "freeze", who = "one" }}, {{ do = "freeze", who = "one" }}]\n'))

    assert [step.kind for step in without_marks(since(plan, "p"))] == ["kill", "start", "freeze", "thaw", "await", "pass"]


def test_every_action_has_its_step() -> None:
    head = "joiners = 1\n"
    actions = """
[[phase]]
name = "p"
faults = [{ name = "held", kind = "hold", api = "SyncGroup", who = "one" }]
actions = [
  { do = "start", who = "joiner" }, { do = "close", who = "joiner" }, { do = "kill", who = "one" }, { do = "restart", who = "leader" },
  { do = "freeze", who = "leader" }, { do = "thaw", who = "leader" }, { do = "pause", who = "leader" }, { do = "resume", who = "leader" },
  { do = "commit", who = "leader" }, { do = "resubscribe", who = "leader", topics = ["t"] }, { do = "move", parked = "drop", state = "lost" },
  { do = "grow", partitions = 9 }, { do = "release", fault = "held" }, { do = "mend", fault = "held" }, { do = "wait", for = 10 },
  { do = "await", until = { sent = "JoinGroup", who = "leader" } }, { do = "configure", settings = { "consumer.session.timeout.ms" = "session" } },
  { do = "replace", who = "leader", by = "kill" },
]
"""
    plan = planned(scenario(actions, head=head))
    steps = since(plan, "p")

    assert len(ACTIONS) == actions.count("do = ")
    assert MoveCoordinator(parked="drop", state="lost") in steps
    assert Grow(topic="t", partitions=9) in steps
    assert [steps.index(Release(fault="held")) < steps.index(Heal(fault="held"))] == [True]
    assert ConfigureGroup(settings={"consumer.session.timeout.ms": 45_000}) in steps
    assert Command(member="m0", command="commit", fields={"mode": "sync"}, wait=False) in steps
    healed = next(step.until for step in steps if isinstance(step, Await) and isinstance(step.until, GroupSettled) and step.until.after == "healed")
    assert healed.topics == {"t": 9}


def test_in_a_calm_run_nothing_breaks_and_nobody_comes_or_goes() -> None:
    plan = planned(scenario(FAULTY + CRASH), is_calm=True)
    disturbing = (Arm, Impair, Kill, Freeze, MoveCoordinator)

    assert not [step for step in plan.steps if isinstance(step, disturbing)]
    assert since(plan, "second")[0] == Pass(ms=5_000)


def test_settings_are_all_members_or_those_of_some_and_the_twin_is_like_the_one() -> None:
    head = """
twin = true
joiners = 1
[settings]
instance_id = "i-{member}"
[settings_of.one]
max_poll_interval_ms = 1234
on_revoked = { sleep_ms = "moment" }
[coordinator]
"group.max.size" = "members"
"group.initial.rebalance.delay.ms" = "moment"
"""
    plan = planned(scenario(CRASH, head=head))
    settings = {member.name: member.settings for member in plan.members}

    assert [setting["instance_id"] for setting in settings.values()] == ["i-m0", "i-m1", "i-m2", "i-j0", "i-m1"]
    assert settings["t0"]["max_poll_interval_ms"] == settings["m1"]["max_poll_interval_ms"] == 1_234
    assert settings["m1"]["on_revoked"] == {"sleep_ms": 5_000}
    assert settings["m0"]["max_poll_interval_ms"] == 300_000
    assert plan.coordinator == {"group.max.size": 3, "group.initial.rebalance.delay.ms": 5_000}


def test_more_members_have_at_least_a_partition_each() -> None:
    plan = planned(scenario(CRASH), members=9)

    assert plan.topics == {"t": 9}
    assert len(plan.members) == 9


def test_a_plan_is_a_schedule() -> None:
    plan = planned(scenario(FAULTY + CRASH))
    value = plan_to_json(plan)

    validate(
        "schedule", {"schema": "groupproof.schedule/1", "case": "area/classic/name", "seed": 1, "subject": "s", "profile": "kafka-4.1", "plan": value}
    )
    assert plan_from_json(value) == plan
