"""What coordinators of every release and clients give as their reason is understood; what is not known is not guessed."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.provocations import EXPECTED
from tests.harness.judging.diagnosis.recordings import recorded

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.reasons import Reason, cause_of_client_reason, own_words, reason_of
from groupproof.protocol.rules import rows
from groupproof.protocol.vocabulary import GroupState

ID = "m0-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11"


@pytest.mark.parametrize(
    ("text", "cause", "member"),
    [
        (f"Adding new member {ID}", Cause.NEW_MEMBER, ID),
        (f"Adding new member {ID} with group instanceid None", Cause.NEW_MEMBER, ID),
        (f"Adding new static member {ID} with instance id a", Cause.NEW_MEMBER, ID),
        (f"removing member {ID} on LeaveGroup", Cause.LEFT, ID),
        ("removing member  on LeaveGroup", Cause.LEFT, None),
        (f"explicit `LeaveGroup` request for ({ID}, other-1) members.", Cause.LEFT, ID),
        ("explicit `LeaveGroup` request for () members.", Cause.LEFT, None),
        (f"removing member {ID} on heartbeat expiration.", Cause.HEARTBEAT_TIMEOUT, ID),
        (f"removing member on heartbeat expiration {ID}", Cause.HEARTBEAT_TIMEOUT, ID),
        (f"Removing Set({ID}) on pending sync request expiration", Cause.SYNC_TIMEOUT, ID),
        (f"Removing [{ID}] on pending sync request expiration", Cause.SYNC_TIMEOUT, ID),
        (
            f"Group's selectedProtocol will change because static member {ID} with instance id a joined with change of protocol",
            Cause.STATIC_REPLACED,
            ID,
        ),
        (f"leader {ID} re-joining group during Stable", Cause.LEADER_REJOINED, ID),
        (f"leader rejoined {ID}", Cause.LEADER_REJOINED, ID),
        (f"Updating metadata for member {ID}", Cause.METADATA, ID),
        (f"Updating metadata for member {ID} during Stable", Cause.METADATA, ID),
        (
            "Freshly-loaded group g (size 3) is over capacity 2. Rebalacing in order to give a chance for consumers to commit offsets",
            Cause.OVER_CAPACITY,
            None,
        ),
        (f"error when storing group assignment during SyncGroup (member: {ID})", Cause.NOT_STORED, None),
    ],
)
def test_a_coordinator_s_reason_names_cause_and_member(text: str, cause: Cause, member: str | None) -> None:
    assert reason_of(text) == Reason(cause=cause, member=member)


def test_a_reason_that_is_not_known_is_not_guessed() -> None:
    assert reason_of("the moon is full") is None
    assert reason_of("") is None


@pytest.mark.parametrize("release", ["2.4.1", "2.8.2", "3.9.1", "4.1.0"])
def test_every_reason_in_a_real_log_is_understood(release: str) -> None:
    reasons = [obs.detail for obs in recorded(release, "info") if obs.kind == "transition" and obs.state_after == "PreparingRebalance"]

    assert len(reasons) >= 2 * (len(EXPECTED) - 1)
    assert [text for text in reasons if text is None or reason_of(text) is None] == []


@pytest.mark.parametrize("release", ["kafka-1.1", "kafka-2.4", "kafka-4.1"])
def test_every_reason_of_the_kit_s_own_tables_is_understood(release: str) -> None:
    starting = {f"{row.because or row.name.replace('-', ' ')} {ID}" for _, _, row in rows(release) if row.then is GroupState.PREPARING_REBALANCE}

    assert len(starting) > 3
    assert {text for text in starting if reason_of(text) is None} == set()


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("consumer poll timeout has expired.", Cause.POLL_INTERVAL), ("the consumer is being closed", Cause.CLOSED),
        ("the consumer unsubscribed from all topics", Cause.CLOSED), ("member was removed by an admin: stuck", Cause.ADMIN_REMOVAL),
        ("need to revoke partitions and re-join", Cause.HANDOVER), ("cached metadata has changed from (version1: {t=3}) to (version2: {t=10})", Cause.PARTITIONS),
        ("the subscription has changed", Cause.SUBSCRIPTION), ("group is already rebalancing", None), (None, None),
    ],
)  # fmt: skip
def test_what_a_client_says_of_itself_tells_the_finer_cause(reason: str | None, cause: Cause | None) -> None:
    assert cause_of_client_reason(reason) is cause


def test_what_says_nothing_is_not_repeated() -> None:
    assert own_words("not provided") is None
    assert own_words(f"need to re-join with the given member-id: {ID}") is None
    assert reason_of(
        f"Adding new member {ID} with group instance id null; client reason: rebalance failed due to UnknownMemberIdException."
    ) == Reason(cause=Cause.NEW_MEMBER, member=ID, client="rebalance failed due to UnknownMemberIdException")
