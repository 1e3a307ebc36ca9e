"""A plan: members, settings and steps of one client case, as data.

The runner (`plan_runner.py`) runs a plan against a subject and records a trace. Judges then read the trace alone. A plan written as JSON is a
schedule file, and `groupproof replay` runs it again. Times are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, get_args

from groupproof.protocol.faults import Fault, fault_from_json, fault_to_json
from groupproof.protocol.toxics import Toxic, toxic_from_json, toxic_to_json

__all__ = [
    "DEFAULT_ASSIGNORS", "DEFAULT_NAMES", "Append", "Arm", "Await", "BreakBroker", "Command", "ConfigureGroup", "Freeze", "GroupSettled", "Grow", "Heal", "Impair", "Kill",
    "Mark", "Matches", "Member", "Mend", "MoveCoordinator", "Pass", "Plan", "Reconciled", "Release", "Stable", "Start", "Step", "Thaw",
    "plan_from_json", "plan_to_json",
]  # fmt: skip

DEFAULT_NAMES: Mapping[str, Any] = {"group": "g", "topics": ["t"]}
"""The group and the topics of a member whose settings name none."""

DEFAULT_ASSIGNORS: Sequence[str] = ("range",)
"""The assignors of a member whose settings name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of the plan. `name` is its client id on the wire. `kind` is "subject" or "reference" (a reference peer).

    `settings` override the driver's defaults. They use the field names of the shim contract's `subscribe`.
    """

    name: str
    kind: str = "subject"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Holds once `count` observations after `after` match all columns that are set. `after` is a mark, a fault's delivery, or None for the plan's
    start.

    `event` is the name of the shim event. `where` compares fields of the observation's body.
    """

    kind_of: str  # request, processed, response, event, fault, transition
    after: str | None = None
    count: int = 1
    api: str | None = None
    client: str | None = None
    event: str | None = None
    fault: str | None = None
    error: int | None = None
    member: str | None = None
    state_after: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stable:
    """Holds when the group is Stable and every member in `members` has its assignment of the newest generation.

    After `after`, each member got a SyncGroup response without an error. It also reported `partitions_assigned`; a cooperative member need not, if
    its application already holds exactly that assignment. `after` None: at any time in the newest generation.
    """

    members: tuple[str, ...]
    after: str | None = None
    kind: ClassVar[str] = "stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettled:
    """Holds when exactly `members` share the partitions of `topics`, in one generation or at one epoch, and their applications know it.

    Each member must also have had a heartbeat answered without an error since mark `after` (None: at any time). Members may speak different
    dialects. It needs no transition of the coordinator, so it works behind a tap too.
    """

    members: tuple[str, ...]
    topics: Mapping[str, int]
    after: str | None = None
    kind: ClassVar[str] = "settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Holds when `members` of a group with member epochs (KIP-848) share the partitions of `topics` at one epoch. Each has reported that it owns
    its part, its application knows it, and since `after` each had a heartbeat answered without an error.
    """

    members: tuple[str, ...]
    topics: Mapping[str, int]
    after: str | None = None
    kind: ClassVar[str] = "reconciled"


Condition = Matches | Stable | GroupSettled | Reconciled


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start a member and send it `subscribe`; done when `subscribe` is answered. A member that was killed or closed can be started again."""

    member: str
    kind: ClassVar[str] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Wait at most `within_ms` until the condition holds. On timeout the kit records a `timeout` event. Unless `go_on`, the plan then jumps to its
    end, and the judges decide what the timeout means.
    """

    until: Condition
    within_ms: int = 10_000
    go_on: bool = False
    kind: ClassVar[str] = "await"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    fault: Fault
    kind: ClassVar[str] = "arm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Release what the fault holds. The fault stays armed."""

    fault: str
    kind: ClassVar[str] = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heal:
    """Disarm the fault and release what it holds."""

    fault: str
    kind: ClassVar[str] = "heal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Send a shim command. With `wait`, wait for its answer, at most `within_ms`; otherwise the plan goes on at once."""

    member: str
    command: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    wait: bool = True
    within_ms: int = 10_000
    kind: ClassVar[str] = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """End the member without a clean close: SIGKILL to its process, which must be its own."""

    member: str
    kind: ClassVar[str] = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """Stop the member's process (SIGSTOP). `Thaw` continues it."""

    member: str
    kind: ClassVar[str] = "freeze"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thaw:
    member: str
    kind: ClassVar[str] = "thaw"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCoordinator:
    to: int | None = None
    parked: str = "answer"
    state: str = "kept"
    kind: ClassVar[str] = "move_coordinator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grow:
    """Set the number of partitions of `topic`; create the topic where it is new. Clients learn about it by Metadata."""

    topic: str
    partitions: int
    kind: ClassVar[str] = "grow"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureGroup:
    """Set configs of the plan's group, by Kafka's names (IncrementalAlterConfigs of resource type 32, KIP-848)."""

    settings: Mapping[str, Any]
    kind: ClassVar[str] = "configure_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Append `records` records to each partition of a topic."""

    topic: str
    partitions: int
    records: int
    kind: ClassVar[str] = "append"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impair:
    """Apply `toxics` between these members and these nodes until `Mend`, on open connections too. An empty tuple means all of them."""

    name: str
    toxics: tuple[Toxic, ...]
    members: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    kind: ClassVar[str] = "impair"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakBroker:
    """Break a broker until `Mend`: "pause" stops its process, "kill" ends it without a clean shutdown, "slow-disk" delays its writes.

    `node` None is the node that coordinates the plan's group.
    """

    name: str
    how: str
    node: int | None = None
    kind: ClassVar[str] = "break_broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """End an `Impair` or a `BreakBroker`. A broker that was killed is started again."""

    name: str
    kind: ClassVar[str] = "mend"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Let time pass: an observation window."""

    ms: int
    kind: ClassVar[str] = "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Record a named instant that conditions and judges refer to."""

    name: str
    kind: ClassVar[str] = "mark"


Step = (
    Start
    | Await
    | Arm
    | Release
    | Heal
    | Command
    | Kill
    | Freeze
    | Thaw
    | MoveCoordinator
    | Grow
    | ConfigureGroup
    | Append
    | Impair
    | BreakBroker
    | Mend
    | Pass
    | Mark
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The members and steps of a case. `coordinator` are broker settings by Kafka's names. `topics` maps a name to its partition count. `records`
    is the number of records in each partition.
    """

    members: tuple[Member, ...]
    steps: tuple[Step, ...]
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    records: int = 20
    coordinator: Mapping[str, Any] = field(default_factory=dict)
    brokers: int = 2


_STEPS: dict[str, type[Any]] = {step.kind: step for step in get_args(Step)}
_CONDITIONS: dict[str, type[Any]] = {condition.kind: condition for condition in get_args(Condition)}


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as a schedule file writes it."""
    return {**asdict(replace(plan, steps=())), "steps": [_step_to_json(step) for step in plan.steps]}


def plan_from_json(value: dict[str, Any]) -> Plan:
    """Raise `ValueError` naming the part that is unknown or missing."""
    try:
        fields = dict(value)
        members = tuple(Member(**member) for member in fields.pop("members"))
        steps = tuple(_step_from_json(step) for step in fields.pop("steps"))
        return Plan(members=members, steps=steps, **fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a plan: {error}") from error


def _step_to_json(step: Step) -> dict[str, Any]:
    if isinstance(step, Arm):
        return {"step": step.kind, "fault": fault_to_json(step.fault)}
    value = {"step": step.kind, **asdict(step)}
    if isinstance(step, Impair):
        value["toxics"] = [toxic_to_json(impairment) for impairment in step.toxics]
    if isinstance(step, Await):
        value["until"] = {"kind": step.until.kind, **asdict(step.until)}
    return value


def _step_from_json(value: dict[str, Any]) -> Step:
    fields = dict(value)
    make = _STEPS[fields.pop("step")]
    if make is Arm:
        fields["fault"] = fault_from_json(fields["fault"])
    if make is Impair:
        fields["toxics"] = tuple(toxic_from_json(impairment) for impairment in fields["toxics"])
        fields |= {name: tuple(fields[name]) for name in ("members", "nodes") if name in fields}
    if make is Await:
        until = dict(fields["until"])
        condition = _CONDITIONS[until.pop("kind")]
        if condition is not Matches:
            until["members"] = tuple(until["members"])
        fields["until"] = condition(**until)
    made: Step = make(**fields)
    return made
