"""A group of KIP-848's protocol that keeps still, and what may befall it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.epoch_traces import EpochStory
from tests.harness.running.still_story import EVERY_MS, TIMES, StillStory

from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, TopicPartition

MEMBERS = {"m0": ("a", 1, ("t", 0)), "m1": ("b", 2, ("t", 1))}
"""Its members by their clients: id, connection, partition."""


class StillEpochs(StillStory, EpochStory):
    """Tells of two members in epoch 2 that beat and commit, of which one may do something else."""

    def __init__(self) -> None:
        super().__init__()
        for client, (member, connection, partition) in MEMBERS.items():
            self.kit("command", client, command="subscribe")
            self.hb(0, client, gets=2, gives=[partition], member=member, connection=connection)
            self.partitions("assigned", partition, client=client)
            self.tell("callback_done", client)
            self.hb(2, client, owns=[partition], member=member, connection=connection)
        self.at(6_000)

    def beats(
        self, client: str, times: int, every_ms: float, *, epoch: int = 2, gets: int | None = None, member: str | None = None, **columns: Any
    ) -> None:
        for _ in range(times):
            self.pass_ms(every_ms)
            self.hb(epoch, client, gets=gets, member=member or MEMBERS[client][0], **{"connection": MEMBERS[client][1], **columns})

    def commits(self, client: str, times: int, every_ms: float, *, epoch: int = 2, first: int = 5) -> None:
        member, connection, (topic, index) = MEMBERS[client]
        for number in range(times):
            self.pass_ms(every_ms)
            offsets = ((topic, index, first + number),)
            self.exchange(Api.OFFSET_COMMIT, client, member=member, generation=epoch, connection=connection, offsets=offsets, body={"topics": []})

    def open(self, client: str, epoch: int = 2) -> None:
        """Tell of a heartbeat that nobody answers."""
        self.ask(epoch, client, member=MEMBERS[client][0], connection=MEMBERS[client][1])

    def crossing(self, client: str) -> None:
        """Tell of a heartbeat under way beside a commit."""
        member, connection, _ = MEMBERS[client]
        asked = self.ask(2, client, member=member, connection=connection)
        self.commits(client, 1, 10)
        self.reply(asked)

    def fetches(self, client: str, partition: TopicPartition) -> None:
        self.request(Api.FETCH, client, offsets=((*partition, 5),), connection=MEMBERS[client][1], group=None)

    def described(self, state: str, epoch: int, *members: str) -> None:
        listed = [{"member_id": name, "member_epoch": epoch, "assignment": None, "target_assignment": None} for name in members]
        group = {"error_code": 0, "group_state": state, "group_epoch": epoch, "assignment_epoch": epoch, "members": listed}
        self.answer(self.request(Api.CONSUMER_GROUP_DESCRIBE, "admin", connection=9), body={"groups": [group]})

    def settles(self, client: str) -> None:
        """Tell how a member comes back, is given its partition and says so."""
        member, connection, partition = MEMBERS[client]
        self.hb(0, client, gets=2, gives=[partition], member=member, connection=connection)
        self.hb(2, client, owns=[partition], member=member, connection=connection)


_CLIENTS = st.sampled_from(sorted(MEMBERS))
_PARTITIONS = st.lists(st.sampled_from([("t", 0), ("t", 1), ("u", 0)]), max_size=2, unique=True)
ACTS: st.SearchStrategy[Callable[[StillEpochs], object]] = st.one_of(
    st.builds(lambda c, n, ms: lambda story: story.beats(c, n, ms), _CLIENTS, TIMES, EVERY_MS),
    st.builds(lambda c, n, ms: lambda story: story.commits(c, n, ms), _CLIENTS, TIMES, EVERY_MS),
    st.builds(lambda c, e, n: lambda story: story.beats(c, n, 500, epoch=e), _CLIENTS, st.integers(-2, 4), st.integers(1, 12)),
    st.builds(lambda c, e, g: lambda story: story.beats(c, 1, 10, epoch=e, gets=g), _CLIENTS, st.integers(1, 3), st.integers(1, 4)),
    st.builds(lambda c, e: lambda story: story.commits(c, 2, 10, epoch=e), _CLIENTS, st.integers(-1, 4)),
    st.builds(lambda c, p: lambda story: story.beats(c, 1, 10, gives=p), _CLIENTS, _PARTITIONS),
    st.builds(lambda c, p: lambda story: story.beats(c, 1, 10, owns=p), _CLIENTS, _PARTITIONS),
    st.builds(lambda c, e: lambda story: story.beats(c, 1, 10, error=e), _CLIENTS, st.sampled_from([16, 25, 110, 113])),
    st.builds(lambda c: lambda story: story.beats(c, 3, 10, member="stranger"), _CLIENTS),
    st.builds(lambda c, k: lambda story: story.beats(c, 3, 10, connection=k), _CLIENTS, st.integers(1, 3)),
    st.builds(lambda c: lambda story: story.beats(c, 1, 10, body={"subscribed_topic_names": ["t", "u"]}), _CLIENTS),
    st.builds(lambda c: lambda story: story.settles(c), _CLIENTS),
    st.builds(lambda c: lambda story: story.open(c), _CLIENTS),
    st.builds(lambda c: lambda story: story.crossing(c), _CLIENTS),
    st.builds(lambda c, p: lambda story: story.fetches(c, p), _CLIENTS, st.sampled_from([("t", 0), ("t", 1)])),
    st.builds(lambda s, e: lambda story: story.described(s, e, "a", "b"), st.sampled_from(["Stable", "Reconciling"]), st.integers(1, 3)),
    st.builds(lambda c, n: lambda story: story.partitions(n, MEMBERS[c][2], client=c), _CLIENTS, st.sampled_from(["assigned", "revoked"])),
    st.builds(lambda c: lambda story: story.kit("kill", c), _CLIENTS),
    st.builds(lambda k, by: lambda story: story.link(k, by), st.integers(1, 2), st.sampled_from(["client", "broker", "tap"])),
    st.builds(lambda: lambda story: story.fault("lag")),
    st.builds(lambda c: lambda story: story.exchange(Api.JOIN_GROUP, c, connection=MEMBERS[c][1]), _CLIENTS),
    st.builds(lambda: lambda story: story.kit("topics", topics={"t": 3})),
)  # fmt: skip


def both_beat(story: StillEpochs, rounds: int, *, epochs: tuple[int, int] = (2, 2), every_ms: float = 400) -> None:
    """Tell how both members beat so often, in turns."""
    for _ in range(rounds):
        for client, epoch in zip(MEMBERS, epochs, strict=True):
            story.beats(client, 1, every_ms, epoch=epoch)


def epochs_of(acts: Iterable[Callable[[StillEpochs], object]]) -> Trace:
    story = StillEpochs()
    for act in acts:
        act(story)
    return story.trace


def still(rounds: int) -> Trace:
    """Return what two members show that do nothing but beat and commit."""
    story = StillEpochs()
    for number in range(rounds):
        both_beat(story, 2)
        for client in MEMBERS:
            story.commits(client, 1, 300, first=number)
    return story.trace


def static(trace: Sequence[Observation]) -> Trace:
    """Return the same of static members."""
    return [replace(obs, instance=f"i-{obs.member}") if obs.kind == "request" and obs.member in ("a", "b") else obs for obs in trace]
