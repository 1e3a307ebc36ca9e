from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed
from tests.power.coordinators import judgements, played

from groupproof.coordinator.machine.variant import Variant
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.mixed_releases import RulesRead
from groupproof.harness.judging.oracle.replay_result import ReplayResult
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.cells import Row
from groupproof.protocol.rules.classic.classic_states import COMPLETING
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Guard
from groupproof.protocol.rules.classic.named_changes import changes_beside
from groupproof.protocol.rules.consumer.open_release_fields import OPEN_RELEASE_FIELDS
from groupproof.protocol.rules.deltas import Change
from groupproof.protocol.rules.profiles import mixed
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import ErrorCode, Level

BY_ID = {case.id: case for case in CASES}
OLD_FIRST_EPOCH = Variant(name="old-first-epoch", says="A new group begins at epoch 0.", dialect="consumer", fields={"first_group_epoch": 0})
OLD_HEARTBEAT = Variant(name="old-heartbeat", says="A Heartbeat between join and sync is answered 27, as up to 2.6.", rows=(
    Change(kind=ClassicEvent.HEARTBEAT, states=(COMPLETING,), name="completing", rows=(
        Row("completing", Guard.ALWAYS, ErrorCode.REBALANCE_IN_PROGRESS, "HB-52"),
    )),
))  # fmt: skip
NO_RELEASE = Variant(name="no-release", says="No release does so.", rows=(
    Change(kind=ClassicEvent.HEARTBEAT, states=(COMPLETING,), name="completing", rows=(
        Row("completing", Guard.ALWAYS, ErrorCode.ILLEGAL_GENERATION, "HB-52"),
    )),
))  # fmt: skip
SYNCING = "heartbeat/classic/completing"


MENDED_CASES = {
    "KAFKA-9752": "heartbeat/classic/each-its-own-session",
    "KAFKA-9801": "static/classic/restart-while-completing",
    "KAFKA-10134": "heartbeat/classic/completing",
    "KAFKA-10284": "static/classic/restart-with-other-protocols-chosen",
    "KAFKA-12890": "phase/classic/begun-by-a-sync-deadline",
    "KAFKA-14009": "timeouts/classic/changed-in-stable",
    "pull request 9958": "leave/classic/unknown-instance",
}
"""A case that shows each fix of a bug that Kafka 2.4 has."""


def with_change(profile_name: str, *parts: str) -> str:
    """Return the name of a profile that has named changes of other releases."""
    found = {change.part: change.release for change in changes_beside(profile_name)}
    for part in parts:
        profile_name = mixed(profile_name, part, found[part])
    return profile_name


def judged(variant: Variant, case: str, release: str) -> Judgement:
    return judgements(variant, [BY_ID[case]], profile=release)[case]


def beside_ok(judgement: Judgement) -> list[tuple[str, Verdict]]:
    return [(finding.requirement, finding.verdict) for finding in judgement.findings if finding.verdict is not Verdict.OK]


@pytest.mark.parametrize("case", ["reconcile/consumer/three-members", "reconcile/consumer/leave-frees-at-once"])
def test_what_every_release_leaves_open_is_reported_and_the_rest_is_judged_by_its_own_release(case: str) -> None:
    judgement = judged(OLD_FIRST_EPOCH, case, "kafka-4.4")

    assert beside_ok(judgement) == [("CGM-05", Verdict.INFORMATIONAL)]
    assert next(finding.observed for finding in judgement.findings if finding.requirement == "CGM-05").endswith("As kafka-4.2 does.")


def test_one_row_of_an_older_release_is_not_strict_though_no_release_explains_all() -> None:
    judgement = judged(OLD_HEARTBEAT, SYNCING, "kafka-4.1")

    assert {verdict for _, verdict in beside_ok(judgement)} == {Verdict.NON_STRICT}


def test_a_time_of_an_older_release_is_not_strict() -> None:
    """Up to 3.9 a member id that was never used delays the initial rebalance until its session ends."""
    bug, case = "gone/SessionEnd/PreparingRebalance/pending-ends", "delay/classic/pending-id-ends"
    judgement = judgements(bug, [BY_ID[case]])[case]
    (finding,) = (finding for finding in judgement.findings if finding.verdict is not Verdict.OK)

    assert (finding.requirement, finding.verdict) == ("TR-046", Verdict.NON_STRICT)
    assert finding.observed.endswith("too late. As kafka-3.9 does.")


@pytest.mark.parametrize("case", ["reconcile/consumer/three-members", "assign/consumer/uniform-one-topic-two-members"])
def test_targets_of_the_brokers_own_behind_an_open_field_are_followed_and_reported(case: str) -> None:
    own = replace(variant_named("uniform-from-the-end"), dialect="consumer", fields={"first_group_epoch": 0})

    judgement = judged(own, case, "kafka-4.4")

    assert sorted(beside_ok(judgement)) == [("CGA-12", Verdict.INFORMATIONAL), ("CGM-05", Verdict.INFORMATIONAL)]
    seq = {finding.requirement: finding.seq or 0 for finding in judgement.findings}
    assert seq["CGM-05"] < seq["CGA-12"], "the target comes behind the epoch"


@pytest.mark.parametrize("case", ["regex/consumer/no-topic", "leave/consumer/last-member", "static/consumer/leaves-for-good"])
def test_epochs_of_the_brokers_own_may_be_what_an_open_field_begins(case: str) -> None:
    own = replace(variant_named("epochs-by-two"), dialect="consumer", fields={"first_group_epoch": 0, "empty_group_waits": 0})

    judgement = judged(own, case, "kafka-4.4")

    assert judgement.verdict is Verdict.INFORMATIONAL
    assert "CGI-14" in {requirement for requirement, _ in beside_ok(judgement)}


@pytest.mark.parametrize("case", ["topics/consumer/created", "topics/consumer/made-again"])
def test_topics_that_are_known_late_beside_an_open_field_are_not_strict(case: str) -> None:
    late = replace(variant_named("topics-late"), dialect="consumer", fields={"first_group_epoch": 0})

    assert dict(beside_ok(judged(late, case, "kafka-4.4"))) == {"CGM-05": Verdict.INFORMATIONAL, "CGX-16": Verdict.NON_STRICT}


def test_everything_that_differs_behind_a_row_of_an_older_release_is_reported() -> None:
    bounds = {**SETTINGS, "group.max.size": 1}
    recording = Recording(settings=bounds)
    recording.joined("a")
    recording.wait(10)
    recording.beat("a", label="between join and sync")
    recording.wait(10)
    recording.sync("a", "a")
    recording.wait(10)
    recording.join("z", member_id="nobody", label="stranger joins")
    recording.wait(10)
    recording.join("y", member_id="nobody", label="refused with a generation")
    recording.wait(10)
    recording.beat("a", label="beat")
    recording.wait(10)
    trace = changed(recording.end(), "between join and sync", bodied(error_code=27))
    trace = changed(trace, "stranger joins", bodied(error_code=25))
    trace = changed(trace, "refused with a generation", bodied(generation_id=5))
    trace = changed(trace, "beat", bodied(error_code=22))

    findings = findings_of(trace, profile="kafka-4.1", settings=bounds)

    assert {finding.requirement: finding.verdict for finding in findings} == {
        "TR-090": Verdict.NON_STRICT,
        "TR-114": Verdict.INFORMATIONAL,  # another refusal that is due
        "JOIN-56": Verdict.INFORMATIONAL,  # a field beside an error code
        "TR-118": Verdict.FAILED,
    }


@pytest.mark.parametrize(("part", "case"), MENDED_CASES.items())
def test_the_fix_of_a_bug_that_an_old_release_has_is_no_breach(part: str, case: str) -> None:
    judgement = judgements(None, [BY_ID[case]], profile=with_change("kafka-2.4", part), judged_by="kafka-2.4")[case]

    requirements = {change.part: change.mends for change in changes_beside("kafka-2.4")}
    assert beside_ok(judgement) == [(requirements[part], Verdict.INFORMATIONAL)]
    assert next(finding.observed for finding in judgement.findings if finding.verdict is Verdict.INFORMATIONAL).endswith(f"({part}) does.")


def test_two_fixes_that_show_in_one_answer_only_are_no_breach() -> None:
    case = "static/classic/restart-takes-new-timeouts"

    judgement = judgements(None, [BY_ID[case]], profile=with_change("kafka-2.4", "KAFKA-10284", "KAFKA-14009"), judged_by="kafka-2.4")[case]

    assert beside_ok(judgement) == [("HB-11", Verdict.INFORMATIONAL)]


def test_a_bug_of_an_old_release_that_a_later_one_does_not_have_is_not_strict() -> None:
    case = MENDED_CASES["KAFKA-14009"]

    judgement = judgements(None, [BY_ID[case]], profile=with_change("kafka-4.1", "KAFKA-14009"), judged_by="kafka-4.1")[case]

    assert {verdict for _, verdict in beside_ok(judgement)} == {Verdict.NON_STRICT}


@pytest.mark.parametrize("release", ["kafka-2.4", "kafka-3.0", "kafka-4.1"])
def test_new_timeouts_and_an_old_heartbeat_in_one_history_are_of_two_releases(release: str) -> None:
    """A session ends that an earlier JoinGroup set (KAFKA-14009), in the state in which a Heartbeat is answered as up to 2.6.0 (KAFKA-10134)."""
    case = "phase/classic/begun-by-a-session-while-completing"
    own = OLD_HEARTBEAT if release != "kafka-2.4" else None

    judgement = judgements(own, [BY_ID[case]], profile=with_change(release, "KAFKA-14009"), judged_by=release)[case]

    assert judgement.verdict in (Verdict.NON_STRICT, Verdict.INFORMATIONAL)


@pytest.mark.parametrize(
    "case", ["leave/classic/unknown-instance", "fencing/classic/commit-of-unknown-instance", "fencing/classic/heartbeat-of-unknown-instance"]
)
def test_an_instance_that_nobody_has_may_be_looked_at_by_joins_alone(case: str) -> None:
    """Up to 2.8, whose newest versions of LeaveGroup and OffsetCommit are older, and differ in nothing of this."""
    assert beside_ok(judged(variant_named("instances-by-joins-alone"), case, "kafka-4.1")) == [("STATIC-11", Verdict.NON_STRICT)]


@pytest.mark.parametrize(
    ("bug", "case", "verdict"),
    [
        ("code/OffsetCommit/Stable/unknown-instance", "fencing/classic/commit-of-unknown-instance", Verdict.NON_STRICT),
        ("code/JoinGroup/Stable/unknown-instance", "static/classic/unknown-instance-with-id", Verdict.FAILED),
        ("gone/JoinGroup/Stable/unknown-instance", "static/classic/unknown-instance-with-id", Verdict.FAILED),
    ],
)
def test_an_unknown_instance_is_a_must_of_join_group_and_advice_elsewhere(bug: str, case: str, verdict: Verdict) -> None:
    assert judgements(bug, [BY_ID[case]])[case].verdict is verdict


def test_a_row_for_one_version_is_of_the_releases_that_have_the_version() -> None:
    """An instance that returns by JoinGroup v9 skips the assignment (KIP-814): what 3.0 answers to older versions is no answer to it."""
    case = "static/classic/leader-restarts-v9"

    judgement = judgements("gone/JoinGroup/Stable/instance-returns-skipping", [BY_ID[case]])[case]

    assert beside_ok(judgement) == [("TR-115", Verdict.NON_STRICT)]
    assert [finding.observed for finding in judgement.findings if finding.observed.endswith(" does.")] == []


@pytest.mark.parametrize("case", ["heartbeat/classic/refused-keeps-nothing", "heartbeat/classic/refused-commit-keeps-nothing"])
def test_a_refused_request_that_keeps_a_session_leaves_a_ghost_at_worst(case: str) -> None:
    assert beside_ok(judged(variant_named("refusals-keep-sessions"), case, "kafka-4.1")) == [("HB-13", Verdict.NON_STRICT)]


def test_a_valid_commit_that_keeps_no_session_fails() -> None:
    case = "heartbeat/classic/commit-keeps-the-session"

    assert judgements("without/OffsetCommit/Stable/commits/refresh-session", [BY_ID[case]])[case].verdict is Verdict.FAILED


@pytest.mark.parametrize("bug", ["session-never-ends", "session-ends-late"])
def test_a_session_of_another_length_than_that_of_any_release_fails(bug: str) -> None:
    case = "heartbeat/classic/session-ends"

    assert judgements(bug, [BY_ID[case]], profile="kafka-2.4")[case].verdict is Verdict.FAILED


def test_a_row_that_no_release_has_fails() -> None:
    assert judged(NO_RELEASE, SYNCING, "kafka-4.1").verdict is Verdict.FAILED


def test_open_fields_are_fields_of_the_newest_release_and_open_by_their_requirements() -> None:
    assert OPEN_RELEASE_FIELDS.keys() <= profile("kafka-4.4").tables["consumer"].fields.keys()
    assert {by_id(requirement).level for requirement in OPEN_RELEASE_FIELDS.values()} == {Level.INFO}


@pytest.mark.parametrize(
    ("case", "release", "requirement"),
    [
        ("classic-group/consumer/no-generation-and-no-topic", "kafka-4.4", "CGG-11"),
        # A target without the bug is one of the broker's own choices, which the oracle tries before other releases.
        ("assign/consumer/newcomer-without-topics-comes-first", "kafka-4.4", "CGA-12"),
        ("assign/consumer/newcomer-without-topics-comes-later", "kafka-4.1", "CGA-12"),
        # Kafka to 4.2 answers -1 to the leave, and keeps the group where a timer ends the last consumer.
        ("reconciling/consumer/without-a-target-last-consumer-leaves", "kafka-4.2", "CGG-52"),
        ("stable/consumer/without-a-target-last-consumer-is-removed", "kafka-4.0", "CGG-52"),
        ("stable/consumer/without-a-target-last-consumer-falls-silent", "kafka-4.2", "CGG-52"),
        ("reconciling/consumer/without-a-target-time-to-rejoin-ends-a-consumer", "kafka-4.1", "CGG-52"),
        ("stable/consumer/without-a-target-joins-by-its-own-id", "kafka-4.2", "CGG-52"),
    ],
)
def test_a_coordinator_without_a_bug_of_its_release_is_right(case: str, release: str, requirement: str) -> None:
    judgement = judgements("mended", [BY_ID[case]], profile=release)[case]

    assert beside_ok(judgement) == [(requirement, Verdict.INFORMATIONAL)]
    names_a_release = any(finding.observed.endswith("As a release without the bug does.") for finding in judgement.findings)
    assert names_a_release is (requirement != "CGA-12")


def test_a_downgrade_that_is_refused_with_another_code_is_not_the_mended_one() -> None:
    case = "stable/consumer/without-a-target-last-consumer-leaves"

    judgement = judgements("code/ConsumerGroupHeartbeat/consumer.Stable/target-missing", [BY_ID[case]], profile="kafka-4.2")[case]

    assert beside_ok(judgement) == [("CGG-52", Verdict.FAILED)]


def test_what_came_with_2_4_or_before_is_no_option_of_a_later_coordinator() -> None:
    assert judgements("one-more-than-max-size", [BY_ID["size/classic/full-direct"]])["size/classic/full-direct"].verdict is Verdict.FAILED


PLANTED = [
    ("gone/Heartbeat/PreparingRebalance/rebalancing", "heartbeat/classic/preparing"),
    ("gone/InitialDelayEnd/PreparingRebalance/only-absent-static", "classic-group/consumer/initial-delay-ends-without-joins"),
]
"""Bugs of both dialects, and a case that fails on each."""


def judged_by(trace: Trace, case: str, monkeypatch: pytest.MonkeyPatch, tells_apart: Callable[[RulesRead, str], bool]) -> tuple[Judgement, int]:
    """Return the judgement, and how many replays by other rules it took."""
    tried = 0

    def counting(self: RulesRead, other: str) -> bool:
        nonlocal tried
        answer = tells_apart(self, other)
        tried += answer
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(RulesRead, "tells_apart", counting)
        if tells_apart is always:
            patched.setattr(RulesRead, "reads_field", always)
        return judge_script_run(BY_ID[case], trace), tried


def always(*_: object) -> bool:
    return True


@pytest.mark.parametrize(("bug", "case"), PLANTED)
def test_a_verdict_is_the_same_as_if_all_rules_had_been_tried(bug: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = played(bug, [BY_ID[case]])[case].trace
    judgement, tried = judged_by(trace, case, monkeypatch, RulesRead.tells_apart)
    by_all, all_tried = judged_by(trace, case, monkeypatch, always)

    assert judgement == by_all
    assert judgement.verdict in (Verdict.FAILED, Verdict.NON_STRICT)
    assert tried < all_tried


def test_where_the_own_rules_go_on_by_themselves_nothing_is_known_of_others() -> None:
    def goes_on(_: str) -> ReplayResult:
        return ReplayResult(steps=(), forks=(), transitions=(), names={})

    other = mixed("kafka-4.4", "first_group_epoch", "kafka-4.1")

    assert not RulesRead("kafka-4.4", lambda _: None).tells_apart(other)
    assert RulesRead("kafka-4.4", goes_on).tells_apart(other)
    assert RulesRead("kafka-4.4", goes_on).reads_field("first_group_epoch")
