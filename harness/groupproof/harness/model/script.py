"""A script: who sends what to a broker, when, and on which connection, as data; the plan of one coordinator case.

The runner (`script_runner.py`) carries a script out against any broker and records a trace; the oracle (`judging/oracle/`) then says of every answer
whether the release's profile gives it. A script is a schedule file when written as JSON. Times are milliseconds.

Bodies are in the newest shape of the API, as the wire takes them. A value that is known only in the run is written as a `Ref` (what a
member was last given), `Group` or `Topic` (names that differ from run to run), `SubscriptionBytes` and `AssignmentBytes` (bytes that hold such names),
or `PartitionsById`, `OwnedById`, `TopicId` and `TopicPattern` (topics by their ids, or in a regular expression).
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
"""What a trace names as waited for where a script was given up."""


@dataclass(frozen=True, slots=True)
class Ref:
    """What `member` was last given: its `member_id` ("" before), `generation` (-1 before; `plus` is added), `leader` or `protocol_name`;
    in a dialect with epochs its `member_epoch` (0 before; `plus` is added).

    Also its `producer_id`, which nobody gives it: one of its own in each run.
    """

    member: str
    attribute: str
    plus: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """The group that the script calls `name`: one of its own in each run."""

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
    """The id of the topic that the script calls `name`; one that no topic has where there is none so called."""

    name: str = "t"


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression in which `{t}` stands for the name of the topic that the script calls t."""

    text: str


@dataclass(frozen=True, slots=True)
class PartitionsById:
    """Partitions as (topic, partition) by the script's names, as KIP-848's requests list them: by topic id."""

    partitions: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnedById:
    """The partitions that `member` was last assigned by an answer with epochs, as KIP-848's requests list them."""

    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send a request. With `wait` its answer is awaited, at most `within_ms`; else the script goes on once the broker has taken it up.

    `member` is the client id, and the name of the connection unless `over` names another. `version` None is the newest that both sides
    speak. `label` names the exchange for `Answered`. `to` is "coordinator" of `Group`, "other" (a broker that is not), or "any". `code` is the error that kafka-4.1
    answers, None where the answer is none of the case's business; with `is_parked` no answer may come before the next step. `settles`
    False: the script goes on at once, so that this request and the next may be taken up in either order. The step is left out where the
    newest version that both sides speak is below `since`.
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
    """Wait for the answer to the exchange called `label`, which was sent without waiting; `code` as in `Ask`."""

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
    """Close a connection without a word; with `resets` by a reset."""

    connection: str
    resets: bool = False
    kind: ClassVar[str] = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Send bytes as they are, length prefix and all, on a connection to the coordinator of `Group`."""

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
    """Read nothing more from the connection, so that answers pile up, until `ReadAgain`."""

    connection: str
    kind: ClassVar[str] = "stop_reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAgain:
    connection: str
    kind: ClassVar[str] = "read_again"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveGroup:
    """Make another broker the coordinator of `group`, and wait until it says so: by an election, or else the old one is stopped."""

    group: str = "g"
    within_ms: int = 30_000
    kind: ClassVar[str] = "move_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTopic:
    """Give the run's own `topic` so many partitions, and make it where it is not there; wait until the brokers tell of it."""

    topic: str
    partitions: int
    within_ms: int = 10_000
    kind: ClassVar[str] = "grow_topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic:
    """Delete the run's own `topic`, which may be made again under another id; wait until the brokers tell of it no more."""

    topic: str
    within_ms: int = 10_000
    kind: ClassVar[str] = "delete_topic"


ScriptStep = Ask | AwaitAnswer | Pass | Cut | Raw | AwaitClose | StopReading | ReadAgain | MoveGroup | GrowTopic | DeleteTopic


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Steps in order, the broker settings they need by Kafka's own names, topics with their partitions, and how many brokers."""

    steps: tuple[ScriptStep, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    brokers: int = 1

    @property
    def own_topics(self) -> frozenset[str]:
        """Return the topics that the script makes in its course: no other run has them."""
        return frozenset(step.topic for step in self.steps if isinstance(step, GrowTopic))

    @property
    def groups(self) -> frozenset[str]:
        """Return what it calls its groups."""
        asked = (group for step in self.steps if isinstance(step, Ask) for group in groups_in(step.fields))
        return frozenset(("g", *asked, *(step.group for step in self.steps if isinstance(step, MoveGroup))))

    @property
    def is_rough(self) -> bool:
        """Whether it sends what no client does: bytes as they are, or a JoinGroup that offers nothing. Brokers are known to end of that."""
        return any(isinstance(step, Raw) or (isinstance(step, Ask) and not step.fields.get("protocols", (None,))) for step in self.steps)


def groups_in(value: Any) -> Iterator[str]:
    """Yield the names of the groups in a request's fields."""
    return (leaf.name for leaf in _leaves(value) if isinstance(leaf, Group))


def topics_in(value: Any) -> Iterator[str]:
    """Yield the names of the topics in a request's fields, those in expressions too."""
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
_KEYS = {"attribute": "what"}  # a schedule's keys stay, whatever the code calls the field
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
