"""Real rebalances, provoked one by one on real brokers, are told by their right causes: from the brokers' logs alone, and from the wire of the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.judging.diagnosis.provocations import EXPECTED
from tests.harness.judging.diagnosis.recordings import by_group, causes, explained, recorded

from groupproof.harness.judging.diagnosis.causes import SORTED, Branch, Cause, Certainty, Kind
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.diagnosis.rebalances import Rebalance
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.trace import Observation, Recorder, Trace

NEVER_LOGGED = {("coordinator-moved", 1)}
"""In 1.1 a join is told by the request log alone, which has nothing of a broker that was killed before it answered."""

FROM_2_4 = {"handover", "static-replaced", "admin-removal", "sync-timeout"}


def _expected(release: str, source: str) -> dict[str, list[Cause]]:
    groups = {group: list(causes) for group, causes in EXPECTED.items() if release != "1.1.0" or group not in FROM_2_4}
    for group, number in NEVER_LOGGED if (release, source) == ("1.1.0", "all") else ():
        groups[group][number] = Cause.UNREPORTED
    return groups


@pytest.mark.requirement("DIAG-20")
@pytest.mark.parametrize(
    ("release", "source"), [("4.1.0", "info"), ("4.1.0", "all"), ("4.1.0", "wire"), ("1.1.0", "all"), ("1.1.0", "wire"), ("3.9.1", "info")]
)
def test_each_provoked_rebalance_is_explained_by_its_cause(release: str, source: str) -> None:
    by_name = causes(explained(release, source))
    expected = _expected(release, source)

    assert {group: by_name[group][: len(mine)] for group, mine in expected.items()} == expected
    assert {cause for group, mine in expected.items() for cause in by_name[group][len(mine) :]} <= {Cause.HEARTBEAT_TIMEOUT}, (
        "who fell silent at the end"
    )


@pytest.mark.parametrize(("release", "source"), [("4.1.0", "info"), ("1.1.0", "all")])
def test_at_least_ten_kinds_are_recognised_from_a_brokers_log_only(release: str, source: str) -> None:
    assert len({rebalance.cause for rebalance in explained(release, source)} - {Cause.UNREPORTED}) >= 10


@pytest.mark.parametrize(("release", "source"), [("4.1.0", "info"), ("1.1.0", "all")])
def test_the_log_and_the_wire_of_the_same_run_tell_the_same(release: str, source: str) -> None:
    """Compared are the rebalances that came to a generation: when each began is known to the coordinator, and to who listens within a quarter of a second."""
    log, wire = by_group(explained(release, source)), by_group(explained(release, "wire"))
    for group, mine in wire.items():
        finished = [rebalance for rebalance in log[group] if rebalance.generation is not None and not rebalance.is_emptied]
        entries = [rebalance for rebalance in mine if rebalance.generation is not None]
        assert [_key(rebalance) for rebalance in entries] == [_key(rebalance) for rebalance in finished], group
        for here, there in zip(entries, finished, strict=True):
            assert here.join_ms == pytest.approx(there.join_ms, abs=250), group


def _key(rebalance: Rebalance) -> tuple[object, ...]:
    """Return what both should tell; which of several that start at once comes first, only the coordinator knows."""
    return rebalance.generation, rebalance.cause, None if rebalance.is_initial else rebalance.member


@pytest.mark.parametrize("release", ["2.4.1", "2.8.2"])
def test_what_the_releases_between_do_not_tell_is_said_to_be_open(release: str) -> None:
    by_name = by_group(explained(release, "info"))

    assert [rebalance.cause for rebalance in by_name["heartbeat-timeout"]] == list(EXPECTED["heartbeat-timeout"])
    assert [rebalance.cause for rebalance in by_name["poll-interval"]] == list(EXPECTED["poll-interval"]), (
        "its member came back under the same client id"
    )
    closed = by_name["closed"][2]
    assert (closed.cause, closed.certainty, closed.also) == (Cause.LEFT, Certainty.INFERRED, (Cause.POLL_INTERVAL, Cause.CLOSED))


@pytest.mark.requirement("DIAG-21")
def test_a_new_member_is_recognised_by_its_lookup_and_a_join_without_an_id() -> None:
    came = by_group(explained("1.1.0", "all"))["new-member"][1]

    assert (came.cause, came.kind) == (Cause.NEW_MEMBER, Kind.NEW)
    assert came.evidence[0].text.startswith("FindCoordinator of new-b, then JoinGroup v2 of new-b without a member id")


@pytest.mark.requirement("DIAG-22")
def test_a_heartbeat_timeout_is_recognised_by_the_line_just_before_the_start_marker() -> None:
    lost = by_group(explained("1.1.0", "info"))["heartbeat-timeout"][2]

    assert lost.cause is Cause.HEARTBEAT_TIMEOUT
    assert [view.marks for view in lost.evidence[:2]] == ["DIAG-04", "DIAG-01"]
    assert 0 <= lost.evidence[1].at_ms - lost.evidence[0].at_ms < 100


@pytest.mark.requirement("DIAG-23")
def test_a_leave_on_the_poll_interval_is_inferred_by_exclusion_where_no_line_tells_it() -> None:
    """As 1.1 logs at INFO, with a request log that tells of joins: LeaveGroup has no line at all."""
    silent = [obs for obs in recorded("1.1.0", "all") if obs.api != "LeaveGroup" and obs.body.get("name") != "left"]
    left = by_group(rebalances_of(silent))["poll-interval"][2]

    assert (left.cause, left.certainty, left.also) == (Cause.POLL_INTERVAL, Certainty.INFERRED, (Cause.CLOSED,))


@pytest.mark.requirement("DIAG-23")
def test_where_not_even_joins_are_logged_every_possible_cause_is_named() -> None:
    left = by_group(explained("1.1.0", "info"))["poll-interval"][2]

    assert left.cause is Cause.UNREPORTED
    assert left.also[0] is Cause.POLL_INTERVAL, "the most frequent in the field comes first"
    assert {Cause.NEW_MEMBER, Cause.CLOSED, Cause.PARTITIONS} <= set(left.also)


@pytest.mark.requirement("DIAG-25")
@pytest.mark.parametrize("release", ["1.1.0", "4.1.0"])
def test_a_rebalance_lasts_from_its_start_marker_to_its_end_marker(release: str) -> None:
    for rebalance in explained(release, "info"):
        marks = {evidence.marks: evidence.at_ms for evidence in rebalance.evidence}
        if "DIAG-03" in marks:
            assert rebalance.lasted_ms == marks["DIAG-03"] - marks["DIAG-01"]
            assert (rebalance.join_ms, rebalance.sync_ms) == (marks["DIAG-02"] - marks["DIAG-01"], marks["DIAG-03"] - marks["DIAG-02"])


@pytest.mark.requirement("DIAG-26")
@pytest.mark.parametrize(("release", "source"), [("1.1.0", "all"), ("1.1.0", "wire"), ("4.1.0", "info"), ("4.1.0", "wire")])
def test_the_member_that_the_join_phase_waited_for_is_named(release: str, source: str) -> None:
    slow = by_group(explained(release, source))["slow-member"][1]

    assert [awaited_member.member.rpartition("-")[0].startswith("slow-stuck") for awaited_member in slow.awaited_to_join] == [True]
    assert slow.join_ms == pytest.approx(4_000, abs=250)
    assert slow.sync_ms is not None
    assert slow.sync_ms < 500


def test_a_group_that_was_empty_waited_for_the_initial_delay() -> None:
    first = by_group(explained("4.1.0", "info"))["new-member"][0]

    assert first.is_initial
    assert "group.initial.rebalance.delay.ms" in first.awaited_to_join[0].why


@pytest.mark.requirement("DIAG-20")
def test_every_cause_is_sorted_into_one_branch_and_client_changes_further() -> None:
    assert set(SORTED) == set(Cause)
    for cause, (branch, kind, words) in SORTED.items():
        assert (branch is Branch.CLIENTS and cause is not Cause.UNREPORTED) == (kind is not None)
        assert words.format(member="m0")
    assert {SORTED[cause].kind for cause in (Cause.HEARTBEAT_TIMEOUT, Cause.POLL_INTERVAL, Cause.CLOSED)} == {Kind.LOST}
    assert {SORTED[cause].branch for cause in (Cause.PARTITIONS, Cause.MOVED)} == {Branch.PARTITIONS, Branch.COORDINATOR}


@pytest.mark.requirement("DIAG-20", "DIAG-24")
@pytest.mark.parametrize("seed", [3, 5])
def test_the_kit_s_own_traces_tell_every_cause_explicitly(seed: int) -> None:
    trace = simulated(seed)
    starts = [obs for obs in trace if obs.kind == "transition" and obs.state_after == "PreparingRebalance"]
    found = rebalances_of(trace)

    assert len(found) == len(starts) > 1
    assert not [rebalance.cause for rebalance in found if rebalance.certainty is not Certainty.TOLD]


def simulated(seed: int) -> Trace:
    made: list[Recorder] = []

    def make(now_ns: Callable[[], int]) -> Recorder:
        made.append(Recorder(now_ns, run="simulation", clock="virtual"))
        return made[0]

    Run(Simulation(seed=seed, members=4, duration_ms=120_000), None, make).go()
    return made[0].trace


def _without(obs: Observation, words: str) -> Observation | None:
    """Return the observation without the words in its line, its reason and what else was read from them; None where nothing is left of it."""
    line = str(obs.body.get("line", ""))
    if words not in line:
        return obs
    if obs.kind != "transition":
        return None
    return replace(obs, detail=(obs.detail or "").replace(words, ""), body={**obs.body, "line": line.replace(words, "")})


@pytest.mark.parametrize(
    ("group", "number", "wrong"),
    [
        ("heartbeat-timeout", 2, "has failed, removing"), ("poll-interval", 2, "client reason: consumer poll timeout has expired"),
        ("partitions-changed", 1, "client reason: cached metadata has changed"), ("sync-timeout", 1, "on pending sync request expiration"),
    ],
)  # fmt: skip
def test_a_wording_that_is_not_understood_does_not_pass_for_the_cause(group: str, number: int, wrong: str) -> None:
    """The proof can fail: with the decisive words gone from log and requests, the cause is told otherwise, or without them."""
    trace = [_without(obs, wrong) for obs in recorded("4.1.0", "info")]
    rebalance = by_group(rebalances_of([obs for obs in trace if obs is not None]))[group][number]

    right = by_group(explained("4.1.0", "info"))[group][number]
    assert (rebalance.cause, rebalance.certainty, len(rebalance.evidence)) != (right.cause, right.certainty, len(right.evidence))
