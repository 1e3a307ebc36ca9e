"""Plays the scripts of measured steps against the machine, and says of each step what it answered, in the words of the measured answers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from tests.coordinator.machine.consumer.classic_acts import ClassicActs, PlayedMember
from tests.coordinator.machine.consumer.measured_answers import Observed, assignment_of

from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import Arrival, Output, Reply
from groupproof.coordinator.machine.storage import partition_of
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire import consumer_messages as consumer
from groupproof.protocol.wire import messages

__all__ = ["Player", "answers_of", "last", "scripts"]

_HERE = Path(__file__).parent
_IDS = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_TOPICS = {"t": 4, "u": 3, "one": 1, "t2": 4, "rx1": 1, "xrx": 1, "__consumer_offsets": 1}
_SETTINGS = {
    "group.consumer.max.size": 3, "group.consumer.min.session.timeout.ms": 1_000, "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 1_000, "group.initial.rebalance.delay.ms": 0,
}  # fmt: skip
_STEP_MS = 10


def scripts() -> Iterator[tuple[str, list[str]]]:
    """Yield each line of the scripts as its step and its words."""
    for line in (_HERE / "measured_scripts.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            step, *words = line.split(" ")
            yield step, words


@dataclass
class Player(ClassicActs):
    """A coordinator of one release, its clock, and the members as they know themselves."""

    profile: str
    machine: Coordinator = field(init=False)
    now_ms: int = 0
    group: str = ""
    base: dict[str, int] = field(default_factory=dict)
    members: dict[tuple[str, str], PlayedMember] = field(default_factory=dict)
    classic: dict[tuple[str, str], str] = field(default_factory=dict)
    replies: dict[int, Any] = field(default_factory=dict)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    epoch_before: int = 0
    settings: dict[str, Any] = field(default_factory=lambda: dict(_SETTINGS))
    _serial: int = 0

    def __post_init__(self) -> None:
        self.machine = self._machine()
        self.topics = {name: TopicImage(str(uuid5(_IDS, name)), count) for name, count in _TOPICS.items()}
        self.machine.change_topics(self.topics)

    def _machine(self) -> Coordinator:
        return Coordinator(profile=self.profile, settings=Settings.of(self.settings, self.profile), random=random.Random(0))

    def play(self, step: str, words: list[str]) -> Observed | None:
        """Do one line; return what was answered, None where nothing was asked."""
        if step == "group":
            self.group = words[0]
            return None
        if step == "wait":
            self._pass(int(words[0]))
            return None
        self._pass(_STEP_MS)
        head = words[0]
        options = _options(words)
        group = options.get("group", self.group)
        plain = getattr(self, f"_do_{head}", None)
        if plain is not None:
            done: Observed | None = plain(group, words[1:], options)
            return done
        verb = words[1].replace("-", "_")
        acted: Observed | None = getattr(self, f"_act_{verb}")(group, head, words[2:], options)
        return acted

    def _pass(self, ms: int) -> None:
        self.now_ms += ms
        self._note(self.machine.advance(self.now_ms))

    def _ask(self, message: Any, version: int, client: str = "c") -> Any:
        self._serial += 1
        self._note(self.machine.handle(message, Arrival(self._serial, version, client, "/h"), self.now_ms))
        return self.replies.get(self._serial)

    def _note(self, outputs: Iterable[Output]) -> None:
        self.replies.update({cast("int", output.token): output.message for output in outputs if isinstance(output, Reply)})

    def _name_of(self, topic_id: str) -> str:
        return next((name for name, topic in self.topics.items() if topic.topic_id == topic_id), topic_id)

    def _member(self, group: str, name: str) -> PlayedMember:
        return self.members.setdefault((group, name), PlayedMember())

    # Heartbeats

    def _act_join(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        words_ = {"timeout": "60000", "names": "t", "owned": "[]", **options}
        return self._beat(group, name, 0, words_)

    def _act_beat(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        words_ = {"timeout": "60000", "names": "t", **options} if "full" in words else dict(options)
        return self._beat(group, name, self._epoch(group, name, options), words_)

    def _act_leave(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        return self._beat(group, name, -1, options)

    def _act_away(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        return self._beat(group, name, -2, options)

    def _epoch(self, group: str, name: str, options: Mapping[str, str]) -> int:
        text, own = options.get("epoch", ""), self._member(group, name).epoch
        if text.endswith("!") or re.fullmatch(r"\d+", text) or (text.startswith("-") and int(text) < -2):
            return int(text.rstrip("!"))
        return own + int(text or 0)

    def _beat(self, group: str, name: str, epoch: int, options: Mapping[str, str]) -> Observed:
        member = self._member(group, name)
        request = consumer.ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=name * (300 // len(name)) if "id" in options else self._id(group, name), member_epoch=epoch,
            instance_id=options.get("instance"), rack_id=options.get("rack"), rebalance_timeout_ms=int(options.get("timeout", "-1")),
            subscribed_topic_names=_names(options.get("names")), subscribed_topic_regex=options.get("regex"), server_assignor=options.get("assignor"),
            topic_partitions=self._owned(member, options.get("owned")),
        )  # fmt: skip
        answer = self._ask(request, int(options.get("version", "1")), options.get("client", "c"))
        return self._observed(group, member, epoch, answer)

    def _observed(self, group: str, member: PlayedMember, epoch: int, answer: Any) -> Observed:
        if answer.error_code:
            return Observed(code=answer.error_code)
        assignment = None
        if answer.assignment is not None:
            assignment = {self._name_of(topic.topic_id): topic.partitions for topic in answer.assignment.topic_partitions}
            member.owned = assignment
        if epoch < 0:
            return Observed(code=0, epoch=answer.member_epoch)
        member.epoch = answer.member_epoch
        base = self.base.setdefault(group, answer.member_epoch)
        return Observed(code=0, epoch=answer.member_epoch - base, assignment=assignment, tells_assignment=True)

    def _owned(self, member: PlayedMember, text: str | None) -> tuple[consumer.TopicPartitions, ...] | None:
        if text is None or text == "null":
            return None
        if text == "own":
            owned: Mapping[str, tuple[int, ...]] = member.owned
        elif text.startswith("?"):
            owned = {"?": (0,)}
        else:
            owned = assignment_of(text) or {}
        ids = {name: topic.topic_id for name, topic in self.topics.items()}
        return tuple(consumer.TopicPartitions(topic_id=ids.get(name, str(UUID(int=7))), partitions=indexes) for name, indexes in owned.items())

    # Groups

    def _do_describe(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        (described,) = self._ask(consumer.ConsumerGroupDescribeRequest(group_ids=(group,)), int(options.get("version", "1"))).groups
        return Observed(code=described.error_code, state=described.group_state or None)

    def _described(self, group: str) -> Any:
        return self._ask(consumer.ConsumerGroupDescribeRequest(group_ids=(group,)), 1).groups[0]

    def _do_epoch(self, group: str, words: list[str], options: Mapping[str, str]) -> None:
        self.epoch_before = self._described(group).group_epoch

    def _do_bumps(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        return Observed(bumps=self._described(group).group_epoch - self.epoch_before)

    def _do_gone(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        members = [member.member_id for member in self._described(group).members]
        assert words[0] not in members, f"{words[0]} is a member still"
        return Observed()

    def _do_topic(self, group: str, words: list[str], options: Mapping[str, str]) -> None:
        name, _, count = words[0].partition("=")
        if not int(count):
            del self.topics[name]
        else:
            self.topics[name] = TopicImage(str(uuid5(_IDS, name + "".join(words[1:]))), int(count))
        self.machine.change_topics(self.topics)

    def _do_config(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        configs = {name: value for name, value in options.items() if name.startswith("consumer.")}
        return Observed(code=self.machine.configure_group(group, configs))

    def _do_restart(self, group: str, words: list[str], options: Mapping[str, str]) -> None:
        self.settings |= options
        partition = partition_of(group, 50)
        stored, configs = self.machine.stored(partition), self.machine.group_configs()
        self.machine.unload(partition, self.now_ms)
        self.machine = self._machine()
        self.machine.change_topics(self.topics)
        self.machine.restore_group_configs(configs)
        self.machine.load(partition, stored, self.now_ms)

    def _do_settle(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        names = [name for group_id, name in self.members if group_id == group]
        for _ in range(4 * len(names)):
            self._pass(1_100)
            for name in names:
                self._act_beat(group, name, [], {"owned": "own"})
        described = self._described(group)
        targets = {
            member.member_id: {part.topic_name: part.partitions for part in member.assignment.topic_partitions} for member in described.members
        }
        return Observed(state=described.group_state, targets=targets)

    # Offsets

    def _act_commit(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        topics = _commit_topics(words[0], options)
        answer = self._ask(
            messages.OffsetCommitRequest(
                group_id=group, generation_id=self._epoch(group, name, options), member_id=self._id(group, name),
                group_instance_id=options.get("instance"), topics=topics,
            ),
            int(options.get("version", "9")),
        )  # fmt: skip
        return Observed(code=answer.topics[0].partitions[0].error_code)

    def _act_txn(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        self.machine.transaction_error = ErrorCode.NONE
        answer = self._ask(
            messages.TxnOffsetCommitRequest(
                transactional_id="x", group_id=group, producer_id=1, generation_id=self._epoch(group, name, options),
                member_id=self._id(group, name), topics=_commit_topics(words[0], options),
            ),
            4,
        )  # fmt: skip
        return Observed(code=answer.topics[0].partitions[0].error_code)

    def _do_abort(self, group: str, words: list[str], options: Mapping[str, str]) -> None:
        self.machine.end_transaction(1, range(50), self.now_ms, is_committed=False)

    def _do_fetch(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        return self._act_fetch(group, "null", words, {"epoch": "-1!", **options})

    def _act_fetch(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        topic, _, index = words[0].partition("-")
        topics = None if topic == "all" else (messages.FetchTopic(name=topic, partition_indexes=(int(index),)),)
        member_id = None if name == "null" else self._id(group, name)
        epoch = int(options["epoch"].rstrip("!")) if name == "null" else self._epoch(group, name, options)
        asked = messages.FetchGroup(group_id=group, topics=topics, member_id=member_id, member_epoch=epoch)
        answer = self._ask(messages.OffsetFetchRequest(groups=(asked,), require_stable="stable" in words), int(options.get("version", "9")))
        (found,) = answer.groups
        offsets = [[item.name, [[part.partition_index, part.committed_offset, part.error_code] for part in item.partitions]] for item in found.topics]
        return Observed(code=found.error_code, offsets=sorted(offsets, reverse=True) if offsets else None)

    def _do_odelete(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        topic = messages.OffsetDeleteTopic(name=words[0], partitions=(messages.OffsetDeletePartition(partition_index=0),))
        return Observed(code=self._ask(messages.OffsetDeleteRequest(group_id=group, topics=(topic,)), 0).error_code)

    # Admins and classic members

    def _do_describegroups(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        (described,) = self._ask(messages.DescribeGroupsRequest(groups=(group,)), int(options["version"])).groups
        return Observed(code=described.error_code, state=described.group_state, count=len(described.members))

    def _do_describes(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        described = self._ask(consumer.ConsumerGroupDescribeRequest(group_ids=tuple(words[0].split(","))), 1).groups
        return Observed(code=None, listed=f"[{', '.join(f'[{found.error_code}, {found.group_state}]' for found in described)}]")

    def _do_list(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        types = (options["type"],) if "type" in options else ()
        states = (options["state"],) if "state" in options else ()
        answer = self._ask(messages.ListGroupsRequest(types_filter=types, states_filter=states), 5)
        listed = [f"[{item.protocol_type}, {item.group_state}, {item.group_type}]" for item in answer.groups if item.group_id == group]
        return Observed(code=answer.error_code, listed=f"[{', '.join(listed)}]")

    def _do_delete(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        observed = Observed(code=self._ask(messages.DeleteGroupsRequest(groups_names=(group,)), 2).results[0].error_code)
        if not observed.code:
            self.base.pop(group, None)
        return observed


def _commit_topics(text: str, options: Mapping[str, str]) -> tuple[messages.CommitTopic, ...]:
    topic, _, index = text.partition("-")
    partition = messages.CommitPartition(
        partition_index=int(index), committed_offset=int(options.get("offset", "5")), committed_metadata="x" * int(options.get("metadata", "0"))
    )
    return (messages.CommitTopic(name=topic, partitions=(partition,)),)


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None or text == "null":
        return None
    return () if text == "[]" else tuple(text.split(","))


def _options(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("late"))


def answers_of(profile: str) -> Iterator[tuple[str, Observed]]:
    """Yield each measured step that the scripts play, with what a coordinator of the profile answered."""
    player = Player(profile)
    for step, words in scripts():
        observed = player.play(step, words)
        if observed is not None and step != "-":
            yield step, observed


def last(profile: str, *lines: str) -> Observed:
    """Return what the last of these lines was answered by a new coordinator of the profile."""
    player, observed = Player(profile), None
    player.group = "g"
    for line in lines:
        step, *words = line.split(" ")
        observed = player.play(step, words) if step in ("group", "wait") else player.play("-", line.split(" "))
    assert observed is not None, f"nothing was asked by {lines[-1]}"
    return observed
