"""A script: which member sends which request to a broker, when, and on which connection, as data. It is the plan of one coordinator case.

The runner (`script_runner.py`) runs a script against any broker and records a trace. The oracle (`judging/oracle/`) then says of every answer
whether the release's profile gives it. A script written as JSON is a schedule file. Times are in milliseconds.

Bodies have the newest shape of the API, as on the wire. Markers stand for values that only the run knows: `Ref` (an attribute of a member), `Group`
and `Topic` (names that differ from run to run), `SubscriptionBytes` and `AssignmentBytes` (bytes that hold such names), `PartitionsById`,
`OwnedById` and `TopicId` (topics by their ids), and `TopicPattern` (topics in a regular expression).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from groupproof.protocol.vocabulary import Api, api_named

__all__ = [
    "STEPS_END", "Ask", "AssignmentBytes", "AwaitAnswer", "AwaitClose", "Cut", "DeleteTopic", "Group", "GrowTopic", "MoveGroup", "OwnedById",
    "PartitionsById", "Pass", "Raw", "ReadAgain", "Ref", "Script", "ScriptStep", "StopReading", "SubscriptionBytes", "Topic", "TopicId",
    "TopicPattern", "groups_in", "script_from_json", "script_to_json", "topics_in",
]  # fmt: skip

STEPS_END = "the end of the steps"
"""What a trace names as awaited when a script was given up."""


@dataclass(frozen=True, slots=True)
class Ref:
    """An attribute of `member` from its latest answer: `member_id` ("" before the first), `generation` (-1 before; `plus` is added), `leader` or
    `protocol_name`; in a dialect with epochs `member_epoch` (0 before; `plus` is added).

    `producer_id` comes from no answer: each member has its own in each run.
    """

    member: str
    attribute: str
    plus: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """The group that the script calls `name`. Each run has its own."""

    name: str = "g"


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic that the script calls `name`."""

    name: str = "t"


@dataclass(frozen=True, slots=True)
class SubscriptionBytes:
    """The bytes of a consumer's subscription (`protocol.subscription`): topics by the script's names, owned partitions, user data."""

    topics: tuple[str, ...] = ("t",)
    owned: tuple[tuple[str, int], ...] = ()
    user_data: bytes = b""
    version: int = 1


@dataclass(frozen=True, slots=True)
class AssignmentBytes:
    """The bytes of a consumer's assignment: partitions as (topic, partition) by the script's names."""

    partitions: tuple[tuple[str, int], ...] = ()
    user_data: bytes = b""
    version: int = 0


@dataclass(frozen=True, slots=True)
class TopicId:
    """The id of the topic that the script calls `name`. Where the script has no such topic, an id that no topic has."""

    name: str = "t"


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression. `{t}` in it stands for the name of the topic that the script calls t."""

    text: str


@dataclass(frozen=True, slots=True)
class PartitionsById:
    """Partitions as (topic, partition) by the script's names. KIP-848's requests list them by topic id."""

    partitions: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnedById:
    """The partitions that `member` was last assigned by an answer with epochs, as KIP-848's requests list them."""

    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send a request. With `wait`, wait for its answer, at most `within_ms`. Otherwise the script goes on once the broker has received the request.

    `member` is the client id, and the name of the connection unless `over` names another. `version` None is the newest that both sides speak.
    `label` names the exchange for `AwaitAnswer`. `to` is "coordinator" of `Group`, "other" (a broker that is not), or "any". `code` is the error
    that kafka-4.1 answers; None where the case does not depend on it. With `is_parked`, no answer may come before the next step. With `settles`
    False the script goes on at once, so that the broker may process this request and the next in either order. The step is skipped where the newest
    version that both sides speak is below `since`.
    """

    member: str
    api: Api
    fields: Mapping[str, Any]
    label: str = ""
    version: int | None = None
    over: str | None = None
    to: str = "coordinator"
    wait: bool = True
    within_ms: int = 5_000
    code: int | None = None
    is_parked: bool = False
    settles: bool = True
    since: int = 0
    kind: ClassVar[str] = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitAnswer:
    """Wait for the answer to the exchange called `label`, which was sent without waiting. `code` is as in `Ask`."""

    label: str
    within_ms: int = 10_000
    code: int | None = None
    kind: ClassVar[str] = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Let time pass."""

    ms: int
    kind: ClassVar[str] = "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Close a connection; with `resets`, by a TCP reset."""

    connection: str
    resets: bool = False
    kind: ClassVar[str] = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Send bytes as they are, length prefix included, on a connection to the coordinator of `Group`."""

    connection: str
    data: bytes
    kind: ClassVar[str] = "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitClose:
    """Wait until the broker has closed the connection, at most `within_ms`."""

    connection: str
    within_ms: int = 5_000
    kind: ClassVar[str] = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReading:
    """Stop reading from the connection until `ReadAgain`, so that responses pile up."""

    connection: str
    kind: ClassVar[str] = "stop_reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAgain:
    connection: str
    kind: ClassVar[str] = "read_again"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveGroup:
    """Make another broker the coordinator of `group`, and wait until that broker says so. It uses an election, or else stops the old coordinator."""

    group: str = "g"
    within_ms: int = 30_000
    kind: ClassVar[str] = "move_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTopic:
    """Set the partition count of the run's own `topic`, or create it where it does not exist. Wait until the brokers report it."""

    topic: str
    partitions: int
    within_ms: int = 10_000
    kind: ClassVar[str] = "grow_topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic:
    """Delete the run's own `topic`. It may be created again under another id. Wait until the brokers no longer report it."""

    topic: str
    within_ms: int = 10_000
    kind: ClassVar[str] = "delete_topic"


ScriptStep = Ask | AwaitAnswer | Pass | Cut | Raw | AwaitClose | StopReading | ReadAgain | MoveGroup | GrowTopic | DeleteTopic


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Steps in order, the broker settings that they need by Kafka's names, topics with their partition counts, and the number of brokers."""

    steps: tuple[ScriptStep, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    brokers: int = 1

    @property
    def own_topics(self) -> frozenset[str]:
        """Return the topics that the script creates. No other run has them."""
        return frozenset(step.topic for step in self.steps if isinstance(step, GrowTopic))

    @property
    def groups(self) -> frozenset[str]:
        """Return the script's names for its groups."""
        asked = (group for step in self.steps if isinstance(step, Ask) for group in groups_in(step.fields))
        return frozenset(("g", *asked, *(step.group for step in self.steps if isinstance(step, MoveGroup))))

    @property
    def is_rough(self) -> bool:
        """Whether the script sends what no client sends: raw bytes, or a JoinGroup without protocols. Some brokers crash on these."""
        return any(isinstance(step, Raw) or (isinstance(step, Ask) and not step.fields.get("protocols", (None,))) for step in self.steps)


def groups_in(value: Any) -> Iterator[str]:
    """Yield the names of the groups in a request's fields."""
    return (leaf.name for leaf in _leaves(value) if isinstance(leaf, Group))


def topics_in(value: Any) -> Iterator[str]:
    """Yield the names of the topics in a request's fields, including those in regular expressions."""
    for leaf in _leaves(value):
        if isinstance(leaf, Topic | TopicId):
            yield leaf.name
        elif isinstance(leaf, PartitionsById | AssignmentBytes):
            yield from (topic for topic, _ in leaf.partitions)
        elif isinstance(leaf, SubscriptionBytes):
            yield from leaf.topics
        elif isinstance(leaf, TopicPattern):
            yield from re.findall(r"{(\w+)}", leaf.text)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | tuple | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item)
    else:
        yield value


_STEPS: dict[str, type[Any]] = {
    step.kind: step for step in (Ask, AwaitAnswer, Pass, Cut, Raw, AwaitClose, StopReading, ReadAgain, MoveGroup, GrowTopic, DeleteTopic)
}
_MARKERS: dict[str, type[Any]] = {
    "ref": Ref, "group": Group, "topic": Topic, "subscribed": SubscriptionBytes, "assigned": AssignmentBytes, "topic_id": TopicId,
    "topic_pattern": TopicPattern, "partitions": PartitionsById, "owned": OwnedById,
}  # fmt: skip
_MARKED = {marker: name for name, marker in _MARKERS.items()}
_KEYS = {"attribute": "what"}  # the keys of a schedule stay, even where the code renames the field
_FIELDS = {key: name for name, key in _KEYS.items()}


def script_to_json(script: Script) -> dict[str, Any]:
    """Return the script as a schedule file writes it."""
    return {
        "steps": [{"step": step.kind, **{name: _to_json(name, getattr(step, name)) for name in _names(step)}} for step in script.steps],
        "settings": dict(script.settings),
        "topics": dict(script.topics),
        "brokers": script.brokers,
    }


def _names(value: Any) -> list[str]:
    return [column.name for column in fields(value)]


def _to_json(name: str, value: Any) -> Any:
    if name == "api":
        return Api(value).title
    if type(value) in _MARKED:
        return {f"${_MARKED[type(value)]}": {_KEYS.get(name, name): _to_json("", getattr(value, name)) for name in _names(value)}}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, Mapping):
        return {key: _to_json("", item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_to_json("", item) for item in value]
    return value


def script_from_json(value: Mapping[str, Any]) -> Script:
    """Raise `ValueError` naming the part that is unknown or missing."""
    try:
        steps = tuple(_step_from_json(step) for step in value["steps"])
        return Script(steps=steps, settings=value["settings"], topics=value["topics"], brokers=value["brokers"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a script: {type(error).__name__}: {error}") from error


def _step_from_json(value: Mapping[str, Any]) -> ScriptStep:
    arguments = {name: _from_json(item) for name, item in value.items() if name != "step"}
    if "api" in arguments:
        arguments["api"] = api_named(arguments["api"])
    made: ScriptStep = _STEPS[value["step"]](**arguments)
    return made


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    if not isinstance(value, Mapping):
        return value
    name = next(iter(value), "")
    if name == "$bytes":
        return bytes.fromhex(value[name])
    if name.startswith("$"):
        return _MARKERS[name[1:]](**{_FIELDS.get(key, key): _from_json(field) for key, field in value[name].items()})
    return {key: _from_json(item) for key, item in value.items()}
