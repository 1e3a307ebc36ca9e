"""The faults of the simulator: each has a name, and functions to draw, inject and heal it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from groupproof.harness.simulation.fault_schedule import ScheduledFault
from groupproof.harness.simulation.settings import BOUNCES, OTHER_TOPIC, TOPIC, Simulation
from groupproof.harness.simulation.simulated_brokers import Brokers
from groupproof.harness.simulation.simulated_network import Network, Path
from groupproof.harness.simulation.simulated_process import SimulatedProcess
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    import random

__all__ = ["APPEND_ERRORS", "FAULTS", "Fault", "FaultTargets"]

Who = tuple[str, ...]
APPEND_ERRORS: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_SERVER_ERROR,
)  # fmt: skip

DENIALS: Final = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTargets:
    """The targets of faults: processes by name, each a `SimulatedProcess` of its dialect, the network, and the brokers."""

    processes: Mapping[str, Any]
    network: Network
    brokers: Brokers

    def paths(self, who: Iterable[str]) -> list[Path]:
        """Return the paths from each named process to every broker, and from every process to each named broker."""
        ends = [(name, node) for name in who if name in self.processes for node in range(self.brokers.count)]
        ends += [(name, int(node.removeprefix("node"))) for node in who if node not in self.processes for name in self.processes]
        return [self.network.path(name, node) for name, node in ends]


FaultAction = Callable[[FaultTargets, ScheduledFault], bool]
"""Injects or heals a fault. It returns whether there was a target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of fault: `who` is its target (one process, several processes, a broker, nobody), with its duration and drawn values.

    `how` gives the least and the greatest value for each name. A fault without `heal` takes no time.
    """

    name: str
    says: str
    who: str
    inject: FaultAction
    heal: FaultAction | None = None
    lasts_ms: tuple[int, int] = (0, 0)
    how: Mapping[str, tuple[int, int]]
    dialect: str | None = None  # the only dialect whose groups it is drawn for

    def drawn(self, chance: random.Random, simulation: Simulation, at_ms: int) -> ScheduledFault:
        names = [f"m{number}" for number in range(simulation.members)]
        who: Who = ()
        if self.who == "process":
            who = (chance.choice(names),)
        elif self.who == "processes":
            who = tuple(sorted(chance.sample(names, chance.randint(1, max(1, len(names) // 2))), key=lambda name: int(name[1:])))
        elif self.who == "broker":
            who = (f"node{chance.randrange(simulation.brokers)}",)
        for_ms = _duration(chance, self.lasts_ms, simulation)
        how = {name: chance.randint(*bounds) for name, bounds in self.how.items()}
        return ScheduledFault(at_ms=at_ms, kind=self.name, who=who, for_ms=for_ms, how=how)


def _duration(chance: random.Random, bounds: tuple[int, int], simulation: Simulation) -> int:
    """Draw a duration within the bounds, or, one time in three, about as long as one of the group's timeouts."""
    if not bounds[1]:
        return 0
    if chance.randrange(3):
        return chance.randint(*bounds)
    timeouts = [item for item in (simulation.session_timeout_ms, simulation.max_poll_interval_ms) if item is not None]
    return chance.choice(timeouts) + chance.randint(-500, 5_000)


# The network ---------------------------------------------------------------------------------------------------------------------


def _on_paths(change: Callable[[Path, ScheduledFault], None], targets: FaultTargets, fault: ScheduledFault) -> bool:
    for path in targets.paths(fault.who):
        change(path, fault)
        targets.network.flow(path)
    return True


def _slow(path: Path, fault: ScheduledFault) -> None:
    path.slow_ms += fault.how["delay_ms"]


def _fast(path: Path, fault: ScheduledFault) -> None:
    path.slow_ms -= fault.how["delay_ms"]


def _silence(out: int, back: int) -> Callable[[Path, ScheduledFault], None]:
    def change(path: Path, _: ScheduledFault) -> None:
        path.silent_out += out
        path.silent_back += back

    return change


def _repeat(by: int) -> Callable[[Path, ScheduledFault], None]:
    def change(path: Path, _: ScheduledFault) -> None:
        path.repeats += by

    return change


def _unorder(by: int) -> Callable[[Path, ScheduledFault], None]:
    def change(path: Path, _: ScheduledFault) -> None:
        path.is_unordered += by

    return change


def _reset(targets: FaultTargets, fault: ScheduledFault) -> bool:
    return sum(targets.network.reset(name=name) for name in fault.who) > 0


# Processes -----------------------------------------------------------------------------------------------------------------------


def _on_each(act: Callable[[SimulatedProcess], object]) -> FaultAction:
    """Return a function that acts on each named process. It returns whether the act applied to any of them."""

    def act_on_targets(targets: FaultTargets, fault: ScheduledFault) -> bool:
        return any([act(targets.processes[name]) is not False for name in fault.who])

    return act_on_targets


def _callbacks(factor: int) -> FaultAction:
    def act_on_targets(targets: FaultTargets, fault: ScheduledFault) -> bool:
        for name in fault.who:
            targets.processes[name].callback_ms += factor * fault.how["callback_ms"]
        return True

    return act_on_targets


def _crash(process: SimulatedProcess) -> bool:
    was_wanted = process.is_wanted
    process.crash()
    return was_wanted


def _leave(process: SimulatedProcess) -> bool:
    was_wanted = process.is_wanted
    process.leave()
    return was_wanted


def _upgrade(targets: FaultTargets, fault: ScheduledFault) -> bool:
    for name in fault.who:
        targets.processes[name].upgrade(BOUNCES[fault.how["bounce"]])
    return True


# Brokers -------------------------------------------------------------------------------------------------------------------------


def _node(fault: ScheduledFault) -> int:
    return int(fault.who[0].removeprefix("node"))


def _move(targets: FaultTargets, fault: ScheduledFault) -> bool:
    return targets.brokers.move(_node(fault), drops=bool(fault.how["drops"]), after_ms=fault.how["load_ms"])


def _crash_broker(targets: FaultTargets, fault: ScheduledFault) -> bool:
    return targets.brokers.crash(_node(fault), failover_ms=fault.how["failover_ms"], load_ms=fault.how["load_ms"])


def _restart_broker(targets: FaultTargets, fault: ScheduledFault) -> bool:
    targets.brokers.restart(_node(fault))
    return True


def _stop_broker(targets: FaultTargets, fault: ScheduledFault) -> bool:
    return targets.brokers.stop(_node(fault))


def _go_on_broker(targets: FaultTargets, fault: ScheduledFault) -> bool:
    targets.brokers.go_on(_node(fault))
    return True


def _refuse(targets: FaultTargets, fault: ScheduledFault) -> bool:
    for node in range(targets.brokers.count):
        targets.brokers.refuse_appends(node, APPEND_ERRORS[fault.how["error"] % len(APPEND_ERRORS)])
    return True


def _accept(targets: FaultTargets, fault: ScheduledFault) -> bool:
    for node in range(targets.brokers.count):
        targets.brokers.refuse_appends(node, ErrorCode.NONE)
    return True


def _grow(targets: FaultTargets, fault: ScheduledFault) -> bool:
    targets.brokers.make_topics({TOPIC: targets.brokers.topics[TOPIC] + fault.how["partitions"]})
    return True


def _ask_for_interval(targets: FaultTargets, fault: ScheduledFault) -> bool:
    return targets.brokers.configure_group({"consumer.heartbeat.interval.ms": str(fault.how["interval_ms"])})


def _ask_for_default(targets: FaultTargets, fault: ScheduledFault) -> bool:
    return targets.brokers.configure_group({})


def _deny(targets: FaultTargets, fault: ScheduledFault) -> bool:
    targets.brokers.denial = DENIALS[fault.how["error"] % len(DENIALS)]
    return True


def _allow(targets: FaultTargets, fault: ScheduledFault) -> bool:
    targets.brokers.denial = ErrorCode.NONE
    return True


_EPOCHS: Final = "consumer"
_LOADS: Final = {"load_ms": (0, 3_000)}

FAULTS: Final[dict[str, Fault]] = {
    fault.name: fault
    for fault in (
        Fault(name="slow", says="Frames take longer, and not all equally long.", who="processes", lasts_ms=(1_000, 60_000),
              inject=partial(_on_paths, _slow), heal=partial(_on_paths, _fast), how={"delay_ms": (50, 5_000)}),
        Fault(name="silence", says="Nothing goes through in either direction.", who="process", lasts_ms=(500, 60_000), how={},
              inject=partial(_on_paths, _silence(1, 1)), heal=partial(_on_paths, _silence(-1, -1))),
        Fault(name="mute", says="What is sent does not arrive; answers do.", who="process", lasts_ms=(500, 60_000), how={},
              inject=partial(_on_paths, _silence(1, 0)), heal=partial(_on_paths, _silence(-1, 0))),
        Fault(name="deaf", says="What is sent arrives; answers do not.", who="process", lasts_ms=(500, 60_000), how={},
              inject=partial(_on_paths, _silence(0, 1)), heal=partial(_on_paths, _silence(0, -1))),
        Fault(name="split", says="Some members are cut off from every broker.", who="processes", lasts_ms=(1_000, 60_000), how={},
              inject=partial(_on_paths, _silence(1, 1)), heal=partial(_on_paths, _silence(-1, -1))),
        Fault(name="cut-off", says="A broker is cut off from every member.", who="broker", lasts_ms=(500, 30_000), how={},
              inject=partial(_on_paths, _silence(1, 1)), heal=partial(_on_paths, _silence(-1, -1))),
        Fault(name="reset", says="Connections are reset; what is under way is lost.", who="processes", inject=_reset, how={}),
        Fault(name="repeat", says="Every request is processed twice: more than TCP does.", who="processes", lasts_ms=(1_000, 60_000), how={},
              inject=partial(_on_paths, _repeat(1)), heal=partial(_on_paths, _repeat(-1))),
        Fault(name="reorder", says="Frames of a connection overtake each other: more than TCP does.", who="processes", lasts_ms=(1_000, 60_000), how={},
              inject=partial(_on_paths, _unorder(1)), heal=partial(_on_paths, _unorder(-1))),
        Fault(name="append", says="The log of the brokers refuses records.", who="nobody", lasts_ms=(500, 20_000),
              inject=_refuse, heal=_accept, how={"error": (0, len(APPEND_ERRORS) - 1)}),
        Fault(name="move", says="The coordinator moves to another broker, or to its own again.", who="broker", inject=_move, how={"drops": (0, 1), **_LOADS}),
        Fault(name="broker-crash", says="A broker crashes and comes back.", who="broker", lasts_ms=(1_000, 60_000),
              inject=_crash_broker, heal=_restart_broker, how={"failover_ms": (0, 6_000), **_LOADS}),
        Fault(name="broker-pause", says="A broker does nothing for a while.", who="broker", lasts_ms=(100, 20_000),
              inject=_stop_broker, heal=_go_on_broker, how={}),
        Fault(name="crash", says="Programs crash and are started again.", who="processes", lasts_ms=(100, 60_000),
              inject=_on_each(_crash), heal=_on_each(lambda process: process.start()), how={}),
        Fault(name="pause", says="Programs do nothing at all for a while.", who="processes", lasts_ms=(100, 60_000),
              inject=_on_each(lambda process: process.freeze()), heal=_on_each(lambda process: process.thaw()), how={}),
        Fault(name="stall", says="Applications work on their records and do not poll.", who="processes", lasts_ms=(1_000, 60_000),
              inject=_on_each(lambda process: process.stall()), heal=_on_each(lambda process: process.go_on()), how={}),
        Fault(name="callbacks", says="The applications' callbacks take their time.", who="processes", lasts_ms=(1_000, 60_000),
              inject=_callbacks(1), heal=_callbacks(-1), how={"callback_ms": (10, 10_000)}),
        Fault(name="leave", says="Members leave in order and come back.", who="processes", lasts_ms=(100, 60_000),
              inject=_on_each(_leave), heal=_on_each(lambda process: process.start()), how={}),
        Fault(name="resubscribe", says="Members change their subscription for a while.", who="processes", lasts_ms=(1_000, 60_000), how={},
              inject=_on_each(lambda process: process.resubscribe((TOPIC, OTHER_TOPIC))), heal=_on_each(lambda process: process.resubscribe((TOPIC,)))),
        Fault(name="grow", says="A topic gets more partitions.", who="nobody", inject=_grow, how={"partitions": (1, 3)}),
        Fault(name="upgrade", says="Members go from range to cooperative-sticky by two rolling bounces, or to the other group protocol and back.", who="process", lasts_ms=(100, 5_000),
              inject=_upgrade, heal=_on_each(lambda process: process.start()), how={"bounce": (1, 1)}),
        Fault(name="interval", says="The group's own configuration asks for another heartbeat interval.", who="nobody", lasts_ms=(10_000, 120_000),
              inject=_ask_for_interval, heal=_ask_for_default, how={"interval_ms": (500, 15_000)}, dialect=_EPOCHS),
        Fault(name="deny", says="The brokers deny the group, or one of its topics, to its members.", who="nobody", lasts_ms=(500, 10_000),
              inject=_deny, heal=_allow, how={"error": (0, len(DENIALS) - 1)}, dialect=_EPOCHS),
    )
}  # fmt: skip
