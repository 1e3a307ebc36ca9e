"""Planted bugs that are wrong choices: each sets a field of the policy to a value that no client may use."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api

__all__ = ["CHOICES"]


def _bug(name: str, says: str, breaks: str, *, text: str = "", settings: dict[str, Any] | None = None, **choices: Any) -> Variant:
    return Variant(name=name, says=says, policy=Policy(**choices), breaks=tuple(breaks.split()), source=text, settings=settings or {})


_COOPERATIVE: Final = {"assignors": [COOPERATIVE_STICKY]}
_BOTH: Final = {"assignors": [COOPERATIVE_STICKY, "range"]}
_STATIC: Final = {"instance_id": "i0"}
_AUTO_COMMIT: Final = {"auto_commit": True}

CHOICES: Final = (
    # Discovery
    _bug("never-looks-up", "Sends group requests to any broker, without asking which one coordinates.", "CLIENT-01", looks_up=False),
    _bug("looks-up-another-group", "Asks for the coordinator of another group than its own.", "FIND-01 CLIENT-01", looks_up_own_group=False),
    _bug("looks-up-twice-at-once", "Sends two lookups side by side.", "CLIENT-02", lookups_at_once=2),
    _bug("retries-in-a-storm", "Looks up, joins and heartbeats again without a pause after each failure.", "CLIENT-06 CLIENT-15", retry_factor=0.02),
    # Joining
    _bug("joins-with-empty-id", "Always joins with the empty member id.", "CLIENT-10", joins_with_id=False),
    _bug("joins-twice-at-once", "Sends two JoinGroups side by side.", "CLIENT-11", joins_at_once=2),
    _bug("gives-up-parked-join", "Times a parked JoinGroup out long before the rebalance timeout, and joins again.", "CLIENT-22",
         join_timeout_factor=0.02),
    _bug("rebalance-timeout-of-session", "Sends its session timeout as its rebalance timeout.", "CLIENT-23", rebalance_timeout="session"),
    _bug("wrong-protocol-type", "Joins with a protocol type of its own.", "CLIENT-11", protocol_type="consumers"),
    _bug("subscribes-to-first-topic", "Names only the first of its topics in its subscription.", "ASSIGN-10 CLIENT-74", topics_listed="first"),
    _bug("ends-its-assignments-early", "Sends assignments as leader that end before their user data.", "CLIENT-12",
         ends_assignment_early=True, text="pykafka 2.8.0"),
    _bug("ends-its-subscription-early", "Says version 1 in its subscription and sends the bytes of version 0.", "ASSIGN-13",
         subscription_version=1, ends_subscription_early=True, text="kafka-go 0.4.51, platformatic <= 2.11"),
    _bug("rejoins-on-every-metadata", "Starts a rebalance at each refresh of the metadata.", "CLIENT-74", rejoins_on_any_metadata=True),
    _bug("rejoins-after-each-commit", "Starts a rebalance after each commit.", "CLIENT-65 COMMIT-30", rejoins_after_commit=True),
    _bug("ignores-growth", "As leader, never notices that a topic got partitions.", "CLIENT-74", rejoins_on_growth=False),
    _bug("ignores-resubscription", "Keeps its place when its subscription changed.", "CLIENT-74", rejoins_on_resubscribe=False),
    _bug("drops-instance-id-on-rejoin", "Sends its group.instance.id in its first JoinGroup only.", "STATIC-10 STATIC-01",
         instance_id="first-join", settings=_STATIC),
    _bug("wrong-instance-id", "Changes its group.instance.id once it is a member.", "STATIC-10 STATIC-11", instance_id="wrong", settings=_STATIC),
    _bug("forgets-its-instance-id", "Joins as a dynamic member although it was given a group.instance.id.", "STATIC-01 STATIC-10",
         instance_id="never", settings=_STATIC),
    _bug("drops-the-id-of-an-outdated-join", "Drops the id that it was handed when its subscription has changed meanwhile, and is handed another.",
         "CLIENT-18", keeps_outdated_id=False, text="librdkafka since 1.3"),
    _bug("joins-with-its-first-subscription", "Joins again with the subscription of its first JoinGroup, whatever it is subscribed to by then.", "CLIENT-74",
         rejoins_with="first"),
    # Syncing and leading
    _bug("never-syncs", "Sends no SyncGroup after its JoinGroup was answered.", "CLIENT-11 CLIENT-36", syncs=False),
    _bug("syncs-with-previous-generation", "Sends SyncGroup with the generation before the one it joined.", "CLIENT-11", sync_generation="previous"),
    _bug("syncs-with-preferred-protocol", "Names the assignor it likes best in SyncGroup, whatever the group agreed on.", "ASSIGN-01 CLIENT-11",
         sync_protocol="preferred"),
    _bug("follower-assigns", "Sends an assignment although it is not the leader.", "CLIENT-12", follower_assigns=True),
    _bug("leader-omits-members-without-partitions", "As leader, leaves out members that got no partition.", "CLIENT-12 ASSIGN-10",
         leader_assigns="only-with-partitions", text="sarama <= 1.34.1"),
    _bug("leader-omits-a-partition", "As leader, assigns one partition to nobody.", "ASSIGN-09", leader_assigns="drops-partition"),
    _bug("leader-assigns-twice", "As leader, assigns every partition to every member.", "ASSIGN-09", leader_assigns="twice"),
    _bug("leader-assigns-to-itself-only", "As leader, assigns only to itself.", "CLIENT-12", leader_assigns="itself-only"),
    _bug("leader-repeats-last-assignment", "As leader, repeats its last assignment, whoever has left.", "ASSIGN-10 ASSIGN-11", leader_assigns="previous"),
    _bug("leader-keeps-everything", "As leader, assigns everything to itself, and has no entry for anybody else.", "CLIENT-12",
         leader_assigns="itself-everything"),
    _bug("leader-cannot-read-newer-subscriptions", "As leader, joins again and again where a member's subscription is newer than version 0.",
         "CLIENT-36 ASSIGN-10", subscriptions_unread="newer", subscription_version=0, text="sarama <= 1.38.1, kafka-go"),
    _bug("leader-cannot-read-later-subscriptions", "As leader, joins again and again where a member's subscription is of a version it does not know.",
         "CLIENT-36 ASSIGN-10", subscriptions_unread="later"),
    _bug("leader-cannot-read-user-data", "As leader, joins again and again where a member's subscription carries user data.", "CLIENT-36 ASSIGN-10",
         subscriptions_unread="user-data"),
    _bug("cooperative-leader-hands-over-at-once", "As cooperative leader, gives a partition to its next owner while the last one still holds it.",
         "ASSIGN-09", leader_assigns="at-once", settings=_COOPERATIVE),
    _bug("takes-everything", "Reads every partition of its topics, whatever it was assigned.", "INV-09 CLIENT-30", takes="everything"),
    _bug("reads-everything-unsaid", "Fetches every partition of its topics, and reports only the assigned ones to its application.", "ASSIGN-09 CLIENT-63",
         reads="everything-unsaid"),
    _bug("reads-what-it-was-never-assigned", "Delivers the records of every partition of its topics.", "CLIENT-63", reads="everything"),
    _bug("tells-partitions-of-nobody", "Names a partition among those assigned that no SyncGroup answer gave it.", "CLIENT-30", tells_assigned="more"),
    _bug("tells-records-of-others", "Tells of records of a partition that it neither was assigned nor fetched.", "CLIENT-63", tells_records="of-everybody"),
    _bug("hides-what-it-reads-again", "Handles a failed OffsetFetch as one without committed offsets, and reports no record before the committed offset.",
         "CLIENT-79", overrides=(Override(api=Api.OFFSET_FETCH, effects=(Effect.ACCEPT,)),), tells_records_from=10, text="aiokafka 0.13"),
    _bug("dies-on-empty-assignment", "Takes an assignment without partitions for a fatal error.", "CLIENT-81", empty_assignment="refused"),
    _bug("rejoins-on-empty-assignment", "Joins again for as long as it gets no partition.", "CLIENT-81", empty_assignment="rejoined"),
    # Hand-over
    _bug("never-revokes", "Lets go of its partitions without telling the application.", "CLIENT-62", revokes="never"),
    _bug("revokes-twice", "Calls the application's revoked twice in one rebalance.", "CLIENT-62", revokes="twice"),
    _bug("revokes-after-join", "Keeps its partitions, and reads on, until the new assignment comes.", "CLIENT-62 CLIENT-63", revokes="after-join"),
    _bug("never-tells-assigned", "Takes its partitions without telling the application.", "CLIENT-30", calls_assigned=False),
    _bug("reads-while-joining", "Delivers records of partitions that it gave back for the rebalance.", "CLIENT-63", delivers_while_joining=True),
    _bug("reads-what-was-revoked", "Delivers records of partitions that belong to another.", "CLIENT-63", delivers_revoked=True),
    _bug("cooperative-revokes-everything", "Gives everything back in a cooperative rebalance.", "CLIENT-62",
         cooperative_revokes="everything", settings=_COOPERATIVE),
    _bug("cooperative-keeps-what-went", "Goes on owning what the assignment took away.", "CLIENT-63", cooperative_revokes="nothing", settings=_COOPERATIVE),
    _bug("cooperative-never-rejoins", "Gives partitions back and does not join again, so that nobody gets them.", "CLIENT-74",
         cooperative_rejoins=False, settings=_COOPERATIVE),
    _bug("forgets-owned-partitions", "Claims to own nothing in its subscription.", "CLIENT-62", owned_in_subscription=False, settings=_COOPERATIVE),
    _bug("cooperative-among-eager-members", "Keeps its partitions through the rebalance of a group that agreed on an eager assignor.",
         "CLIENT-62 ASSIGN-01", cooperative_where="any-listed", settings=_BOTH),
    _bug("loses-its-partitions-in-the-upgrade", "Revokes everything as an eager member and takes the assignment as a cooperative one.",
         "CLIENT-30", cooperative_where="muddled", settings=_BOTH, text="franz-go <= 1.16.1"),
    # Heartbeats and deadlines
    _bug("never-heartbeats", "Sends no heartbeat at all.", "CLIENT-40 CLIENT-41", heartbeats="never"),
    _bug("heartbeats-from-poll", "Sends heartbeats only while the application polls.", "CLIENT-40", heartbeats="polled"),
    _bug("no-heartbeats-without-partitions", "Stops heartbeating while it owns nothing.", "CLIENT-40 CLIENT-41", heartbeats="owning"),
    _bug("heartbeats-stop-after-a-late-answer", "Sends no further Heartbeat once one was answered later than the next was due.",
         "CLIENT-40 CLIENT-45", heartbeats="until-late"),
    _bug("heartbeats-need-a-prompt-assignment", "Sends no heartbeat where its assignment came after the poll that asked for it.", "CLIENT-40 CLIENT-30",
         heartbeats="prompt", text="kafka-python 2.2"),
    _bug("heartbeats-in-a-storm", "Sends a hundred heartbeats where one is due.", "CLIENT-41", heartbeat_factor=0.01),
    _bug("heartbeats-too-slowly", "Lets more than its session timeout pass between heartbeats.", "CLIENT-41 CLIENT-42", heartbeat_factor=25.0),
    _bug("heartbeats-with-first-generation", "Sends its first generation in every heartbeat.", "CLIENT-46 CLIENT-11", heartbeat_generation="first"),
    _bug("heartbeats-on-without-membership", "Goes on heartbeating with no generation once it has given its own up, where one may have been on its way.",
         "CLIENT-11", heartbeats_between=3, text="krafka"),
    _bug("ignores-max-poll-interval", "Stays a member although the application has stopped polling.", "CLIENT-52", poll_deadline_factor=None),
    _bug("leaves-early-without-polls", "Leaves after a tenth of max.poll.interval.ms without a poll.", "CLIENT-52", poll_deadline_factor=0.1),
    _bug("no-leave-without-polls", "Stops taking part without polls, but does not leave.", "CLIENT-52", poll_end_leaves=False),
    # Commits and positions
    _bug("commits-with-previous-generation", "Commits under the generation before the current one.", "CLIENT-66", commit_generation="previous"),
    _bug("commits-without-membership", "Commits as if it were no member.", "CLIENT-66", commit_generation="none"),
    _bug("commits-while-joining", "Sends commits while it is not STABLE.", "CLIENT-70", commits_when_unstable=True),
    _bug("commits-what-it-gave-away", "Commits positions of partitions that it no longer owns.", "COMMIT-27", commits_unowned=True),
    _bug("commits-one-too-many", "Commits one record more than the application got.", "CLIENT-66", commit_shift=1),
    _bug("commits-backwards", "Commits one record less every other time.", "CLIENT-62", commit_wavers=True),
    _bug("looks-up-as-a-member-only", "Looks for no coordinator once it has left the group, whatever it commits.", "CLIENT-69 CLIENT-04",
         looks_up_outside_groups=False, text="java 2.4 to 3.0 (KAFKA-13563)"),
    _bug("swallows-async-commit-errors", "Reports success of every asynchronous commit.", "CLIENT-69 CLIENT-68", swallows_commit_errors="async"),
    _bug("swallows-sync-commit-errors", "Reports success of every synchronous commit.", "CLIENT-69 CLIENT-68", swallows_commit_errors="sync"),
    _bug("tells-commits-when-sent", "Reports success of a commit before it is answered.", "CLIENT-69", commit_reported="sent"),
    _bug("takes-refused-commit-for-done-of-nothing", "Reports success of a commit whatever it is answered, and leaves out of which offsets.", "CLIENT-69",
         overrides=(Override(api=Api.OFFSET_COMMIT, effects=(Effect.ACCEPT,)),), tells_offsets_committed=False),
    _bug("ignores-committed-offsets", "Starts where auto.offset.reset says, whatever is committed.", "CLIENT-79 FETCH-06", fetches_offsets=False),
    # The clean close
    _bug("no-leave-on-close", "Closes without LeaveGroup.", "CLIENT-73 STATIC-15", leaves=0, text="kafka-go 0.2.2"),
    _bug("pretends-to-leave", "Reports that it closed or unsubscribed, and stays a member.", "CLIENT-73 CLIENT-20 CLIENT-71", goodbye="pretended"),
    _bug("leaves-without-its-id", "Sends LeaveGroup with the empty member id.", "CLIENT-73 CLIENT-72", leaves_by_id=False, text="franz-go <= 1.17.0"),
    _bug("leaves-twice", "Sends LeaveGroup twice.", "CLIENT-71 CLIENT-80", leaves=2),
    _bug("static-leaves-on-close", "Leaves on close although it is a static member.", "STATIC-15", leaves_when_static=True, settings=_STATIC),
    _bug("heartbeats-after-leave", "Sends a heartbeat after its LeaveGroup.", "LEAVE-55", heartbeats_after_leave=True),
    _bug("no-commit-on-close", "Closes without the auto-commit of what was read.", "CLIENT-73", commits_on_close=False, settings=_AUTO_COMMIT),
)  # fmt: skip
