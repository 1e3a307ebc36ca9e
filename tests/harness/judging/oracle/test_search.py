from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, in_order

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.history_replay import Walked
from groupproof.harness.judging.oracle.search import explained, unsettled
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.protocol.trace import Observation, Trace


def search(trace: Trace, walks_max: int = 240, *, is_sure: bool = True) -> Walked:
    (history,) = histories(trace)
    history = history if is_sure else unsettled(history)
    return explained(history, profile="kafka-4.1", settings=Settings.of(SETTINGS), tolerance=Tolerance(), walks_max=walks_max)


def resent(trace: Trace, order: Sequence[str], at_ms: int) -> Trace:
    """Let the requests of these labels be sent in another order than they were taken up in, all before the first answer to one of them."""
    last = {label: max(seen.seq for seen in trace if seen.kind == "request" and seen.detail == label) for label in order}
    sent = {seq: at_ms + index * 0.1 for index, (label, seq) in enumerate(last.items())}

    def again(seen: Observation) -> Observation:
        ms = sent.get(seen.seq)
        return seen if ms is None else Observation(**{**{name: getattr(seen, name) for name in seen.__slots__}, "at_ns": round(ms * 1e6)})

    return in_order(again(seen) for seen in trace)


@pytest.mark.parametrize("order", list(itertools.permutations(["join b", "join c", "beat a"])))
def test_whatever_order_was_taken_up_is_found(order: tuple[str, ...]) -> None:
    """The heartbeat was answered 27, so that a join came before it; b joined before c, which no answer tells."""
    told = Recording(latency_ms=5)
    told.stable("a")
    told.wait(10)
    for name in ("b", "c"):
        told.join(name, label=f"id {name}")
        told.wait(10)
    began_ms = told.now_ms
    told.join("b", label="join b", settles=False)
    told.join("c", label="join c", settles=False)
    told.beat("a", label="beat a", settles=False)
    told.wait(20)
    told.join("a", label="rejoin a")
    told.wait(20)

    assert search(resent(told.end(), order, began_ms)).divergence is None


@pytest.mark.parametrize(("late_ms", "is_found"), [(100, True), (400, False)])
def test_a_request_that_counted_as_taken_up_may_have_been_so_a_little_later(late_ms: int, is_found: bool) -> None:
    told = Recording(latency_ms=5)
    told.stable("a")
    told.wait(10)
    told.join("b", label="id of b")
    told.wait(10)
    began_ms = told.now_ms
    told.wait(late_ms - 10)
    told.beat("a", label="beat before", settles=False)
    told.wait(10)
    told.join("b", label="join b")
    told.beat("a", label="beat after", settles=False)
    told.wait(20)
    trace = resent(told.end(), ["join b"], began_ms)
    sent = next(seen for seen in trace if seen.kind == "request" and seen.detail == "join b")
    settled = [replace(seen, at_ns=sent.at_ns + 10_000_000) if seen.body.get("correlation") == sent.correlation else seen for seen in trace]

    assert search(in_order(settled)).divergence is not None
    assert (search(in_order(settled), is_sure=False).divergence is None) is is_found


def test_where_nothing_explains_it_the_walk_that_came_furthest_is_told() -> None:
    told = Recording()
    told.stable("a")
    told.beat("a", label="beat")
    told.wait(10)
    told.commit("a")
    told.wait(10)
    found = search(changed(told.end(), "OffsetCommit a", bodied(topics=[])))

    assert found.divergence is not None
    assert found.divergence.step.exchange.label == "OffsetCommit a"


def test_the_search_ends_when_its_walks_are_used_up() -> None:
    told = Recording(latency_ms=50)
    told.stable("a")
    for _ in range(12):
        for name in ("b", "c", "d"):
            told.join(name, label=f"join {name}", settles=False, over=f"{name}{told.now_ms}")
        told.wait(20)
    wrong = changed(told.end(), "SyncGroup a", bodied(error_code=42))

    assert search(wrong, walks_max=10).divergence is not None
