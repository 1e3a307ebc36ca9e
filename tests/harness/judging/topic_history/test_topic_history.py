"""The fold over observations: groups by their id, transactions' commits when they are committed, and on drawn histories every generation that was stored, with nothing wrong among what is certain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.topic_history.stories import Story, member
from tests.soaking import seeds

from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.topic_history.logged_groups import Commit
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Simulation
from groupproof.harness.simulation.stored_records import topic_of
from groupproof.protocol.trace import Observation, Recorder, Trace, read_trace, write_trace

_OVER = ("settled", "the group is empty")


def _simulated(seed: int, duration_ms: int) -> Trace:
    kept: list[Recorder] = []

    def recorder(now_ns: object) -> Recorder:
        kept.append(Recorder(now_ns, run="simulation", seed=seed, clock="virtual"))  # type: ignore[arg-type]  # the simulator's own clock
        return kept[0]

    run(Simulation(seed=seed, members=2 + seed % 5, duration_ms=duration_ms), recorder=recorder)
    return kept[0].trace


def _check_truth(seed: int, duration_ms: int) -> int:
    """Compare what the records of a run tell with what its coordinator did; return how many causes were certain."""
    trace = _simulated(seed, duration_ms)
    truth = {rebalance.generation: rebalance for rebalance in rebalances_of(trace) if rebalance.ended in _OVER}
    group = TopicHistory().follow_all(topic_of(trace)).groups["g"]
    found = {rebalance.generation: rebalance for rebalance in group.rebalances}

    assert truth.keys() <= found.keys(), (seed, truth.keys() - found.keys())
    certain = [rebalance for rebalance in found.values() if rebalance.is_certain and rebalance.generation in truth]
    for rebalance in certain:
        assert rebalance.cause is truth[rebalance.generation].cause, (seed, rebalance.generation)
    return len(certain)


@pytest.mark.parametrize("seed", range(4))
def test_of_a_simulated_group_every_stored_generation_is_found_and_no_certain_cause_is_wrong(seed: int) -> None:
    assert _check_truth(seed, 300_000)


@pytest.mark.soak
def test_of_many_simulated_groups_the_same_holds() -> None:
    assert sum(_check_truth(seed, 600_000) for seed in seeds(200))


def test_a_recording_tells_the_same_as_the_log_did() -> None:
    observations = topic_of(_simulated(5, 300_000))
    lines = list(write_trace(observations))

    direct = TopicHistory().follow_all(observations).groups["g"].to_json()
    assert TopicHistory().follow_all(read_trace(lines)).groups["g"].to_json() == direct


def _transactional(obs: Observation) -> Observation:
    return replace(obs, body={**obs.body, "producer_id": 9})


def _marker(marker: str) -> Observation:
    return Observation(
        seq=0, at_ns=0, kind="event", body={"name": "marker", "marker": marker, "producer_id": 9, "partition": 0, "offset": 9, "timestamp_ms": 9}
    )


def test_a_commit_of_a_transaction_counts_when_it_is_committed_and_never_when_it_is_aborted() -> None:
    story = Story()
    story.commit(1, 0)
    (commit,) = story.observations
    history = TopicHistory()
    history.follow_all([_transactional(commit), _marker("ABORT")])
    assert "g" not in history.groups

    history.follow(_transactional(commit))
    assert "g" not in history.groups
    history.follow(_marker("COMMIT"))
    assert history.groups["g"].commits == {("t", 0): Commit(offset=1, at_ms=1_000)}


def test_commits_alone_make_a_group_that_has_offsets_only() -> None:
    story = Story()
    story.commit(1, 0, 1)

    assert (story.group.state, len(story.group.commits), story.history.now_ms) == ("Offsets only", 2, 1_000)


def test_how_long_nothing_was_committed_around_a_rebalance_is_reported() -> None:
    story = Story()
    story.generation(0, 1, member("a-1"))
    story.commit(10, 0)
    story.generation(14, 2, member("a-1"), member("b-1"))
    story.commit(17.5, 0)

    assert [rebalance.halted_ms for rebalance in story.group.rebalances] == [None, 7_500]


def test_what_cannot_be_read_is_counted_and_harms_no_group() -> None:
    story = Story()
    story.store(1, b"\0\x63", b"\0\0")
    story.generation(2, 1, member("a-1"))

    assert (story.history.unreadable, story.group.state) == ({"type 99": 1}, "Stable")
