from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.consumer_histories import BrokenInvariant
from tests.coordinator.machine.consumer.exhaustive_mixed import Search

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.reconciliation import Reconciler

CLASSIC = {f"Group {state}" for state in ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")}
CONSUMER = {f"ConsumerGroup {state}" for state in ("Empty", "Reconciling", "Stable")}


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["kafka-4.1", "kafka-4.4"])
@pytest.mark.parametrize(("consumers", "classics", "depth"), [(1, 1, 9), (2, 1, 5), (1, 2, 5)])
@pytest.mark.requirement("CGI-04", "CGI-10", "CGG-12", "CGG-52", "CGR-35")
def test_no_course_of_two_or_three_members_breaks_an_invariant(profile: str, consumers: int, classics: int, depth: int) -> None:
    search = Search(profile, consumers, classics, depth)
    search.run()

    assert search.states > 50
    assert search.settled > 5
    assert search.kinds >= CLASSIC | CONSUMER or depth < 9


@pytest.mark.soak
@pytest.mark.parametrize(("consumers", "classics", "depth"), [(1, 1, 40), (2, 1, 9), (1, 2, 8)])
def test_no_longer_course_of_two_or_three_members_breaks_an_invariant(consumers: int, classics: int, depth: int) -> None:
    search = Search("kafka-4.4", consumers, classics, depth)
    search.run()

    assert search.states > 1_000


def test_a_bug_that_two_members_show_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroup, "is_waiting", lambda self, member: True)

    with pytest.raises(BrokenInvariant, match="CGR-35"):
        Search("kafka-4.4", 1, 1, 9).run()


def test_a_bug_of_the_reconciliation_is_found_within_a_few_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Reconciler._is_free
    monkeypatch.setattr(Reconciler, "_is_free", lambda self, member, topic_id, index: True)

    with pytest.raises(AssertionError):
        Search("kafka-4.4", 1, 1, 9).run()
    assert honest is not Reconciler._is_free
