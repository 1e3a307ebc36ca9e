"""A heartbeat at rest goes a short way: the run is what it is by the long way, to the last event and the last number that a law has noted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from tests.harness.simulation.runs import calm, short
from tests.soaking import seeds

from groupproof.harness.simulation.fault_mix import drawn
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import OTHER_TOPIC, TOPIC, InvariantBroken, Simulation
from groupproof.harness.simulation.simulated_brokers import Brokers
from groupproof.harness.simulation.simulated_network import Connection
from groupproof.harness.simulation.simulator_faults import FAULTS
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import ErrorCode

PROFILES = ("kafka-1.1", "kafka-2.4", "kafka-3.9", "kafka-4.1", "kafka-4.4")
ON_PATHS = ("slow", "silence", "mute", "deaf", "split", "cut-off", "repeat", "reorder", "reset")
ON_PROGRAMS = ("pause", "crash", "stall", "leave", "move", "broker-crash", "broker-pause", "append", "resubscribe")
KINDS = tuple(kind for kind, fault in FAULTS.items() if fault.dialect is None)
OF_EPOCHS = tuple(kind for kind, fault in FAULTS.items() if fault.dialect != "classic")
MIXES: tuple[Any, ...] = (tuple(FAULTS), "swarm", ON_PATHS, ON_PROGRAMS, ())


def _by_the_long_way(run: Run) -> Run:
    run.targets.network.resting = None
    for node in run.targets.brokers._nodes:
        node.machine._repeats, node.machine._repeating, node.machine._parking = None, {}, {}
    return run


def _left(run: Run) -> Any:
    """Return what a run leaves behind."""
    return run.go(), _run_state(run)


def _run_state(run: Run) -> Any:
    """Return where a run stands: the brokers' timers, what the invariants noted, the members, and the connections."""
    noted = getattr(run.invariants, "deadlines", None)
    machines = [node.machine._engine.timers for node in run.targets.brokers._nodes]
    members = [(process.member._core.session_ms, process.member._core.requests._last_id) for process in run.targets.processes.values()]
    connections = [
        (name, key, connection.out_ms, connection.back_ms, list(connection.waiting), len(connection.inbox))
        for name, own in run.targets.network.open.items() for key, connection in own.items()
    ]  # fmt: skip
    noted_invariants: Any = _views(run) if noted is None else (noted.heard_ms, noted._asked_ms, noted._members, noted.has_moved)
    alarms = [node.alarm_ms for node in run.targets.brokers._nodes]
    return machines, members, connections, noted_invariants, alarms, run.targets.brokers._tokens, run.heap.events, run.record.trace_hash()


def _views(run: Run) -> Any:
    """Return what the invariants of the consumer dialect noted of each program and of the group, but for what they found to say nothing."""
    views = [
        (process._sent, view and {column.name: getattr(view, column.name) for column in fields(view) if column.name not in ("bare", "empty")})
        for process in run.targets.processes.values() for view in (process.invariants,)
    ]  # fmt: skip
    members = {member_id: (member.epoch, member.held, member.share) for member_id, member in run.invariants._members.items()}
    return views, members, run.invariants._refused_leaves, run.invariants._is_moved


def _asked(seed: int, **options: Any) -> Simulation:
    """Return a simulation whose members beat so often that faults strike many heartbeats on their way."""
    drawn = {"heartbeat_interval_ms": (300, 700, 1_900)[seed % 3], "latency_ms": (10, 60, 290)[seed // 3 % 3], "auto_commit_interval_ms": 2_000}
    return short(seed, **{**drawn, **options})


@pytest.mark.parametrize("mix", MIXES, ids=("all", "swarm", "paths", "programs", "none"))
@pytest.mark.parametrize(("profile", "dialect"), [*((profile, None) for profile in PROFILES), ("kafka-4.1", "consumer"), ("kafka-4.4", "consumer")])
def test_a_run_is_the_same_by_the_short_way_and_by_the_long_one(profile: str, dialect: str | None, mix: Any) -> None:
    for seed in seeds(2):
        asked = _asked(seed + 100 * len(profile), profile=profile, dialect=dialect, faults=mix)

        assert _left(Run(asked)) == _left(_by_the_long_way(Run(asked)))


def _dense(kind: str, asked: Simulation) -> Schedule:
    """Return a schedule in which faults of one kind come and go ten times as often as they are drawn, so that many strike a heartbeat on its way."""
    settled = Run(asked).simulation
    found = [fault for part in range(10) for fault in drawn(replace(settled, seed=100 * asked.seed + part, faults=(kind,))).faults]
    chance = Random(asked.seed)
    return Schedule(faults=tuple(replace(fault, for_ms=chance.randint(1, 500)) for fault in sorted(found, key=lambda fault: fault.at_ms)))


@pytest.mark.parametrize(("kind", "dialect"), [*((kind, None) for kind in KINDS), *((kind, "consumer") for kind in OF_EPOCHS)])
def test_a_run_in_which_one_kind_of_fault_comes_often_is_the_same_by_both_ways(kind: str, dialect: str | None) -> None:
    for seed in seeds(3):
        asked = _asked(seed + 6, faults=(kind,), duration_ms=20_000, dialect=dialect)
        plan = _dense(kind, asked)

        assert _left(Run(asked, plan)) == _left(_by_the_long_way(Run(asked, plan)))


Disturbance = Callable[[Run, Connection], object]
DISTURBANCES: dict[str, Disturbance] = {
    "another request is in process": lambda _, connection: setattr(connection, "in_process", -7),
    "the client closes": lambda run, connection: run.targets.network.close(connection.owner),
    "the connection is cut": lambda run, connection: run.targets.network.cut(connection),
    "slow": lambda _, connection: setattr(connection.path, "slow_ms", 40),
    "silent there": lambda _, connection: setattr(connection.path, "silent_out", 1),
    "silent back": lambda _, connection: setattr(connection.path, "silent_back", 1),
    "without order": lambda _, connection: setattr(connection.path, "is_unordered", 1),
    "repeated": lambda _, connection: setattr(connection.path, "repeats", 1),
    "a later frame there": lambda run, connection: setattr(connection, "out_ms", run.heap.now_ms + 30),
    "a later frame back": lambda run, connection: setattr(connection, "back_ms", run.heap.now_ms + 30),
    "the program is frozen": lambda run, connection: _process(run, connection).freeze(),
    "the program crashes": lambda run, connection: _process(run, connection).crash(),
    "the application polls": lambda run, connection: _process(run, connection)._poll(),
    "the application leaves": lambda run, connection: _process(run, connection).leave(),
    "the broker is stopped": lambda run, connection: run.targets.brokers.stop(connection.node),
    "the broker crashes": lambda run, connection: run.targets.brokers.crash(connection.node, failover_ms=50, load_ms=50),
    "the group moves": lambda run, connection: run.targets.brokers.move((connection.node + 1) % 3, drops=False, after_ms=20),
    "the log refuses": lambda run, connection: run.targets.brokers.refuse_appends(connection.node, ErrorCode.NOT_ENOUGH_REPLICAS),
    "the invariants wait for a look": lambda run, _: setattr(run.invariants.deadlines, "has_moved", True),
    "the invariants know another generation": lambda run, _: setattr(run.invariants.generations.current, "number", 99),
    "the invariants know no member": lambda run, _: run.invariants.generations.current.members.update(
        x=run.invariants.generations.current.members.popitem()[0]
    ),
}


def _of_the_group(disturb: Callable[[Run, str], object]) -> Disturbance:
    """Change what the invariants of the group know of the member whose heartbeat it is."""
    return lambda run, connection: disturb(run, _process(run, connection).member.member_id)


def _of_the_member(**noted: Any) -> Disturbance:
    """Change what the invariants of one member know of it."""

    def disturb(run: Run, connection: Connection) -> None:
        for name, value in noted.items():
            setattr(_process(run, connection).invariants, name, value)

    return disturb


CONSUMER_DISTURBANCES: dict[str, Disturbance] = {
    **{name: disturb for name, disturb in DISTURBANCES.items() if not name.startswith("the invariants")},
    "the authorizer denies": lambda run, _: setattr(run.targets.brokers, "denial", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    "another interval": lambda run, _: run.targets.brokers.configure_group({"consumer.heartbeat.interval.ms": "7000"}),
    "another session": lambda run, _: run.targets.brokers.configure_group({"consumer.session.timeout.ms": "50000"}),
    "nobody looks at the timers": lambda run, connection: setattr(run.targets.brokers._nodes[connection.node], "alarm_ms", None),
    "the topic grows": lambda run, _: run.targets.brokers.make_topics({TOPIC: 40}),
    "the application subscribes to more": lambda run, connection: _process(run, connection).resubscribe((TOPIC, OTHER_TOPIC)),
    "the program was frozen": lambda run, connection: (_process(run, connection).freeze(), _process(run, connection).thaw()),
    "polls are late": lambda run, connection: setattr(_process(run, connection), "unpolled_ms", run.heap.now_ms),
    "an old request is unanswered": lambda run, connection: _process(run, connection)._sent.update({0: (None, -100_000)}),
    "the answers are other objects": lambda run, _: _forget_answers(run),
    "the invariants wait for a look": lambda run, _: setattr(run.invariants, "_is_moved", True),
    "the invariants have no member for it": _of_the_group(lambda run, member_id: run.invariants._members.pop(member_id)),
    "the invariants know another epoch of its member": _of_the_group(lambda run, member_id: setattr(run.invariants._members[member_id], "epoch", 1)),
    "the invariants know of a refused leave": _of_the_group(lambda run, member_id: run.invariants._refused_leaves.add(member_id)),
    "it closes": _of_the_member(is_closing=True),
    "the invariants know a later epoch of it": _of_the_member(epoch=99),
    "the invariants know an earlier epoch of it": _of_the_member(epoch=1),
    "the invariants know another interval": _of_the_member(interval_ms=1),
    "the invariants know a longer interval": _of_the_member(interval_ms=90_000),
    "the invariants know of no heartbeat in flight": _of_the_member(in_flight=0),
    "the invariants know of two heartbeats in flight": _of_the_member(in_flight=2),
    "the invariants know that it left": _of_the_member(has_left=True),
    "the invariants know that it failed": _of_the_member(is_fatal=True),
    "the invariants know of no heartbeat": _of_the_member(sent_ms=None),
    "the invariants know of an old heartbeat": _of_the_member(sent_ms=-90_000, counts_from_ms=-90_000, answered_ms=-90_000, is_disturbed=False),
    "the invariants know other topics": _of_the_member(topics=("z",)),
    "the invariants know of what it may do": _of_the_member(may_beat_early=True, is_polling=False, is_disturbed=True),
}


def _forget_answers(run: Run) -> None:
    for node in run.targets.brokers._nodes:
        if node.machine._repeats is not None:
            node.machine._repeats._remembered.clear()


def _process(run: Run, connection: Connection) -> Any:
    return run.targets.processes[connection.owner.name]


def _disturbed(run: Run, disturb: Disturbance, after_ms: int, for_ms: int) -> Any:
    """Return where a run stands some time after something disturbed a heartbeat `after_ms` behind its sending; or the invariant that was broken, and at which event."""
    for number, process in enumerate(run.targets.processes.values()):
        run.heap.at(number, process.start)
    run.heap.run(9_000)
    while not (
        sent := [
            connection for own in run.targets.network.open.values() for (_, lane), connection in own.items() if lane == "group" and connection.waiting
        ]
    ):
        run.heap.run(run.heap.now_ms + 1)
    run.heap.run(run.heap.now_ms + after_ms)
    disturb(run, sent[0])
    try:
        run.heap.run(run.heap.now_ms + for_ms)
    except InvariantBroken as broken:
        return str(broken), run.heap.now_ms, run.heap.events, run.record.trace_hash()
    return _run_state(run)


@pytest.mark.parametrize("disturb", DISTURBANCES.values(), ids=DISTURBANCES)
def test_a_fault_on_a_heartbeat_has_the_same_effect_on_both_ways(disturb: Disturbance) -> None:
    for after_ms in (0, 4, 8, 12, 16, 1_990):
        for for_ms in (25, 2_000, 9_000):
            asked = calm(3, auto_commit_interval_ms=10**6)

            assert _disturbed(Run(asked), disturb, after_ms, for_ms) == _disturbed(_by_the_long_way(Run(asked)), disturb, after_ms, for_ms), (
                after_ms,
                for_ms,
            )


@pytest.mark.parametrize("disturb", CONSUMER_DISTURBANCES.values(), ids=CONSUMER_DISTURBANCES)
def test_a_fault_on_a_bare_heartbeat_has_the_same_effect_on_both_ways(disturb: Disturbance) -> None:
    for after_ms in (0, 4, 8, 12, 16, 1_990):
        for for_ms in (25, 2_000, 9_000):
            asked = calm(3, auto_commit_interval_ms=10**6, dialect="consumer", profile="kafka-4.4", heartbeat_interval_ms=2_000)

            assert _disturbed(Run(asked), disturb, after_ms, for_ms) == _disturbed(_by_the_long_way(Run(asked)), disturb, after_ms, for_ms), (
                after_ms,
                for_ms,
            )


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What came of each heartbeat that arrived by the short way: whether it was answered so."""
    went: list[bool] = []
    repeat = Brokers.repeat

    def counting(brokers: Brokers, *arguments: Any) -> Any:
        answer = repeat(brokers, *arguments)
        went.append(answer is not None)
        return answer

    monkeypatch.setattr(Brokers, "repeat", counting)
    return went


def test_nearly_all_heartbeats_of_a_group_without_faults_go_the_short_way(repeated: list[bool]) -> None:
    outcome = Run(calm(duration_ms=120_000)).go()

    assert sum(repeated) > 0.75 * outcome.requests["Heartbeat"]


def test_nearly_all_heartbeats_of_a_consumer_group_without_faults_go_the_short_way(repeated: list[bool]) -> None:
    outcome = Run(calm(duration_ms=120_000, dialect="consumer", profile="kafka-4.4")).go()

    assert sum(repeated) > 0.75 * outcome.requests["ConsumerGroupHeartbeat"]


@pytest.mark.parametrize("options", [{"member_variant": "join-v3"}, {"coordinator_variant": "generation-negative"}])
def test_a_variant_goes_the_long_way(options: dict[str, Any], repeated: list[bool]) -> None:
    Run(calm(**options)).go()

    assert not any(repeated)


def test_with_an_observer_every_heartbeat_goes_the_long_way(repeated: list[bool]) -> None:
    run = Run(calm(), recorder=lambda clock: Recorder(clock, keeps=False))

    assert run.targets.network.resting is None
    assert run.go().trace_hash == Run(calm()).go().trace_hash
    assert repeated, "the other one was not observed"
