"""Fleets of groups as one stream, made as it is read: some keep the rules, some have a violation planted."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.stories import PLANTED, keeping
from tests.harness.judging.consumer_traces import trace_of
from tests.traces import ID

from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["PLANTED_EPOCHS", "long_stream", "planted_epochs", "planted_fleet"]


T0: Final = ("t", 0)
T1: Final = ("t", 1)


def _broken(*, epoch: int, **columns: Any) -> EpochStory:
    """Tell of a settled member, and of a heartbeat with these columns."""
    story = EpochStory().settled(epoch=2)
    story.hb(epoch, **columns)
    return story


def _after_leave(*, commits: bool) -> EpochStory:
    story = EpochStory().settled()
    story.hb(-1, gets=-1)
    story.at(5_000)
    if commits:
        story.exchange(Api.OFFSET_COMMIT, member=ID, generation=1)
    else:
        story.hb(1)
    return story


def _two_at_once() -> EpochStory:
    story = EpochStory().settled()
    story.ask(1)
    story.at(100)
    story.ask(1)
    return story


def _given_twice() -> EpochStory:
    """Tell of a partition that a second member is given before the first has released it."""
    story = EpochStory().settled("m0", member="a")
    story.hb(0, "m1", gets=2, gives=[T0], member="b")
    story.hb(1, "m0", gets=2, member="a")
    return story


def _two_targets() -> EpochStory:
    story = EpochStory().settled()
    target = {"topic_partitions": ({"topic_id": "t", "topic_name": "t", "partitions": (0,)},)}
    members = [{"member_id": id, "member_epoch": 1, "assignment": {"topic_partitions": ()}, "target_assignment": target} for id in ("a", "b")]
    group = {"group_id": "g", "error_code": 0, "group_state": "Reconciling", "group_epoch": 2, "assignment_epoch": 3, "members": members}
    story.answer(story.request(Api.CONSUMER_GROUP_DESCRIBE, "admin"), body={"groups": [group]})
    return story


def _in_a_storm() -> EpochStory:
    """Tell of heartbeats every 10 ms that say nothing new."""
    story = EpochStory().settled()
    for number in range(60):
        story.at(1_000 + 10 * number)
        story.hb(1)
    return story


PLANTED_EPOCHS: Final[Mapping[str, Callable[[], EpochStory]]] = {
    "CGI-18": lambda: _broken(epoch=7, error=110),
    "CGI-19": lambda: _broken(epoch=2, owns=[("u", 5)]),
    "CGI-03": lambda: _broken(epoch=2, gets=1),
    "CGC-01": lambda: _broken(epoch=0, gives=[], member=""),
    "CGC-07": lambda: _broken(epoch=0, gets=3, gives=[], owns=[T0]),
    "CGV-11": lambda: _after_leave(commits=False),
    "CGP-15": lambda: _after_leave(commits=True),
    "CGI-17": _two_at_once,
    "CGC-24": _in_a_storm,
    "CGI-10": _given_twice,
    "CGI-05 CGI-11": _two_targets,
}
"""Groups of KIP-848's protocol, each with what it breaks."""


def planted_epochs(run: str = "r") -> Trace:
    """Return one run with a group for each planted violation of KIP-848's protocol, named by its requirements, and two that keep the rules."""
    kept = {"kept": EpochStory().settled().trace, "drawn": trace_of("kafka-4.1", 1, 60)}
    stories = {**{law: make().trace for law, make in PLANTED_EPOCHS.items()}, **kept}
    return _dealt({name: [replace(obs, group="g") for obs in trace] for name, trace in stories.items()}, run)


def planted_fleet(run: str = "r") -> Trace:
    """Return one run with a group for each planted violation, named by its requirement, and two that keep the rules; a link that breaks between."""
    return _dealt({**{law: make().trace for law, make in PLANTED.items()}, "kept": keeping().trace, "kept too": keeping().trace}, run)


def _dealt(stories: Mapping[str, Trace], run: str) -> Trace:
    dealt = []
    for number, (name, trace) in enumerate(stories.items()):
        mine = [replace(obs, group=None if obs.group is None else name, connection=_own(obs, number)) for obs in trace]
        last = replace(
            mine[-1], kind="event", who="link", group=None, client=None, api=None, body={"name": "closed", "by": "client"}, correlation=None
        )
        dealt.append([*mine, *([last] if name == "kept" else [])])
    mixed = heapq.merge(*dealt, key=lambda obs: obs.at_ns)
    return [replace(obs, seq=seq, run=run) for seq, obs in enumerate(mixed)]


def _own(obs: Observation, number: int) -> int | None:
    return None if obs.connection is None else obs.connection + 100 * number


def long_stream(rows: int) -> Iterator[Observation]:
    """Yield a group of two members that beat, commit, and rebalance now and then, `rows` observations long; nothing is kept."""
    numbers, opening = count(), keeping()
    yield from (replace(obs, seq=next(numbers)) for obs in opening.trace)
    generation, ms = 2, 7_000
    while True:
        story = keeping()
        story.trace.clear()
        generation, ms = generation + 1, ms + 1_000
        story._correlation = 10 * generation
        story.at(ms)
        story.rebalance(generation, ms)
        for _ in range(20):
            ms += 500
            story.at(ms)
            story.beat("m0", member="m0-1", generation=generation, connection=1)
            story.beat("m1", member="m1-1", generation=generation, connection=2)
            story.commit(("t", 0, ms), client="m0", member="m0-1", generation=generation)
        for observation in story.trace:
            if (seq := next(numbers)) >= rows:
                return
            yield replace(observation, seq=seq)
