from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, in_order
from tests.power.coordinators import judgements

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.replay_result import ReplayResult
from groupproof.harness.judging.oracle.search import explained, first_replay, unsettled
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Observation, Trace


def search(trace: Trace, walks_max: int = 240, *, is_sure: bool = True) -> ReplayResult:
    (history,) = histories(trace)
    history = history if is_sure else unsettled(history)
    return explained(history, profile="kafka-4.1", settings=Settings.of(SETTINGS), tolerance=Tolerance(), walks_max=walks_max)


def resent(trace: Trace, order: Sequence[str], at_ms: int) -> Trace:
    """Let the requests of these labels be sent in another order than they were taken up in, all before the first answer to one of them."""
    last = {label: max(obs.seq for obs in trace if obs.kind == "request" and obs.detail == label) for label in order}
    sent = {seq: at_ms + index * 0.1 for index, (label, seq) in enumerate(last.items())}

    def again(obs: Observation) -> Observation:
        ms = sent.get(obs.seq)
        return obs if ms is None else replace(obs, at_ns=round(ms * 1e6))

    return in_order(again(obs) for obs in trace)


@pytest.mark.parametrize("order", list(itertools.permutations(["join b", "join c", "beat a"])))
def test_every_order_of_processing_is_found(order: tuple[str, ...]) -> None:
    """The heartbeat was answered 27, so that a join came before it; b joined before c, which no answer tells."""
    recording = Recording(latency_ms=5)
    recording.stable("a")
    recording.wait(10)
    for name in ("b", "c"):
        recording.join(name, label=f"id {name}")
        recording.wait(10)
    began_ms = recording.now_ms
    recording.join("b", label="join b", settles=False)
    recording.join("c", label="join c", settles=False)
    recording.beat("a", label="beat a", settles=False)
    recording.wait(20)
    recording.join("a", label="rejoin a")
    recording.wait(20)

    trace = resent(recording.end(), order, began_ms)
    found = search(trace)
    (history,) = histories(trace)
    first = first_replay(history, profile="kafka-4.1", settings=Settings.of(SETTINGS), tolerance=Tolerance())
    assert found.divergence is None
    assert (first.divergence is None) is (first.turns == found.turns == {})


@pytest.mark.parametrize(("late_ms", "is_found"), [(100, True), (400, False)])
def test_a_request_that_counted_as_processed_may_have_been_processed_a_little_later(late_ms: int, is_found: bool) -> None:
    recording = Recording(latency_ms=5)
    recording.stable("a")
    recording.wait(10)
    recording.join("b", label="id of b")
    recording.wait(10)
    began_ms = recording.now_ms
    recording.wait(late_ms - 10)
    recording.beat("a", label="beat before", settles=False)
    recording.wait(10)
    recording.join("b", label="join b")
    recording.beat("a", label="beat after", settles=False)
    recording.wait(20)
    trace = resent(recording.end(), ["join b"], began_ms)
    sent = next(obs for obs in trace if obs.kind == "request" and obs.detail == "join b")
    settled = [replace(obs, at_ns=sent.at_ns + 10_000_000) if obs.body.get("correlation") == sent.correlation else obs for obs in trace]

    assert search(in_order(settled)).divergence is not None
    assert (search(in_order(settled), is_sure=False).divergence is None) is is_found


def test_where_nothing_explains_it_the_longest_replay_is_reported() -> None:
    recording = Recording()
    recording.stable("a")
    recording.beat("a", label="beat")
    recording.wait(10)
    recording.commit("a")
    recording.wait(10)
    found = search(changed(recording.end(), "OffsetCommit a", bodied(topics=[])))

    assert found.divergence is not None
    assert found.divergence.step.exchange.label == "OffsetCommit a"


def test_the_search_ends_when_its_replays_are_used_up() -> None:
    recording = Recording(latency_ms=50)
    recording.stable("a")
    for _ in range(12):
        for name in ("b", "c", "d"):
            recording.join(name, label=f"join {name}", settles=False, over=f"{name}{recording.now_ms}")
        recording.wait(20)
    wrong = changed(recording.end(), "SyncGroup a", bodied(error_code=42))

    assert search(wrong, walks_max=10).divergence is not None


def test_no_answer_is_explained_by_a_request_that_was_sent_after_it() -> None:
    """The sync of `b` is open from before the heartbeat to after the sync of `a`; in virtual time all of them have one time."""
    (syncing,) = [case for case in CASES if case.id == "heartbeat/classic/syncing-member"]

    judgement = judgements("old-timeouts-old-heartbeats", [syncing])[syncing.id]

    blame = [(finding.requirement, finding.observed) for finding in judgement.findings if finding.verdict is Verdict.NON_STRICT]
    assert blame == [("TR-090", "Heartbeat of b (generation 2, CompletingRebalance): 27 REBALANCE_IN_PROGRESS. As kafka-2.5 does.")]
