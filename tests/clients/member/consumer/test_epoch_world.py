"""A group of reference members lives well; with a planted bug among them a law is broken, and with a legal variant none is."""

from __future__ import annotations

from itertools import count

import pytest
from tests.clients.member.consumer.epoch_bench import BEAT, FIND, OTHER_ID, TOPIC_ID, EpochBench, assignment
from tests.clients.member.consumer.epoch_world import OF_THE_APPLICATION, lived

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer.epoch_core import EpochCore
from groupproof.clients.member.policy import REFERENCE
from groupproof.clients.planted.legal_variants_of_epochs import LEGAL_EPOCHS
from groupproof.clients.planted.member_variant import Variant
from groupproof.clients.planted.misbehaviours_of_epochs import EPOCH_BUGS
from groupproof.protocol.wire.consumer_messages import ConsumerAssignment, TopicPartitions

BY_HAND = {
    "epoch-reads-empty-as-null",
    "epoch-waits-with-everything",
    "epoch-new-id-with-each-try",
    "epoch-says-once",
    "epoch-leaves-before-it-revokes-to-unsubscribe",
}
"""Bugs that the days of the group give no occasion for; the tests below do."""

BEYOND = {"epoch-close-without-time-is-cut", "epoch-forgets-an-overdue-fetch", *OF_THE_APPLICATION}
"""Bugs of the shim and of the reader of records, which the group here does without; a case fails each (tests/power/caught_of_epochs.toml)."""

BUGS = {bug.name: bug for bug in EPOCH_BUGS}


@pytest.mark.slow
@pytest.mark.requirement("CGI-13", "CGI-02", "CGI-03", "CGI-19", "CGC-09", "CGC-10", "CGT-04", "CGT-14", "CGP-13", "CGV-21", "CGV-24")
@pytest.mark.parametrize("instance_id", [None, "i0"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reference_members_break_no_invariant(seed: int, instance_id: str | None) -> None:
    assert lived(REFERENCE, seed, instance_id=instance_id) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BUGS.keys() - BY_HAND - BEYOND))
def test_every_planted_bug_breaks_an_invariant(name: str) -> None:
    assert any(lived(BUGS[name].policy, seed, **BUGS[name].settings) for seed in (1, 2, 3)), "not all days are an occasion for every bug"


@pytest.mark.slow
@pytest.mark.requirement("CGC-22", "CGC-23", "CGT-13", "CGP-03")
@pytest.mark.parametrize("variant", LEGAL_EPOCHS, ids=lambda variant: variant.name)
def test_no_legal_variant_breaks_an_invariant(variant: Variant) -> None:
    assert lived(variant.policy, 1, **variant.settings) == []


def _held_after_an_empty_assignment(bench: EpochBench) -> int:
    bench.joined(0, 1)
    bench.next_beat()
    bench.beaten(2, assignment=assignment())
    bench.poll_through()
    return len(bench.member.owned)


def _held_while_a_name_lacks(bench: EpochBench) -> int:
    bench.joining()
    both = (TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)), TopicPartitions(topic_id=OTHER_ID, partitions=(1,)))
    bench.answer(BEAT, member_epoch=1, assignment=ConsumerAssignment(topic_partitions=both))
    bench.poll_through()
    return len(bench.member.owned)


def test_a_member_that_reads_an_empty_assignment_as_an_absent_one_keeps_its_partitions() -> None:
    policy = BUGS["epoch-reads-empty-as-null"].policy
    assert [_held_after_an_empty_assignment(EpochBench(choice)) for choice in (REFERENCE, policy)] == [0, 2]


def test_a_member_that_waits_for_a_topic_name_takes_nothing_of_the_rest() -> None:
    policy, cluster = BUGS["epoch-waits-with-everything"].policy, Cluster(partitions={"t": 4}, names={TOPIC_ID: "t"})
    assert [_held_while_a_name_lacks(EpochBench(choice, topics_known=cluster)) for choice in (REFERENCE, policy)] == [1, 0]


def _ids_of_two_tries(bench: EpochBench) -> int:
    bench.joining()
    bench.beaten(error=14)
    bench.advance(1_000)
    assert len(bench.beats) > 1
    return len({beat.member_id for beat in bench.beats})


def _owned_after_a_refused_acknowledgement(bench: EpochBench) -> int:
    bench.joining()
    bench.answer(BEAT, member_epoch=1, assignment=assignment(0, 1))
    bench.poll_through()
    bench.beaten(error=16)
    bench.answer(FIND)
    bench.advance(2_000)
    return 0 if bench.beat.topic_partitions is None else 1


def test_a_member_that_tries_with_another_id_leaves_one_behind_with_each_try(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = count()
    monkeypatch.setattr(EpochCore, "new_member_id", lambda core: f"id-{next(drawn)}")
    policy = BUGS["epoch-new-id-with-each-try"].policy
    assert [_ids_of_two_tries(EpochBench(choice)) for choice in (REFERENCE, policy)] == [1, 2]


@pytest.mark.parametrize(("name", "epochs"), [
    (None, {"close": 1, "unsubscribe": 1}),
    ("epoch-leaves-before-it-revokes-to-unsubscribe", {"close": 1, "unsubscribe": -1}),
    ("epoch-leaves-before-it-revokes", {"close": -1, "unsubscribe": -1}),
])  # fmt: skip
def test_a_member_that_leaves_before_it_revokes_has_left_while_its_application_has_its_partitions(name: str | None, epochs: dict[str, int]) -> None:
    policy = REFERENCE if name is None else BUGS[name].policy
    for ends, epoch in epochs.items():
        bench = EpochBench(policy)
        bench.joined(0)
        bench.do(getattr(bench.member, ends)(bench.now))
        assert (bench.beat.member_epoch, bool(bench.member.owned)) == (epoch, True)


def test_a_member_that_sends_everything_only_once_is_unknown_to_another_coordinator() -> None:
    policy = BUGS["epoch-says-once"].policy
    assert [_owned_after_a_refused_acknowledgement(EpochBench(choice)) for choice in (REFERENCE, policy)] == [1, 0]
