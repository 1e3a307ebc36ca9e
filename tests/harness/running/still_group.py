"""A group that keeps still, and what may befall it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from tests.harness.judging.checkers.stories import Group, keeping
from tests.harness.running.still_story import EVERY_MS, TIMES, StillStory

from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

MEMBERS = {"m0": ("m0-1", 1), "m1": ("m1-1", 2)}


class Still(StillStory, Group):
    """Tells of two members of generation 2 that beat and commit, of which one may do something else."""

    def __init__(self) -> None:
        super().__init__()
        self.trace += keeping().trace
        self._now_ms, self._correlation = 6_000, 100

    def beats(self, client: str, times: int, every_ms: float, *, generation: int = 2, member: str | None = None, **columns: Any) -> None:
        for _ in range(times):
            self.pass_ms(every_ms)
            self.beat(client, member=member or MEMBERS[client][0], generation=generation, connection=MEMBERS[client][1], **columns)

    def commits(
        self, client: str, times: int, every_ms: float, *, step: int = 1, first: int = 5, partition: int | None = None, generation: int = 2
    ) -> None:
        member, connection = MEMBERS[client]
        place = connection - 1 if partition is None else partition
        for number in range(times):
            self.pass_ms(every_ms)
            self.exchange(
                Api.OFFSET_COMMIT, client, member=member, generation=generation, connection=connection, offsets=(("t", place, first + number * step),)
            )  # fmt: skip

    def commits_late(self, client: str, every_ms: float) -> None:
        """Tell of commits beyond what was delivered; the last one is answered only after other rows of the group."""
        member, connection = MEMBERS[client]
        self.commits(client, 2, 300, first=50)
        last = self.request(
            Api.OFFSET_COMMIT, client, member=member, generation=2, connection=connection, offsets=(("t", connection - 1, 60),)
        )  # fmt: skip
        other = next(name for name in MEMBERS if name != client)
        self.beats(other, 6, every_ms)
        self.see("timer", group="g", rule="Session/Stable")
        self.beats(other, 2, every_ms)
        self.answer(last)
        self.beats(other, 4, every_ms)

    def set_back(self, ms: float) -> None:
        self._now_ms = max(0, self._now_ms - ms)

    def goes_on(self, generation: int) -> None:
        self.pass_ms(200)
        self.rebalance(generation, self._now_ms)


_CLIENTS = st.sampled_from(sorted(MEMBERS))
ACTS: st.SearchStrategy[Callable[[Still], object]] = st.one_of(
    st.builds(lambda c, n, ms: lambda story: story.beats(c, n, ms), _CLIENTS, TIMES, EVERY_MS),
    st.builds(lambda c, n, ms, s, f: lambda story: story.commits(c, n, ms, step=s, first=f), _CLIENTS, TIMES, EVERY_MS, st.integers(-1, 2), st.integers(0, 9)),
    st.builds(lambda c, p: lambda story: story.commits(c, 2, 10, partition=p), _CLIENTS, st.integers(0, 2)),
    st.builds(lambda c, ms: lambda story: story.commits_late(c, ms), _CLIENTS, EVERY_MS),
    st.builds(lambda c, g: lambda story: story.beats(c, 1, 10, generation=g), _CLIENTS, st.integers(0, 4)),
    st.builds(lambda c, g: lambda story: story.commits(c, 1, 10, generation=g), _CLIENTS, st.integers(0, 4)),
    st.builds(lambda c, n: lambda story: story.beats(c, 1, 10, node=n), _CLIENTS, st.integers(0, 1)),
    st.builds(lambda c, i: lambda story: story.beats(c, 2, 10, instance=i), _CLIENTS, st.sampled_from(["i0", "i1"])),
    st.builds(lambda c, e: lambda story: story.beats(c, 1, 10, error=e), _CLIENTS, st.sampled_from([16, 22, 25, 27, 82])),
    st.builds(lambda c: lambda story: story.beats(c, 2, 10, member="stranger"), _CLIENTS),
    st.builds(lambda c: lambda story: story.leave(c, member=MEMBERS[c][0]), _CLIENTS),
    st.builds(lambda g: lambda story: story.goes_on(g), st.integers(2, 5)),
    st.builds(lambda c, o: lambda story: story.consume(("t", 0, 0, o), client=c), _CLIENTS, st.integers(0, 40)),
    st.builds(lambda c, o: lambda story: story.committed(("t", 0, o), client=c), _CLIENTS, st.integers(0, 40)),
    st.builds(lambda c, n: lambda story: story.partitions(n, ("t", 0), client=c), _CLIENTS, st.sampled_from(["assigned", "revoked"])),
    st.builds(lambda k, by: lambda story: story.link(k, by), st.integers(1, 2), st.sampled_from(["client", "broker", "tap"])),
    st.builds(lambda: lambda story: story.fault("lag")),
    st.builds(lambda ms: lambda story: story.set_back(ms), st.sampled_from([300, 2_000, 50_000])),
    st.builds(
        lambda c, api: lambda story: story.request(api, c, member=MEMBERS[c][0], generation=2, connection=MEMBERS[c][1], body={}),
        _CLIENTS, st.sampled_from([Api.JOIN_GROUP, Api.SYNC_GROUP]),
    ),
    st.builds(lambda: lambda story: story.kit("command", "m0", command="subscribe", fields={})),
    st.builds(lambda c: lambda story: story.request(Api.HEARTBEAT, c, member=MEMBERS[c][0], generation=2, connection=MEMBERS[c][1]), _CLIENTS),
    st.builds(lambda c, n: lambda story: story.exchange(Api.FETCH, c, connection=MEMBERS[c][1], offsets=(("t", n, 0),)), _CLIENTS, st.integers(0, 1)),
    st.builds(lambda s: lambda story: story.moves("Stable", s, 2), st.sampled_from(["Empty", "PreparingRebalance", "Dead"])),
)  # fmt: skip


def story_of(acts: Sequence[Callable[[Still], object]]) -> Trace:
    story = Still()
    for act in acts:
        act(story)
    return story.trace
