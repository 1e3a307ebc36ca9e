"""A live group of the toy dialect is read, checked and reported by the parts that the dialect brings."""

from __future__ import annotations

from tests.harness.toy_dialect.lease_cases import LEASE_CASE
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER, LeaseGuard
from tests.harness.toy_dialect.lease_judging import THE_LEASE
from tests.power.coordinators import played
from tests.traces import Story

from groupproof.coordinator.machine.variant import Variant
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.fleet import Fleet
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.observed.both_sides import judge_sides
from groupproof.harness.judging.observed.client_side import judge_clients
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

BEAT = Api.SHARE_GROUP_HEARTBEAT


def _trace(variant: Variant | None = None) -> Trace:
    return played(variant, [LEASE_CASE], profile=LEASE_BROKER)[LEASE_CASE.id].trace


def _fleet(trace: Trace) -> list[CaseResult]:
    fleet = Fleet()
    for obs in trace:
        fleet.feed(obs)
    return [result for group in fleet.results() for result in results_of(group)]


def _naming_another_epoch() -> Trace:
    """Let a member that joined name an epoch that it was never given."""
    story = Story()
    story.answer(story.request(BEAT, "m0", member="id-m0", member_epoch=0), member="id-m0", member_epoch=1)
    story.answer(story.request(BEAT, "m0", member="id-m0", member_epoch=7), error=110)
    return story.trace


def _verdicts(results: list[CaseResult]) -> dict[str, Verdict]:
    return {result.case.id.rpartition("/")[0]: result.ruling.verdict for result in results}


def test_the_tracker_follows_its_members_by_their_epochs() -> None:
    tracker, owners = GroupTracker(), []
    for obs in _trace():
        tracker.follow(obs)
        owners.append([client for client in ("a", "b") if THE_LEASE in tracker.owned(client)])

    assert max(len(names) for names in owners) == 1
    assert [tracker.members[client].member_epoch for client in ("a", "b")] == [3, -1]


def test_a_live_group_is_checked_by_what_the_dialect_brings_and_by_nothing_classic() -> None:
    trace = _trace()

    assert _verdicts(_fleet(trace)) == {"laws/lease": Verdict.OK, "observed/lease": Verdict.OK}  # b may have been a member before the trace
    assert _verdicts(_fleet(_naming_another_epoch())) == {"laws/lease": Verdict.OK, "observed/lease": Verdict.FAILED}
    assert _verdicts(judge_live(trace)) == {"observed/lease": Verdict.FAILED}
    (finding,) = [finding for finding in judge_live(trace)[0].ruling.findings if finding.verdict is Verdict.FAILED]
    assert finding.observed == "A member named an epoch that it was never given."  # the case has b do so


def test_a_bug_of_the_coordinator_breaks_its_invariant() -> None:
    twice = Variant(
        name="lends-twice", says="Whoever asks is given the lease that there is.",
        guards={LeaseGuard.HELD_BY_ANOTHER: lambda event: False, LeaseGuard.OTHER_EPOCH: lambda event: False},
    )  # fmt: skip

    assert _verdicts(_fleet(_trace(twice)))["laws/lease"] is Verdict.FAILED


def test_behind_a_tap_its_members_are_judged_unless_they_were_there_before() -> None:
    story = Story()
    for epoch in (0, 1):
        story.answer(story.request(BEAT, "m0", member="id-m0", member_epoch=epoch), member="id-m0", member_epoch=1)
    (result,) = judge_clients(story.trace, {"groups": ["g"]})
    assert isinstance(result, CaseResult)
    assert result.ruling.verdict is Verdict.OK

    story = Story()
    story.answer(story.request(BEAT, "m0", member="id-m0", member_epoch=1), member="id-m0", member_epoch=1)
    (unjudged,) = judge_clients(story.trace, {"groups": ["g"]})
    assert isinstance(unjudged, UnjudgedSide)
    assert unjudged.why == "some of them joined before the tap was there"


def test_behind_a_tap_its_coordinator_is_judged_by_the_oracle() -> None:
    def upstream(trace: Trace) -> Trace:
        ground = next(obs.body for obs in trace if obs.body.get("name") == "ground")
        story = Story()
        story.see("event", who="kit", body={"name": "upstream", "groups": [], "profile": LEASE_BROKER, "settings": ground["settings"], "untold": ""})
        return [*story.trace, *trace]

    results, unjudged = judge_sides(upstream(_trace()))
    assert (_verdicts(results)["answered/lease"], unjudged) == (Verdict.OK, [])


def test_of_a_group_of_both_dialects_each_member_is_held_to_its_own() -> None:
    story = Story().member("m1")
    story.beat("m1", member="nobody-gave-this")
    story.answer(story.request(BEAT, "m2", member="id-m2", member_epoch=7, connection=2), error=110)

    found = [finding.observed for result in judge_live(story.trace) for finding in result.ruling.findings if finding.verdict is Verdict.FAILED]
    assert sorted(found) == ["A member named an epoch that it was never given.", "Heartbeat named a member id that the client was never given."]
    assert sorted(_verdicts(_fleet(story.trace)).items()) == [("laws/classic", Verdict.OK), ("observed/classic", Verdict.FAILED)]
