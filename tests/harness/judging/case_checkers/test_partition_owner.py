from __future__ import annotations

import base64

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.partition_owner import (
    claims_nothing,
    holdings,
    keeps_partitions,
    names_owned_partitions,
    reports_no_revocation,
    revokes_before_joining,
)
from groupproof.harness.judging.checkers.shared.ownership import OwnersNeverOverlap, RecordsComeToOwners
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

OTHER = "m1-1"
T0, T1 = ("t", 0), ("t", 1)


def owner(protocol: str = "range") -> Story:
    """A member that holds both partitions of t in generation 1."""
    story = Story()
    story.join(protocol=protocol)
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    return story


def shared(*, revoked_at: float | None, generation: int = 2, instance: str | None = None) -> Story:
    """Generation 2 gives the second partition to m1 at 1000 ms; m0 takes part in generation `generation` only."""
    story = owner()
    story.join(member=ID, generation=generation, instance=instance)
    story.join("m1", gets=OTHER, generation=2, instance=instance)
    story.at(1_000).sync("m1", member=OTHER, generation=2, gets=[T1])
    story.partitions("assigned", T1, client="m1")
    if revoked_at is not None:
        story.at(revoked_at).partitions("revoked", T0, T1)
    return story.end(4_000)


def test_an_eager_assignment_replaces_and_a_cooperative_one_adds() -> None:
    for protocol, lost in (("range", 1), ("cooperative-sticky", 0)):
        story = owner(protocol)
        story.partitions("assigned", T0)

        assert sum(1 for holding in holdings(Evidence(story.trace)) if holding.until is not None) == lost


def test_a_member_that_is_killed_or_closed_holds_nothing_any_more() -> None:
    for end in ("kill", "shutdown"):
        story = owner()
        if end == "kill":
            story.kit("kill", "m0")
        else:
            story.tell("shutdown_complete")

        assert all(holding.until is not None for holding in holdings(Evidence(story.trace)))


@pytest.mark.parametrize(("revoked_at", "expected"), [(1_400, Verdict.OK), (1_600, Verdict.FAILED), (None, Verdict.FAILED)])
def test_two_members_of_a_generation_must_not_hold_a_partition_for_longer_than_a_report_takes(revoked_at: float | None, expected: Verdict) -> None:
    assert verdict(OwnersNeverOverlap, shared(revoked_at=revoked_at)) is expected


def test_a_member_that_the_group_went_on_without_cannot_know() -> None:
    assert findings(OwnersNeverOverlap, shared(revoked_at=None, generation=1)) == []


@pytest.mark.parametrize(("overtaken", "expected"), [(True, Verdict.OK), (False, Verdict.FAILED)])
def test_a_member_whose_assignment_was_long_under_way_cannot_know_that_the_group_went_on(overtaken: bool, expected: Verdict) -> None:
    story = Story()
    story.join()
    story.join("m1", gets=OTHER)
    story.sync(gets=[T0, T1])  # which m0 gets to know of when generation 2 has given them to m1
    if not overtaken:
        story.join(member=ID, generation=2)
    story.join("m1", member=OTHER, gets=OTHER, generation=2)
    story.at(1_000).sync("m1", member=OTHER, generation=2, gets=[T0, T1])
    story.partitions("assigned", T0, T1, client="m1")
    story.at(2_000).partitions("assigned", T0, T1)
    story.at(3_000).partitions("lost", T0, T1)

    assert verdict(OwnersNeverOverlap, story.end(4_000)) is expected


def test_a_twin_that_was_replaced_cannot_know() -> None:
    assert findings(OwnersNeverOverlap, shared(revoked_at=None, instance="i0")) == []


@pytest.mark.parametrize(("ms", "expected"), [(100, Verdict.OK), (900, Verdict.FAILED)])
def test_records_of_a_revoked_partition_are_not_delivered(ms: float, expected: Verdict) -> None:
    story = owner()
    story.partitions("revoked", T0, T1)
    story.at(ms).consume(("t", 0, 0, 5))

    assert verdict(RecordsComeToOwners, story) is expected


def test_an_application_without_callbacks_is_not_judged_by_them() -> None:
    story = Story()
    story.consume(("t", 0, 0, 5))

    assert findings(RecordsComeToOwners, story) == []


@pytest.mark.parametrize(("revoked_at", "expected"), [(50, Verdict.OK), (550, Verdict.OK), (700, Verdict.FAILED), (None, Verdict.FAILED)])
def test_an_eager_member_hands_back_before_it_joins_again(revoked_at: float | None, expected: Verdict) -> None:
    story = owner().mark("newcomer")
    if revoked_at is not None and revoked_at <= 100:
        story.at(revoked_at).partitions("revoked", T0, T1)
    story.at(100).join(member=ID, generation=2)
    if revoked_at is not None and revoked_at > 100:
        story.at(revoked_at).partitions("revoked", T0, T1)

    assert verdict(revokes_before_joining("m0", after="newcomer"), story.end(2_000)) is expected


@pytest.mark.parametrize(("protocol", "expected"), [("cooperative-sticky", []), ("range", [Verdict.FAILED])])
def test_a_member_of_a_cooperative_group_joins_again_with_its_partitions(protocol: str, expected: list[Verdict]) -> None:
    story = Story()
    story.join(protocol=protocol)
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    story.mark("newcomer")
    story.at(100).join(member=ID, generation=2, protocol="range", owned=[T0, T1])

    assert [finding.verdict for finding in findings(revokes_before_joining("m0", after="newcomer"), story.end(2_000))] == expected


@pytest.mark.parametrize(
    ("capabilities", "reads", "expected"),
    [((), None, Verdict.OK), ((), "fetch", Verdict.OK), ((), "records", Verdict.FAILED), (("on-revoked",), None, Verdict.FAILED)],
)
def test_a_member_that_has_no_callback_of_a_rebalance_is_judged_by_what_it_reads_meanwhile(
    capabilities: tuple[str, ...], reads: str | None, expected: Verdict
) -> None:
    story = Story()
    story.kit("hello", "m0", capabilities=["classic", *capabilities])
    story.member(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    story.mark("newcomer").at(100)
    join = story.request(Api.JOIN_GROUP, member=ID)
    if reads == "fetch":
        story.at(900).exchange(Api.FETCH, offsets=(("t", 0, 5),))
    elif reads == "records":
        story.at(900).consume(("t", 0, 5, 9))
    story.at(2_000).answer(join, member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    story.partitions("revoked", T0, T1)

    assert verdict(revokes_before_joining("m0", after="newcomer"), story.end(3_000)) is expected


@pytest.mark.parametrize(
    ("reads", "message"),
    [(True, "It joined again with its partitions still in hand."), (False, "It joined again, and no partitions_revoked came first.")],
)
def test_a_member_that_still_reads_has_its_partitions_and_one_that_does_not_lacks_a_line(reads: bool, message: str) -> None:
    story = owner().mark("newcomer").at(100)
    story.join(member=ID, generation=2)
    if reads:
        story.exchange(Api.FETCH, offsets=(("t", 0, 5),))
    story.end(3_000)

    assert [(finding.observed, finding.line) for finding in findings(revokes_before_joining("m0", after="newcomer"), story)] == [
        (message, "partitions_revoked")
    ]


def test_a_member_that_did_not_join_again_is_not_asked_for_a_revocation() -> None:
    with pytest.raises(NotReached):
        verdict(revokes_before_joining("m0", after="newcomer"), owner().mark("newcomer").end())


@pytest.mark.parametrize(("is_severe", "expected"), [(False, Verdict.NON_STRICT), (True, Verdict.FAILED)])
@pytest.mark.parametrize("callback", ["revoked", "lost"])
def test_a_needless_revocation_is_as_severe_as_the_case_says(callback: str, is_severe: bool, expected: Verdict) -> None:
    judge = reports_no_revocation("m0", after="moved", requirement="EMIG-04", is_severe=is_severe)
    story = owner().mark("moved")
    story.partitions(callback)
    assert verdict(judge, story) is Verdict.OK

    story.partitions(callback, T0)
    assert verdict(judge, story) is expected


def test_partitions_that_a_session_cost_are_reported_with_it() -> None:
    story = owner()
    story.at(100).beat()
    story.mark("moved").at(6_200)
    story.see("transition", rule="SessionEnd/Stable/session-ends", detail="removing member on heartbeat expiration m9-9")
    story.see("transition", rule="SessionEnd/Stable/session-ends", detail=f"removing member on heartbeat expiration {ID}")
    story.partitions("lost", T0)

    (found,) = findings(reports_no_revocation("m0", after="moved", requirement="ASSIGN-09"), story.end(9_000))
    assert (found.verdict, found.observed) == (Verdict.NON_STRICT, "Its session ended, and its partitions were taken from the application.")
    assert found.proof is Proof.TIMING, "a process that got no time sends no Heartbeat either"
    assert found.detail == "no Heartbeat for 6100 ms"


@pytest.mark.parametrize(("revoked", "expected"), [([T1], Verdict.OK), ([T0, T1], Verdict.NON_STRICT)])
def test_what_stays_with_a_cooperative_member_is_never_revoked(revoked: list[tuple[str, int]], expected: Verdict) -> None:
    story = owner("cooperative-sticky").mark("newcomer")
    story.partitions("revoked", *revoked)

    assert verdict(keeps_partitions("m0", 1, after="newcomer", requirement="ASSIGN-06"), story.end()) is expected


@pytest.mark.parametrize(
    ("revokes", "named", "expected"),
    [(False, [T0, T1], Verdict.OK), (False, [T0], Verdict.FAILED), (True, [], Verdict.NON_STRICT)],
)
def test_a_cooperative_member_names_what_it_holds(revokes: bool, named: list[tuple[str, int]], expected: Verdict) -> None:
    story = owner("cooperative-sticky").mark("rebalance")
    if revokes:
        story.partitions("revoked", T0, T1)
    story.join(member=ID, generation=2, protocol="cooperative-sticky", owned=named)

    assert verdict(names_owned_partitions("m0", after="rebalance", requirement="ASSIGN-09"), story.end(2_000)) is expected


@pytest.mark.parametrize(("named", "expected"), [([], Verdict.OK), ([T0], Verdict.NON_STRICT)])
def test_a_member_that_was_put_out_claims_nothing(named: list[tuple[str, int]], expected: Verdict) -> None:
    story = owner("cooperative-sticky").mark("out")
    story.join(generation=2, protocol="cooperative-sticky", owned=named)

    assert verdict(claims_nothing("m0", after="out", requirement="ASSIGN-09"), story.end()) is expected


def test_a_group_that_was_lost_counts_its_generations_again() -> None:
    story = owner()
    for at_ms, transition in ((500, {"state_before": None, "state_after": "Empty", "generation": 0}), (1_000, None)):
        story.at(at_ms)
        if transition is not None:
            story.see("transition", group="g", **transition)
    story.join("m1", gets=OTHER, generation=1)
    story.sync("m1", member=OTHER, generation=1, gets=[T1])
    story.partitions("assigned", T1, client="m1")
    story.end(4_000)

    assert verdict(OwnersNeverOverlap, story) is Verdict.OK
    assert verdict(OwnersNeverOverlap, shared(revoked_at=None)) is Verdict.FAILED


def test_behind_a_tap_a_lost_group_is_known_by_a_generation_lower_than_the_last() -> None:
    def lost(first: int) -> Story:
        story = Story().member(gets=[T0])
        story.partitions("assigned", T0)
        story.join("m0", member="m0-1", gets="m0-1", generation=2)
        story.at(1_000).join("m1", gets=OTHER, generation=first)
        story.sync("m1", member=OTHER, generation=first, gets=[T0])
        story.partitions("assigned", T0, client="m1")
        return story.end(4_000)

    assert verdict(OwnersNeverOverlap, lost(1)) is Verdict.OK
    assert verdict(OwnersNeverOverlap, lost(2)) is Verdict.FAILED


def test_a_subscription_that_ends_before_its_owned_partitions_claims_none_and_fails_nobody() -> None:
    story = owner("cooperative-sticky").mark("rebalance")
    story.join(member=ID, generation=2).body["protocols"][0]["metadata"] = base64.b64decode("AAEAAAABAAF0/////w==")

    assert verdict(claims_nothing("m0", after="rebalance", requirement="ASSIGN-09"), story.end()) is Verdict.OK
    with pytest.raises(NotReached, match="can't name owned partitions"):
        verdict(names_owned_partitions("m0", after="rebalance", requirement="ASSIGN-09"), story)
