"""A plan: members, settings and steps of one case, as data.

The runner (`plan_runner.py`) carries a plan out against a subject and records a trace; judges then read the trace alone. A plan is a
schedule file when written as JSON, and `groupproof replay` runs it again. Times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, get_args

from groupproof.protocol.faults import Fault, fault_from_json, fault_to_json
from groupproof.protocol.toxics import Toxic, toxic_from_json, toxic_to_json

__all__ = [
    "DEFAULT_NAMES", "Append", "Arm", "Await", "BreakBroker", "Command", "ConfigureGroup", "Freeze", "GroupSettled", "Grow", "Heal", "Impair", "Kill",
    "Mark", "Matches", "Member", "Mend", "MoveCoordinator", "Pass", "Plan", "Reconciled", "Release", "Stable", "Start", "Step", "Thaw",
    "plan_from_json", "plan_to_json",
]  # fmt: skip

DEFAULT_NAMES: Mapping[str, Any] = {"group": "g", "topics": ["t"]}
"""The group and the topics of a member whose settings name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of the plan; `name` is its client id on the wire. `kind` is "subject" or "reference" (the kit's own member as company).

    `settings` override the driver's defaults by the field names of the shim contract's `subscribe`.
    """

    name: str
    kind: str = "subject"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Holds once `count` observations match all the columns given, after `after` (the name of a mark, a fault's delivery, or the plan's start).

    `event` is the shim event's name; `where` compares fields of the observation's body.
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
    """Holds when the group is Stable and every named member has, after `after`, had its SyncGroup answered 0 in the newest generation
    and reported `partitions_assigned`, or kept what a cooperative protocol left it. `after` None: at any time in the newest generation."""

    members: tuple[str, ...]
    after: str | None = None
    kind: ClassVar[str] = "stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettled:
    """Holds when `members`, and they alone, share the partitions of `topics` in one generation or at one epoch, their applications know it, and each had a
    heartbeat answered without an error since mark `after` (None: ever). Members may speak different dialects. Read off the wire alone, it holds behind a tap
    too."""

    members: tuple[str, ...]
    topics: Mapping[str, int]
    after: str | None = None
    kind: ClassVar[str] = "settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Holds when `members`, of a group with member epochs (KIP-848), share the partitions of `topics` at one epoch, each has said that it owns its part, its
    application knows it, and each had a heartbeat answered without an error since `after`."""

    members: tuple[str, ...]
    topics: Mapping[str, int]
    after: str | None = None
    kind: ClassVar[str] = "reconciled"


Condition = Matches | Stable | GroupSettled | Reconciled


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start a member and send it `subscribe`; done when `subscribe` is answered. One that was killed or closed can be started again."""

    member: str
    kind: ClassVar[str] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Wait until the condition holds, at most `within_ms`. When time is out a `timeout` event is recorded and, unless `go_on`, the plan
    jumps to its end: the judges say what the silence means."""

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
    """Let go what the fault holds; it stays armed."""

    fault: str
    kind: ClassVar[str] = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heal:
    """Disarm the fault and let go what it holds."""

    fault: str
    kind: ClassVar[str] = "heal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Send a shim command; with `wait` its answer is awaited (at most `within_ms`), else the plan goes on at once."""

    member: str
    command: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    wait: bool = True
    within_ms: int = 10_000
    kind: ClassVar[str] = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """End the member without a goodbye (SIGKILL to its process; needs a process of its own)."""

    member: str
    kind: ClassVar[str] = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """Stop the member's process (SIGSTOP); `Thaw` lets it go on."""

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
    """Give `topic` `partitions` partitions (created when new); clients learn it by Metadata."""

    topic: str
    partitions: int
    kind: ClassVar[str] = "grow"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureGroup:
    """Give the plan's group settings of its own, by Kafka's names (IncrementalAlterConfigs of resource type 32, KIP-848)."""

    settings: Mapping[str, Any]
    kind: ClassVar[str] = "configure_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Append so many records to each of a topic's partitions."""

    topic: str
    partitions: int
    records: int
    kind: ClassVar[str] = "append"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impair:
    """Let `toxics` act on the way between these members and these nodes (none named: all of them), on open connections too, until `Mend`."""

    name: str
    toxics: tuple[Toxic, ...]
    members: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    kind: ClassVar[str] = "impair"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakBroker:
    """Break the machine of a broker until `Mend`: "pause" stops it, "kill" ends it without a goodbye, "slow-disk" lets its writes wait.

    `node` None is the node that coordinates the plan's group.
    """

    name: str
    how: str
    node: int | None = None
    kind: ClassVar[str] = "break_broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """End an `Impair` or a `BreakBroker`; a broker that was killed is started again."""

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
    """`coordinator` are Kafka's broker settings by their own names; `topics` maps a name to its partitions, `records` fill each partition."""

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
