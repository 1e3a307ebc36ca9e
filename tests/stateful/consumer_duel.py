"""The machine and the naive model of a consumer group side by side, and the rules by which Hypothesis writes what is done to both.

Compared after every request and every wait: the answer, the state, the group's and the target's epoch, and of each member its epoch, its partitions and its target.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID, uuid5

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.stateful.duel import Disagreement
from tests.stateful.naive_consumer_group import AWAY, LEFT, NONE, NaiveConsumerGroup, Partition, Release, Target

from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, TopicPartitions
from groupproof.protocol.wire.messages import CommitPartition, CommitTopic, OffsetCommitRequest

__all__ = ["AnyConsumerHistory", "ConsumerDuel"]

GROUP: Final = "g"
TOPICS: Final = {"t": 3, "u": 2}
NAMES: Final = (("t",), ("t", "u"), ("u",), ("t", "nowhere"), ("later",))
MEMBERS: Final = ("a", "b", "c", "d")
INSTANCES: Final = (None, None, None, "i", "j")
WAITS_MS: Final = (10, 400, 1_000, 1_000, 5_000, 5_000, 20_000, 44_999, 60_000)
MALFORMED: Final[tuple[tuple[int, dict[str, Any]], ...]] = (
    (0, {"rebalance_timeout_ms": -1}), (0, {"subscribed_topic_names": None}), (0, {"owns": True}), (0, {"instance_id": ""}), (0, {"rack_id": ""}),
    (0, {"server_assignor": "other"}), (AWAY, {"instance_id": None}), (-3, {}), (1, {"rack_id": ""}),
)  # fmt: skip
ROUND_MS: Final = 1_100
"""A little more than the interval between two targets."""
TIMEOUTS_MS: Final = (60_000, 5_000)
_IDS: Final = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


class ConsumerDuel:
    """One group, twice; `variant` is planted in the machine."""

    def __init__(self, release: Release, variant: Variant = REFERENCE, members_max: int = 1_000) -> None:
        profile = f"kafka-{release[0]}.{release[1]}"
        settings = Settings.of({"group.consumer.max.size": members_max}, profile)
        self.machine = Coordinator(profile=profile, settings=settings, choices=RandomChoices(random.Random(0)), variant=variant)
        self.model = NaiveConsumerGroup(release, members_max)
        self.now_ms = self.tokens = 0
        self.topics = dict(TOPICS)
        self._tell_topics()

    def grow(self, topic: str) -> None:
        self.topics[topic] = self.topics.get(topic, 0) + 1
        self._tell_topics()
        self._compare(f"{topic} grows")

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.machine.advance(self.now_ms)
        self.model.advance(self.now_ms)
        self._compare(f"{ms} ms")

    def beat(self, request: ConsumerGroupHeartbeatRequest) -> Any:
        """Send a heartbeat to both; return the machine's answer."""
        answer = self._ask(request)
        error = self.model.refusal(request)
        _same(answer.error_code, error, f"the answer to {request}")
        if error is NONE and request.member_epoch < 0:
            self.model.leave(request)
            _same(answer.member_epoch, request.member_epoch, f"the epoch that {request} is answered")
        elif error is NONE:
            member, is_due = self.model.beat(request, self.now_ms, self._target())
            _same(answer.member_epoch, member.epoch, f"the epoch that {request} is answered")
            assignment = None if answer.assignment is None else _listed(answer.assignment)
            _same(assignment, set(member.owned) if is_due else None, f"the assignment that {request} is answered")
        self._compare(str(request))
        return answer

    def commit(self, member_id: str, epoch: int, partitions: Iterable[tuple[str, int]]) -> None:
        asked = tuple(CommitTopic(name=name, partitions=(CommitPartition(partition_index=index, committed_offset=1),)) for name, index in partitions)
        answer = self._ask(OffsetCommitRequest(group_id=GROUP, generation_id=epoch, member_id=member_id, topics=asked), 9)
        named = {(self._id(topic.name), topic.partitions[0].partition_index) for topic in asked}
        errors = {partition.error_code for topic in answer.topics for partition in topic.partitions}
        expected = self.model.commit_error(member_id, epoch, named) if self.model.exists else ErrorCode.GROUP_ID_NOT_FOUND
        _same(errors, {expected}, f"a commit of {member_id} at epoch {epoch}")

    # What both know

    def _tell_topics(self) -> None:
        self.machine.change_topics({name: TopicImage(self._id(name), count) for name, count in self.topics.items()})
        self.model.topics = {name: (self._id(name), count) for name, count in self.topics.items()}

    @staticmethod
    def _id(name: str) -> str:
        return str(uuid5(_IDS, name))

    def _ask(self, message: Any, version: int = 1) -> Any:
        self.tokens += 1
        outputs = self.machine.handle(message, Arrival(token=self.tokens, api_version=version, client_id="c", client_host="/h"), self.now_ms)
        self.model.advance(self.now_ms)
        (reply,) = [output.message for output in outputs if isinstance(output, Reply)]
        return reply

    def _described(self) -> Any:
        (group,) = self._ask(ConsumerGroupDescribeRequest(group_ids=(GROUP,))).groups
        return group

    def _target(self) -> Target:
        return {member.member_id: frozenset(_listed(member.target_assignment)) for member in self._described().members}

    def _compare(self, cause: str) -> None:
        group, model = self._described(), self.model
        _same(bool(group.error_code), not model.exists, f"whether there is a group after {cause}")
        if not model.exists:
            return
        _same(
            (group.group_state, group.group_epoch, group.assignment_epoch), (model.state, model.epoch, model.target_epoch), f"the group after {cause}"
        )
        if group.assignor_name not in model.assignors():
            raise Disagreement(f"the assignor after {cause}: {group.assignor_name} is none of {model.assignors()}")
        shows_giving = model.release >= (4, 3)
        views = {
            item.member_id: (
                item.member_epoch,
                item.instance_id,
                set(item.subscribed_topic_names),
                _listed(item.assignment),
                _listed(item.target_assignment),
            )
            for item in group.members
        }
        expected = {
            name: (
                item.epoch,
                item.instance_id,
                set(item.names),
                {*item.owned, *(item.giving if shows_giving else ())},
                set(model.target.get(name, ())),
            )
            for name, item in model.members.items()
        }
        _same(views, expected, f"the members after {cause}")


def _listed(assignment: Any) -> set[Partition]:
    return {(topic.topic_id, index) for topic in assignment.topic_partitions for index in topic.partitions}


def _same(machine: object, model: object, part: str) -> None:
    if machine != model:
        raise Disagreement(f"{part}:\n  machine {machine}\n  model   {model}")


class AnyConsumerHistory(RuleBasedStateMachine):
    """Members that join, obey late or never, lose answers, leave, come back and fall silent, in any order."""

    variant: Variant = REFERENCE
    release: Release = (4, 4)

    @initialize(members_max=st.sampled_from((1_000, 1_000, 2)))
    def begin(self, members_max: int) -> None:
        self.duel = ConsumerDuel(self.release, self.variant, members_max)
        self.epochs: dict[str, int] = {}
        self.granted: dict[str, set[Partition]] = {}
        self.instances: dict[str, str | None] = {}

    def _send(self, name: str, epoch: int, owned: set[Partition] | None, **fields: Any) -> None:
        topics = sorted({topic for topic, _ in owned or ()})
        listed = tuple(
            TopicPartitions(topic_id=topic, partitions=tuple(sorted(index for of, index in owned or () if of == topic))) for topic in topics
        )
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=name, member_epoch=epoch, topic_partitions=None if owned is None else listed,
            **{"instance_id": self.instances.get(name), **fields},
        )  # fmt: skip
        answer = self.duel.beat(request)
        if not answer.error_code and epoch >= 0:
            self.epochs[name] = answer.member_epoch
            if answer.assignment is not None:
                self.granted[name] = _listed(answer.assignment)

    @rule(name=st.sampled_from(MEMBERS), names=st.sampled_from(NAMES), instance=st.sampled_from(INSTANCES), timeout_ms=st.sampled_from(TIMEOUTS_MS))
    def joins(self, name: str, names: tuple[str, ...], instance: str | None, timeout_ms: int) -> None:
        if name not in self.duel.model.members:
            self.instances[name] = instance
        elif self.instances.get(name) is not None:
            return  # so does one that joins again as the instance of another
        self._send(name, 0, set(), subscribed_topic_names=names, rebalance_timeout_ms=timeout_ms)

    @rule(rounds=st.integers(1, 3))
    def all_obey(self, rounds: int) -> None:
        for _ in range(rounds):
            self.duel.wait(ROUND_MS)
            for name in list(self.duel.model.members):
                self._send(name, self.epochs.get(name, 0), self.granted.get(name, set()))

    @rule(names=st.sampled_from(NAMES[:2]), count=st.integers(1, 2), is_static=st.booleans(), timeout_ms=st.sampled_from(TIMEOUTS_MS))
    def newcomers_set_it_going(self, names: tuple[str, ...], count: int, timeout_ms: int, *, is_static: bool) -> None:
        """Let some join, and everybody hear of it, so that some have to give partitions up and others to wait for them."""
        for name in [name for name in MEMBERS if name not in self.duel.model.members][:count]:
            self.instances[name] = f"i-{name}" if is_static else None
            self._send(name, 0, set(), subscribed_topic_names=names, rebalance_timeout_ms=timeout_ms)
        self.duel.wait(ROUND_MS)
        for name in reversed(list(self.duel.model.members)):
            self._send(name, self.epochs.get(name, 0), None)

    @rule(name=st.sampled_from(MEMBERS), how=st.sampled_from(("obeys", "obeys", "says nothing", "keeps", "gave all up")), is_full=st.booleans())
    def beats(self, name: str, how: str, is_full: bool) -> None:
        member = self.duel.model.members.get(name)
        assigned = self.granted.get(name, set())
        kept = assigned if member is None else {*member.owned, *member.giving}
        owned = {"obeys": assigned, "says nothing": None, "keeps": kept, "gave all up": set[Partition]()}[how]
        fields = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": tuple(sorted(member.names))} if is_full and member is not None else {}
        self._send(name, self.epochs.get(name, 1), owned, **fields)

    @rule(name=st.sampled_from(MEMBERS), off=st.sampled_from((-2, -1, 1)), claims=st.booleans())
    def beats_at_another_epoch(self, name: str, off: int, claims: bool) -> None:
        owned = self.granted.get(name, set())
        self._send(name, max(-3, self.epochs.get(name, 0) + off), owned if claims else None)

    @rule(name=st.sampled_from(MEMBERS))
    def repeats_after_a_lost_answer(self, name: str) -> None:
        member = self.duel.model.members.get(name)
        if member is not None and member.previous > 0:
            self._send(name, member.previous, set(member.owned))

    @rule(
        name=st.sampled_from(MEMBERS),
        names=st.sampled_from(NAMES),
        assignor=st.sampled_from((None, None, "range", "uniform", "other")),
        obeys=st.booleans(),
    )
    def resubscribes(self, name: str, names: tuple[str, ...], assignor: str | None, obeys: bool) -> None:
        owned = self.granted.get(name, set()) if obeys else None
        self._send(name, self.epochs.get(name, 1), owned, subscribed_topic_names=names, server_assignor=assignor)

    @rule(name=st.sampled_from(MEMBERS), epoch=st.sampled_from((LEFT, LEFT, AWAY)), is_named=st.booleans())
    def leaves(self, name: str, epoch: int, is_named: bool) -> None:
        self._send(name, epoch, None, **({} if is_named else {"instance_id": None}))

    @rule(name=st.sampled_from(MEMBERS), instance=st.sampled_from(("i", "i-a", "i-b", "nobody")), epoch=st.sampled_from((None, None, 0, LEFT, AWAY)))
    def names_another_instance(self, name: str, instance: str, epoch: int | None) -> None:
        if epoch == 0 and name in self.duel.model.members:
            return  # a member id that takes another's place while it is a member itself: no client does that
        fields: dict[str, Any] = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 60_000} if epoch == 0 else {}
        self._send(name, self.epochs.get(name, 1) if epoch is None else epoch, set() if epoch == 0 else None, instance_id=instance, **fields)

    @rule(name=st.sampled_from((*MEMBERS, "")), wrong=st.sampled_from(MALFORMED))
    def sends_something_malformed(self, name: str, wrong: tuple[int, dict[str, Any]]) -> None:
        epoch, fields = wrong
        fields = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 60_000, **fields}
        owned = {("id", 0)} if fields.pop("owns", False) else set()
        self._send(name, epoch, owned, **fields)

    @rule(old=st.sampled_from(MEMBERS), new=st.sampled_from(MEMBERS))
    def goes_and_comes_back(self, old: str, new: str) -> None:
        instance = self.instances.get(old)
        if instance is None or new in self.duel.model.members:
            return
        self._send(old, AWAY, None)
        self.instances[new] = instance
        self._send(new, 0, set(), subscribed_topic_names=("t",), rebalance_timeout_ms=60_000)

    @rule(name=st.sampled_from(MEMBERS), off=st.sampled_from((0, 0, -1, -2, 1)), topic=st.sampled_from(("t", "u")), index=st.integers(0, 2))
    def commits(self, name: str, off: int, topic: str, index: int) -> None:
        self.duel.commit(name, max(0, self.epochs.get(name, 0) + off), ((topic, index),))

    @rule(topic=st.sampled_from(("t", "u", "later")))
    def grows(self, topic: str) -> None:
        self.duel.grow(topic)

    @rule(ms=st.sampled_from(WAITS_MS))
    def passes(self, ms: int) -> None:
        self.duel.wait(ms)
