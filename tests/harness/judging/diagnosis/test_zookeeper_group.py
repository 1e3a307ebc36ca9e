from __future__ import annotations

from typing import Any

from tests.traces import Written

from groupproof.harness.judging.diagnosis.zookeeper_group import WATCHED, tell_waves, waves_of

P, Q = ("t", 0), ("t", 1)


class Story(Written):
    """Members of group g, one event each ten milliseconds."""

    def __call__(self, client: str, name: str, partitions: tuple[tuple[str, int], ...] = (), **body: Any) -> None:
        fields = {"name": WATCHED, "what": name, **body}
        self.at(self._now_ms + 10).see("event", who="member", client=client, group="g", partitions=partitions, body=fields)


def test_what_overlaps_is_one_rebalance_of_the_group_and_names_who_caused_it() -> None:
    story = Story()
    story("a", "attempt-began", attempt=0, cause="start")
    story("a", "owned", (P, Q))
    story("a", "attempt-ended", attempt=0, error=None, is_conflict=False)
    story("b", "attempt-began", attempt=0, cause="start")
    story("b", "attempt-ended", attempt=0, error="waiting", is_conflict=True)
    story("a", "attempt-began", attempt=0, cause="event")
    story("a", "released")
    story("a", "owned", (P,))
    story("a", "attempt-ended", attempt=0, error=None, is_conflict=False)
    story("b", "attempt-began", attempt=1, cause="start")
    story("b", "owned", (Q,))
    story("b", "attempt-ended", attempt=1, error=None, is_conflict=False)

    first, second = waves_of(story.trace)
    assert (first.causes, first.members, first.attempts) == (["a started"], ["a"], 1)
    assert (second.causes, second.members, second.attempts, second.conflicts) == (["b started"], ["b", "a"], 3, 1)
    assert second.ended_ms is not None
    assert second.ended_ms - second.started_ms == 80
    assert second.unowned == []
    assert tell_waves([second])[1].split("; ")[1] == "80 ms"


def test_a_member_that_gives_up_leaves_partitions_without_an_owner_and_that_is_reported() -> None:
    story = Story()
    story("a", "attempt-began", attempt=0, cause="start")
    story("a", "owned", (P, Q))
    story("a", "attempt-ended", attempt=0, error=None, is_conflict=False)
    story("a", "gone", how="was killed")
    story("b", "attempt-began", attempt=0, cause="event")
    story("b", "attempt-ended", attempt=0, error="waiting", is_conflict=True)
    story("b", "failed", error="ConsumerRebalanceFailedException")

    wave = waves_of(story.trace)[-1]
    assert wave.causes == ["a was killed"]
    assert (wave.failures, wave.unowned) == (["b"], ["t-0", "t-1"])
    lines = tell_waves([wave])
    assert lines[0] == "    0.050 s  group g on ZooKeeper: a was killed"
    assert lines[-1].strip() == "left without an owner until the next watch fires: t-0, t-1"


def test_a_rebalance_without_a_known_cause_and_without_an_end_is_reported_as_such() -> None:
    story = Story()
    story("a", "attempt-began", attempt=0, cause="event")
    lines = tell_waves(waves_of(story.trace))
    assert lines[0].endswith("watches fired: a member's session ended, or a topic changed")
    assert lines[1].endswith("not over at the end of the trace")
    assert waves_of(story.trace)[0].ended_ms is None
