"""The ways of Go's clients, each told of the reference and of a client that has it; and what they come to over the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CommitResult, Drop
from groupproof.clients.planted.legal_variants_of_go import GO
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Bench, Pair

JOIN, SYNC, COMMIT, FIND, LEAVE, HEARTBEAT = (
    Api.JOIN_GROUP, Api.SYNC_GROUP, Api.OFFSET_COMMIT, Api.FIND_COORDINATOR, Api.LEAVE_GROUP, Api.HEARTBEAT,
)  # fmt: skip
AT = {("t", 0): 5}
Story = Callable[["Bench"], object]
Settings = dict[str, Any]


def _when_an_unanswered_sync_is_given_up(b: Bench) -> object:
    b.syncing()
    while b.member.state.value == "COMPLETING_REBALANCE":
        b.advance(100)
        if b.waits(HEARTBEAT):
            b.answer(HEARTBEAT)
    return b.now


def _drops_before_the_joins(b: Bench) -> object:
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    return len([output for output in b.others if isinstance(output, Drop)])


def _lane_of_the_goodbye(b: Bench) -> object:
    b.stable(0)
    b.do(b.member.close(b.now))
    while b.callbacks:
        b.called()
    return b.take(LEAVE).lane


def _goodbyes_after_a_failed_sync(b: Bench) -> object:
    b.syncing()
    b.answer(SYNC, 22)
    b.advance(200, polling=True)
    return b.count(LEAVE), b.message(JOIN).member_id


def _joins_and_syncs_where_no_coordinator_was(b: Bench) -> object:
    b.syncing()
    joins = b.count(JOIN)
    b.answer(SYNC, 16)
    b.advance(200, polling=True)
    b.answer(FIND)
    b.advance(200, polling=True)
    return b.count(JOIN) - joins, [b.message(SYNC).generation_id] * b.count(SYNC)


def _commit_of_a_member_that_joins(b: Bench) -> object:
    """It is told of a refusal at once, or its commit goes out in the new generation."""
    b.syncing(2)
    b.do(b.member.commit("c", AT, b.now, is_sync=True))
    lines = [output.error for output in b.others if isinstance(output, CommitResult)]
    b.assigned(0)
    return lines, [b.message(COMMIT).generation_id] if b.count(COMMIT) else []


WAYS: list[tuple[Policy, Story, object, object, Settings]] = [
    (Policy(connects_anew=True), _drops_before_the_joins, 0, 3, {}),
    (Policy(leaves_on_own_connection=True), _lane_of_the_goodbye, "group", "goodbye", {}),
    (Policy(failed_rejoin="leaves"), _goodbyes_after_a_failed_sync, (0, "m-1"), (1, ""), {}),
    (Policy(failed_sync="syncs"), _joins_and_syncs_where_no_coordinator_was, (1, [1]), (0, [1, 1]), {}),
    (Policy(commits_while_joining="held"), _commit_of_a_member_that_joins, (["REBALANCE_IN_PROGRESS"], []), ([], [2]), {}),
]


@pytest.mark.parametrize(("policy", "story", "reference", "deviating", "settings"), WAYS)
def test_a_way_shows(bench: type[Bench], policy: Policy, story: Story, reference: object, deviating: object, settings: Settings) -> None:
    assert story(bench(**settings)) == reference
    assert story(bench(policy, **settings)) == deviating


def test_each_way_is_some_released_clients() -> None:
    assert all(variant.is_legal and variant.source.startswith(("franz-go", "sarama", "kafka-go")) for variant in GO)
    assert len({variant.name for variant in GO}) == len(GO) >= 14


def test_each_membership_has_a_connection_of_its_own(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="connects-anew-for-each-generation")
        await pair.settled("m0")
        await pair.start("m1")
        await pair.settled("m0", "m1")
        joined = {obs.generation: obs.connection for obs in pair.evidence.responses(JOIN, "m0") if not obs.error}
        synced = {obs.generation: obs.connection for obs in pair.evidence.requests(SYNC, "m0")}
        assert len(set(joined.values())) == len(joined) >= 2
        assert synced == joined

    tell(story)
