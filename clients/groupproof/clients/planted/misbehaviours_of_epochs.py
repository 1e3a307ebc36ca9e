"""Planted bugs of a member of the `consumer` protocol (KIP-848): a replaced row of its table, or a forbidden choice."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.rules.classic.member_reactions import Effect, Lapse, Phase
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api

__all__ = ["EPOCH_BUGS"]

BEAT, COMMIT, FETCH = Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH
REDISCOVER, BACK_OFF, SAY_ALL, RAISE, IGNORE = Effect.REDISCOVER, Effect.BACK_OFF, Effect.SAY_ALL, Effect.RAISE, Effect.IGNORE
_STATIC: Final = {"instance_id": "i0"}
FATAL: Final = (-1, 29, 30, 42, 69, 81, 82, 111, 112, 113, 128, 999)
_ALIVE: Final = (Phase.CURRENT, Phase.JOINING)


def _bug(name: str, says: str, breaks: str, *overrides: Override, settings: dict[str, Any] | None = None, text: str = "",
         shared: dict[str, Any] | None = None, **choices: Any) -> Variant:  # fmt: skip
    policy = Policy(epochs=EpochPolicy(**choices), overrides=overrides, **(shared or {}))
    return Variant(name=f"epoch-{name}", says=says, policy=policy, breaks=tuple(breaks.split()), settings=settings or {}, source=text)


def _reaction(name: str, says: str, breaks: str, api: Api, *answers: int | Lapse, do: tuple[Effect, ...]) -> Variant:
    policy = Policy(overrides=(Override(api=api, answers=answers, effects=do, phases=_ALIVE),))
    return Variant(name=f"epoch-{name}", says=says, policy=policy, breaks=tuple(breaks.split()))


EPOCH_BUGS: Final = (
    # Fields of a heartbeat
    _bug("joins-without-timeout", "Sends no rebalance timeout when it joins.", "CGC-07", timeout="none"),
    _bug("joins-with-a-tiny-timeout", "Sends a rebalance timeout of a millisecond.", "CGC-08", timeout="tiny"),
    _bug("joins-with-null-partitions", "Sends null for the owned partitions when it joins.", "CGC-07", join_owned="null"),
    _bug("joins-with-its-old-epoch", "Goes on with the epoch that it had once it was fenced.", "CGT-18 CGI-18", join_epoch="kept"),
    _bug("new-id-with-each-join", "Takes a new member id when it joins again.", "CGC-06", member_id="renewed"),
    _bug("new-id-with-each-try", "Takes a new member id with each try to join.", "CGC-06", member_id="retried"),
    _bug("no-id", "Leaves its member id to the broker whatever the version.", "CGC-04", member_id="empty"),
    _bug("sends-first-epoch", "Sends its first epoch in every heartbeat.", "CGI-18", epoch="first"),
    _bug("sends-next-epoch", "Sends an epoch that is one more than the answer's.", "CGI-18", epoch="ahead"),
    _bug("never-says-names", "Leaves its subscription out.", "CGC-07", names="never"),
    _bug("never-says-new-names", "Sends its subscription only with the first heartbeat.", "CGC-11 CGC-30", names="first"),
    _bug("regex-beside-names", "Sends a regular expression of its own beside the names.", "CGC-13", regex="matched-here"),
    _bug("forgets-its-assignor", "Leaves group.remote.assignor out.", "CGC-10", assignor="never"),
    _bug("never-reports-what-it-owns", "Reports no owned partitions after the join.", "CGC-16 CGT-07", owned="never"),
    _bug("reports-its-target", "Reports as owned what it was assigned, whatever it holds yet.", "CGI-19 CGT-06", owned="target"),
    _bug("no-instance-id", "Never sends its instance id.", "CGC-02", settings=_STATIC, instance_id="never"),
    _bug("wrong-instance-id", "Sends another instance id once it has joined.", "CGC-02", settings=_STATIC, instance_id="wrong"),
    _bug("leaves-without-instance-id", "Sends its instance id only in the join.", "CGV-06 CGC-02", settings=_STATIC, instance_id="join-alone"),
    _bug("says-once", "Never repeats the fields of a refused heartbeat.", "CGC-18",
         Override(api=BEAT, answers=tuple(sorted(COORDINATOR_UNAVAILABLE)), effects=(REDISCOVER,), phases=_ALIVE), fields_confirmed="sent"),
    # Time of sending
    _bug("keeps-the-first-interval", "Never takes a changed interval over.", "CGC-25", interval="first"),
    _bug("interval-of-its-own", "Heartbeats at an interval of its own.", "CGC-24", interval="own"),
    _bug("heartbeats-in-a-storm", "Sends twenty heartbeats where one is due.", "CGC-24", interval_factor=0.05),
    _bug("heartbeats-too-slowly", "Lets ten intervals pass between heartbeats.", "CGC-24 CGC-28", interval_factor=10.0),
    _bug("never-acknowledges", "Acknowledges with no heartbeat of its own, nor later.", "CGT-07", owned="never", acknowledges="never"),
    _bug("two-in-flight", "Sends a heartbeat while one is unanswered.", "CGC-27 CGI-17", beats_in_flight=2, interval_factor=0.005),
    _bug("heartbeats-after-a-fatal-error", "Goes on with heartbeats after a fatal error.", "CGT-32", beats_after_failure=True),
    _bug("ignores-max-poll-interval", "Stays a member although the application has stopped polling.", "CGV-16", poll_end="never"),
    # Reconciliation
    _bug("assigns-before-it-revokes", "Takes new partitions before it gives the old ones up.", "CGT-08", order="assigns-first"),
    _bug("revokes-everything", "Gives everything up at each change.", "CGT-14", revokes="everything"),
    _bug("never-revokes", "Lets partitions go without telling the application.", "CGT-06", revokes="never"),
    _bug("names-all-as-new", "Names all that it holds in the assigned-callback.", "CGT-09", assigned_callback="all"),
    _bug("never-tells-assigned", "Takes partitions without telling the application.", "CGT-09", assigned_callback="never"),
    _bug("reads-null-as-empty", "Takes an absent assignment for an empty one.", "CGT-02", absent_assignment="empty"),
    _bug("reads-empty-as-null", "Takes an empty assignment for an absent one.", "CGT-02", empty_assignment="unchanged"),
    _bug("reads-a-difference", "Adds what an answer assigns to what it has.", "CGT-03", takes="difference"),
    _bug("takes-everything", "Takes every partition of its topics.", "CGT-03 CGI-19", takes="everything"),
    _bug("drops-unknown-ids", "Forgets assigned topic ids that it has no name for.", "CGT-17", unresolved="drops"),
    _bug("waits-with-everything", "Takes nothing while one topic id has no name.", "CGT-17", unresolved="blocks"),
    _bug("forgets-what-comes-meanwhile", "Forgets an assignment that comes while another is reconciled.", "CGT-15", assignment_meanwhile="forgotten"),
    _bug("no-commit-before-revocation", "Gives partitions up without the auto-commit.", "CGT-05", commits_before_revoke="none"),
    _bug("reads-while-it-revokes", "Reads on from partitions that it gives up.", "CGT-04 CGP-13", reads_while_revoking=True),
    # The end of a membership
    _bug("revokes-what-is-lost", "Calls revoked where everything is lost.", "CGT-18 CGV-20", lost_callback="revoked"),
    _bug("never-tells-lost", "Loses its partitions without telling the application.", "CGT-18 CGT-31", lost_callback="none"),
    _bug("keeps-what-was-lost", "Keeps reading its partitions after it was fenced.", "CGT-18", keeps_what_was_lost=True),
    _bug("never-joins-again", "Stays out once it was fenced.", "CGT-18", joins_again=False),
    _bug("dynamic-leaves-for-now", "Leaves with -2 although it is no static member.", "CGV-01", leave_epoch="always-2"),
    _bug("static-leaves-for-good", "Leaves with -1 although it is a static member.", "CGV-02", settings=_STATIC, leave_epoch="always-1"),
    _bug("leaves-with-its-epoch", "Sends its epoch in the leave.", "CGV-01", leave_epoch="current"),
    _bug("leaves-with-zero", "Sends epoch 0 in the leave.", "CGV-01", leave_epoch="zero"),
    _bug("no-leave", "Closes without a leave.", "CGV-01", leaves="never"),
    _bug("leaves-twice", "Sends its leave twice.", "CGV-12 CGV-11", leaves="twice"),
    _bug("leaves-before-it-revokes", "Leaves before the revoked-callback has run.", "CGV-08", leaves="before-callback"),
    _bug("leaves-before-it-revokes-to-unsubscribe", "Unsubscribes by a leave, and then runs the revoked-callback.", "CGV-08",
         leaves="unsubscribed-before-callback"),
    _bug("close-without-time-is-cut", "Ends without a leave if its close has a timeout.", "CGV-01", short_close_is_cut=True, text="KAFKA-17518"),
    # Commits
    _bug("commits-with-first-epoch", "Commits with its first epoch.", "CGP-01 CGP-04", commit_epoch="first"),
    _bug("commits-with-previous-epoch", "Commits with the epoch before the newest.", "CGP-01 CGP-04", commit_epoch="previous"),
    _bug("forgets-an-overdue-fetch", "Asks no more for committed offsets that did not come in time.", "CGP-11 CGP-10", overdue_fetch="forgotten", text="franz-go 8038d16d"),
    _bug("joins-after-a-refused-commit", "Joins again as a new member when a commit is refused because its member or its group is unknown.", "CGP-07", refused_commit="joins-anew"),
    _bug("leaves-on-a-refused-commit", "Leaves for good when a commit is refused.", "CGP-07", refused_commit="leaves"),
    _bug("commits-as-nobody", "Commits as if it were no member.", "CGP-01", commit_epoch="none"),
    # Records, fetches and commits, by choices that a classic member has too
    _bug("reads-what-was-revoked", "Delivers records of partitions that it gave up.", "CGP-13", shared={"delivers_revoked": True}),
    _bug("reads-what-it-was-never-assigned", "Delivers the records of every partition of its topics.", "CGT-03", shared={"reads": "everything"}),
    _bug("fetches-what-it-was-never-assigned", "Fetches every partition of its topics, and delivers the records of its own.", "CGT-03",
         shared={"reads": "everything-unsaid"}),
    _bug("tells-records-of-others", "Tells of records of a partition that it neither was assigned nor fetched.", "CGT-03",
         shared={"tells_records": "of-everybody"}),
    _bug("tells-more-than-it-was-assigned", "Names a partition in the assigned-callback that nobody owns.", "CGT-03", shared={"tells_assigned": "more"}),
    _bug("commits-what-it-gave-away", "Commits positions of partitions that it owns no more.", "COMMIT-27", shared={"commits_unowned": True}),
    _bug("commits-what-it-never-delivered", "Commits one record more than it delivered.", "CLIENT-62", shared={"commit_shift": 1}),
    _bug("tells-commits-when-sent", "Reports success of a commit before it is answered.", "CLIENT-69", shared={"commit_reported": "sent"}),
    _bug("swallows-commit-errors", "Reports success of every synchronous commit.", "CLIENT-69", shared={"swallows_commit_errors": "sync"}),
    _bug("retries-without-a-pause", "Waits for nothing before it tries again.", "CLIENT-75 CGT-23", shared={"retry_factor": 0.0}),
    # Reactions
    _reaction("ignores-110", "Goes on with its epoch after FENCED_MEMBER_EPOCH.", "CGT-18", BEAT, 110, do=(IGNORE,)),
    _reaction("ignores-25", "Goes on as a member that the coordinator does not know.", "CGT-19", BEAT, 25, do=(IGNORE,)),
    _reaction("dies-on-110", "Takes FENCED_MEMBER_EPOCH for a fatal error.", "CGT-18", BEAT, 110, do=(RAISE,)),
    _reaction("dies-on-25", "Takes UNKNOWN_MEMBER_ID for a fatal error.", "CGT-19", BEAT, 25, do=(RAISE,)),
    _reaction("dies-on-14", "Takes COORDINATOR_LOAD_IN_PROGRESS for a fatal error.", "CGT-23", BEAT, 14, do=(RAISE,)),
    _reaction("loses-on-16", "Drops its partitions when the coordinator moves.", "CGT-22", BEAT, 15, 16, do=(REDISCOVER, Effect.LOSE, Effect.REJOIN)),
    _reaction("loses-on-a-disconnect", "Drops its partitions when a connection ends.", "CGT-24", BEAT, Lapse.DISCONNECTED,
              do=(REDISCOVER, Effect.LOSE, Effect.REJOIN)),
    _reaction("dies-on-29", "Takes TOPIC_AUTHORIZATION_FAILED for a fatal error.", "CGT-28", BEAT, 29, do=(RAISE,)),
    _reaction("retries-fatal-errors", "Heartbeats on after GROUP_AUTHORIZATION_FAILED.", "CGT-25 CGT-32", BEAT, 30, do=(BACK_OFF, SAY_ALL)),
    _reaction("falls-silent-on-fatal-errors", "Ends at an error that no retry can fix, and reports nothing.", "CGT-25 CGT-26 CGT-30", BEAT,
              *FATAL, do=(Effect.HALT,)),
    _reaction("leaves-stale-commit-undone", "Gives its partitions up although their commit was stale.", "CGP-05 CGT-05", COMMIT, 113, do=(Effect.FAIL,)),
)  # fmt: skip
