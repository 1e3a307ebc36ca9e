from __future__ import annotations

import pickle

from tests.traces import Story

from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.model.evidence import Evidence

GENERATIONS = 400
BYTES_MAX = 24_000


def long_story(generations: int) -> Story:
    """Tell of two members through many rebalances, with records, commits and heartbeats."""
    story = Story()
    for generation in range(1, generations + 1):
        story.at(generation * 10_000)
        for client in ("m0", "m1"):
            member, mine = f"{client}-1", ("t", int(client[1]))
            story.join(client, member=member if generation > 1 else "", gets=member, generation=generation, leader="m0-1")
            story.sync(client, member=member, generation=generation, gets=[mine])
            story.partitions("assigned", mine, client=client)
            story.consume((*mine, generation, generation), client=client)
            story.commit((*mine, generation), client=client, member=member, generation=generation)
            story.committed((*mine, generation), client=client)
            story.beat(client, member=member, generation=generation)
            story.partitions("revoked", mine, client=client)
    return story


def test_members_that_keep_the_rules_through_many_rebalances_break_none() -> None:
    evidence = Evidence(long_story(20).trace)

    assert [finding for judge in UNIVERSAL for finding in judge(evidence)] == []


def test_the_state_of_a_checker_does_not_grow_with_the_rows() -> None:
    trace = long_story(GENERATIONS).trace
    for make in UNIVERSAL_CHECKERS:
        checker = make()
        for obs in trace:
            assert list(checker.step(obs)) == []
        assert len(pickle.dumps(checker)) < BYTES_MAX, make


def test_a_checker_finds_the_same_in_any_pieces_of_a_trace() -> None:
    trace = long_story(5).trace
    for make in UNIVERSAL_CHECKERS:
        assert list(findings_of(make(), trace)) == []
