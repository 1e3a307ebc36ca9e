"""Groups of the consumer protocol that change, event by event, and what a server-side assignor makes of them: the reference's here, Kafka's own in `java/ServerAssign.java`.

An event is what that program reads, as a list of texts. A result is what it prints: each member with its stored assignment, in the order of Kafka's maps.
"""

from __future__ import annotations

import base64
import os
import random
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from groupproof.clients.registry.toolchains.java_archives import java_tool
from groupproof.coordinator.assignors.group_spec import (
    GroupSpec,
    MemberSpec,
    Partitions,
    ServerAssignor,
    SubscriptionType,
    TargetAssignment,
    TopicSpec,
)
from groupproof.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from groupproof.coordinator.assignors.spec_order import members_in_order, names_in_order

__all__ = ["RELEASES", "SOURCE", "Event", "Group", "ServerGroup", "drawn_groups", "kafkas", "results_of"]

SOURCE = Path(__file__).parent / "java" / "ServerAssign.java"
RELEASES = ("4.0.2", "4.1.1", "4.2.2", "4.3.1", "4.4.0")
_ANSWER_S = 300.0

Event = tuple[str, ...]
Group = list[Event]
"""Its first event is ("group", the assignor's name)."""


def kafkas(groups: Sequence[Group], classes: Path, jars: Path) -> list[list[str]]:
    """Return the results of Kafka's own assignor for each group."""
    path = os.pathsep.join([str(classes), f"{jars}{os.sep}*"])
    lines = "".join("\t".join(event) + "\n" for group in groups for event in group)
    done = subprocess.run([java_tool("java"), "-cp", path, SOURCE.stem], input=lines, capture_output=True, text=True, timeout=_ANSWER_S, check=True)
    results = iter(done.stdout.splitlines())
    return [[next(results) for event in group if event[0] in {"target", "beat"}] for group in groups]


def results_of(group: Group, *, is_view: bool, assign: ServerAssignor | None = None) -> Iterator[str]:
    """Yield the results of the reference's assignor, or of one in its place, in the words of Kafka's."""
    state = ServerGroup(assign or SERVER_ASSIGNORS[group[0][1]], is_view=is_view)
    results = (state.happens(event) for event in group[1:])
    yield from (result for result in results if result is not None)


@dataclass(frozen=True, slots=True)
class _Member:
    instance: str | None
    rack: str | None
    names: tuple[str, ...]


@dataclass(slots=True)
class ServerGroup:
    """One group beside its coordinator: members in the order of their arrival, topics, and the last target."""

    assign: ServerAssignor
    is_view: bool = field(kw_only=True)
    topics: dict[str, tuple[str, int]] = field(default_factory=dict)
    members: dict[str, _Member] = field(default_factory=dict)
    target: dict[str, Partitions] = field(default_factory=dict)
    size_max: int = 0
    last_spec: GroupSpec | None = None

    def happens(self, event: Event) -> str | None:
        """Take an event in; one that computes a target has a result."""
        match event:
            case ("topic", name, topic_id, count):
                self.topics[name] = (topic_id, int(count))
            case ("delete", name):
                del self.topics[name]
            case ("leave", member):
                del self.members[member]
                self.target.pop(member, None)
            case ("target",):
                return self._compute(None, None)
            case ("enter", member, instance, rack, names):
                self._store(member, _Member(instance or None, rack or None, _names(names)))
            case ("beat", member, instance, rack, names):
                record = _Member(instance or None, rack or None, _names(names))
                result = self._compute(member, record)
                self._store(member, record)
                return result
            case _:
                raise AssertionError(event)
        return None

    def _store(self, member: str, record: _Member) -> None:
        if (previous := self._replaced(member, record)) is not None:
            del self.members[previous]
            self.target.pop(previous, None)
        self.members[member] = record
        self.size_max = max(self.size_max, len(self.members))

    def _replaced(self, member: str, record: _Member | None) -> str | None:
        if record is None or record.instance is None:
            return None
        return next((other for other, held in self.members.items() if held.instance == record.instance and other != member), None)

    def _compute(self, updated: str | None, record: _Member | None) -> str:
        replaced = self._replaced(updated or "", record)
        after = {member: held for member, held in self.members.items() if member != replaced}
        last = dict(self.target)
        if updated is not None and record is not None:
            after[updated] = record
            last[updated] = self.target.get(replaced or updated, {})
        order = members_in_order(list(self.members), size_max=self.size_max, updated=updated, replaced=replaced, is_view=self.is_view)
        kinds = {frozenset(held.names) for held in after.values()}
        self.last_spec = GroupSpec(
            members={member: self._spec(after[member], last.get(member, {})) for member in order},
            subscription_type=SubscriptionType.HETEROGENEOUS if len(kinds) > 1 else SubscriptionType.HOMOGENEOUS,
        )
        computed = self.assign(self.last_spec, {topic_id: TopicSpec(partitions=count) for topic_id, count in self.topics.values()})
        self.target.update(computed)
        return self._text(computed)

    def _spec(self, held: _Member, assigned: Partitions) -> MemberSpec:
        existing = tuple(self.topics[name][0] for name in names_in_order(held.names) if name in self.topics)
        return MemberSpec(subscribed_topic_ids=existing, assigned=assigned, instance_id=held.instance, rack_id=held.rack)

    def _text(self, computed: TargetAssignment) -> str:
        names = {topic_id: name for name, (topic_id, _) in self.topics.items()}
        return "|".join(
            f"{member}:" + ";".join(f"{names[topic]}={','.join(map(str, numbers))}" for topic, numbers in partitions.items())
            for member, partitions in computed.items()
        )


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def drawn_groups(seed: int, count: int) -> list[Group]:
    """Return groups with members that come, go, return under their instance and subscribe anew, and topics that come, grow and go."""
    return [_Drawn(random.Random(f"{seed}/{index}")).group() for index in range(count)]


class _Drawn:
    """One group; its size, its topics and how alike its members are, are drawn first."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._assignor = draw.choice(["uniform", "uniform", "uniform", "range"])
        self._size = draw.choice([1, 2, 3, 4, 6, 9, 13, 18, 25, 30])
        self._partitions_max = draw.choice([3, 6, 6, 12, 12, 40, 100])
        self._pool = draw.sample(["orders", "payments", "t0", "t1", "t2", "t3", "Aa", "BB", "a.b-c_d", "clicks", "audit", "x"], draw.randint(1, 10))
        self._is_alike = draw.random() < 0.55
        self._kinds = [self._some_names() for _ in range(1 if self._is_alike else draw.randint(2, 6))]
        self._counts: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._members: dict[str, tuple[str, str, str]] = {}
        self._events: list[Event] = [("group", self._assignor)]

    def group(self) -> Group:
        for name in self._pool:
            if self._draw.random() < 0.85 or not self._counts:
                self._topic(name)
        for _ in range(self._size):
            self._join("enter" if self._draw.random() < 0.6 else "beat")
        self._events.append(("target",))
        for _ in range(self._draw.randint(3, 14)):
            self._change()
        return self._events

    def _change(self) -> None:
        changes = [
            self._come,
            self._come,
            self._go,
            self._go,
            self._grow,
            self._subscribe,
            self._return,
            self._topics_change,
            self._burst,
            self._again,
        ]
        self._draw.choice(changes)()

    def _come(self) -> None:
        self._join("beat")

    def _join(self, kind: str) -> None:
        names = self._draw.choice(self._kinds)
        instance = f"i{self._draw.getrandbits(24):x}" if self._draw.random() < 0.3 else ""
        self._enter(kind, self._member_id(), instance, names)

    def _enter(self, kind: str, member: str, instance: str, names: str) -> None:
        rack = self._draw.choice(["", "", "rack-0", "rack-1"])
        self._members[member] = (instance, rack, names)
        self._events.append((kind, member, instance, rack, names))

    def _member_id(self) -> str:
        bits = self._draw.getrandbits(128)
        forms = (f"{bits >> 96:08x}", f"m{bits % 1000}", base64.urlsafe_b64encode(bits.to_bytes(16, "big")).decode().rstrip("="))
        member = self._draw.choices(forms, weights=(5, 2, 2))[0]
        return member if member not in self._members else self._member_id()

    def _go(self) -> None:
        if len(self._members) > 1:
            self._leave()
            self._events.append(("target",))

    def _leave(self) -> None:
        member = self._draw.choice(list(self._members))
        del self._members[member]
        self._events.append(("leave", member))

    def _burst(self) -> None:
        """Several members leave or come between two targets, as in an assignment interval (KIP-1251)."""
        for _ in range(self._draw.randint(1, 5)):
            if len(self._members) > 1 and self._draw.random() < 0.5:
                self._leave()
            else:
                self._join("enter")
        self._events.append(("target",))

    def _grow(self) -> None:
        if self._counts:
            name = self._draw.choice(list(self._counts))
            self._topic(name, self._counts[name] + self._draw.randint(1, max(2, self._partitions_max // 2)))
            self._events.append(("target",))

    def _subscribe(self) -> None:
        """A member changes its names, or all do at once where they are alike."""
        names = self._draw.choice([*self._kinds, self._some_names()])
        if self._is_alike and self._draw.random() < 0.6:
            self._kinds = [names]
            for member, (instance, _, _) in list(self._members.items()):
                self._enter("enter", member, instance, names)
            self._events.append(("target",))
        else:
            member = self._draw.choice(list(self._members))
            self._enter("beat", member, self._members[member][0], names)

    def _return(self) -> None:
        """A static member comes back under a new id, with the same names or with others."""
        statics = [(member, held) for member, held in self._members.items() if held[0]]
        if statics:
            member, (instance, _, names) = self._draw.choice(statics)
            del self._members[member]
            self._enter("beat", self._member_id(), instance, names if self._draw.random() < 0.6 else self._draw.choice(self._kinds))

    def _topics_change(self) -> None:
        name = self._draw.choice(self._pool)
        if name in self._counts and self._draw.random() < 0.7:
            del self._counts[name]
            self._events.append(("delete", name))
        else:
            self._topic(name, self._counts.get(name, 0) + self._draw.randint(1, self._partitions_max))
        self._events.append(("target",))

    def _again(self) -> None:
        self._events.append(("target",))

    def _topic(self, name: str, count: int | None = None) -> None:
        if name not in self._counts:
            self._ids[name] = str(uuid.UUID(int=self._draw.getrandbits(128)))
        self._counts[name] = count or self._draw.randint(1, self._partitions_max)
        self._events.append(("topic", name, self._ids[name], str(self._counts[name])))

    def _some_names(self) -> str:
        names: Iterable[str] = self._draw.sample(self._pool, self._draw.randint(1, len(self._pool)))
        return ",".join(names)
