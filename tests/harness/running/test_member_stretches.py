from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

import numpy as np
import pytest
from tests.harness.running.still_group import MEMBERS, Still
from tests.harness.running.test_block_reader import columns, lines

from groupproof.harness.judging.checkers.steady import BURST, CommittedOffsets, Steady
from groupproof.harness.running.member_stretches import MemberStretches
from groupproof.harness.running.steady_exchanges import SteadyExchanges
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_blocks import TraceBlock
from groupproof.protocol.vocabulary import Api

BEAT, COMMIT = Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title
BOTH = pytest.mark.parametrize("blocks", [columns, lines])
Blocks = Callable[[Sequence[Observation], int], Iterator[TraceBlock]]


def still() -> Still:
    story = Still()
    story.trace.clear()
    return story


def members_of(trace: Sequence[Observation], blocks: Blocks = columns) -> dict[str, Steady]:
    """Return the members of a trace that is one stretch, by client."""
    (block,) = blocks(trace, len(trace))
    steady = SteadyExchanges(block, lambda _: True, np.zeros(0, np.int64))
    stretches = MemberStretches(block, steady, steady.exchanges)
    return {member.client: member for member in stretches.members(steady.exchanges, {}, end_ms=99.0)}


@BOTH
def test_each_member_has_its_own_requests_in_order_with_their_answers(blocks: Blocks) -> None:
    story = still()
    for number in range(3):
        story.beats("m0", 2, 40)
        story.commits("m1", 1, 30, first=number)
    trace = story.trace
    members = members_of(trace, blocks)

    assert {client: set(member.asked) for client, member in members.items()} == {"m0": {BEAT}, "m1": {COMMIT}}
    for client, api in (("m0", BEAT), ("m1", COMMIT)):
        requests = members[client].asked[api]
        asked = [obs for obs in trace if (obs.client, obs.kind) == (client, "request")]
        answers = [obs for obs in trace if (obs.client, obs.kind) == (client, "response")]
        assert (list(requests.seqs), list(requests.answer_seqs)) == ([obs.seq for obs in asked], [obs.seq for obs in answers])
        assert [trace[place] for place in requests.places] == asked
        assert [trace[place] for place in requests.answer_places] == answers
        assert (list(requests.at_ms), list(requests.correlations)) == ([obs.at_ms for obs in asked], [obs.correlation for obs in asked])
        assert (members[client].last_ms, members[client].end_ms) == (answers[-1].at_ms, 99.0)
        assert (members[client].member, members[client].connection) == MEMBERS[client]


def committed(*offsets: Sequence[tuple[str, int, int]], blocks: Blocks = columns) -> dict[tuple[str, int], CommittedOffsets]:
    """Return what a member commits by these requests, whose numbers are 0, 2, 4, …"""
    story = still()
    for named in offsets:
        story.exchange(Api.OFFSET_COMMIT, "m0", member="m0-1", generation=2, offsets=tuple(named))
    return dict(members_of(story.trace, blocks)["m0"].asked[COMMIT].committed)


def values_of(found: CommittedOffsets) -> tuple[list[int], list[int], int, bool]:
    return list(found.offsets), list(found.seqs), found.highest, found.is_rising


@BOTH
def test_what_a_member_commits_is_known_by_partition_with_the_requests(blocks: Blocks) -> None:
    found = committed([("t", 0, 5), ("t", 1, 0)], [("t", 0, 6)], [], [("u", 0, 1), ("t", 0, 7)], blocks=blocks)

    assert {partition: values_of(offsets) for partition, offsets in found.items()} == {
        ("t", 0): ([5, 6, 7], [0, 2, 6], 7, True), ("t", 1): ([0], [0], 0, True), ("u", 0): ([1], [6], 1, True),
    }  # fmt: skip


@pytest.mark.parametrize(("offsets", "is_rising"), [([1, 2, 2], False), ([3, 1, 2], False), ([1, 3, 2], False), ([1, 2, 9], True), ([4], True)])
def test_offsets_rise_if_each_is_above_the_one_before(offsets: list[int], is_rising: bool) -> None:
    found = committed(*([("t", 1, number), ("t", 0, offset)] for number, offset in enumerate(offsets)))

    assert values_of(found["t", 0])[2:] == (max(offsets), is_rising)
    assert found["t", 1].is_rising


@pytest.mark.parametrize(("times", "burst_ms"), [(BURST, inf), (BURST + 1, (BURST - 1) * 40 + 10), (BURST + 5, (BURST - 1) * 40 + 10)])
def test_the_shortest_time_of_a_burst_is_that_of_one_member_s_requests(times: int, burst_ms: float) -> None:
    story = still()
    story.beats("m1", 3, 1)
    story.beats("m0", times - 1, 40)
    story.beats("m0", 1, 10)
    story.beats("m1", 3, 1)

    assert {client: member.asked[BEAT].burst_ms for client, member in members_of(story.trace).items()} == {"m0": burst_ms, "m1": inf}


def test_a_member_with_requests_under_way_alone_is_one_of_the_stretch() -> None:
    story = still()
    story.beats("m0", 2, 40)
    (block,) = columns(story.trace, len(story.trace))
    steady = SteadyExchanges(block, lambda _: True, np.zeros(0, np.int64))
    (alone,) = MemberStretches(block, steady, steady.exchanges).members(steady.exchanges.where(slice(0, 0)), {0: {0}}, end_ms=7.0)

    assert (alone.client, set(alone.apis), list(alone.asked), alone.last_ms) == ("m0", {BEAT}, [], 7.0)
