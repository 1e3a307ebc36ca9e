"""Planted bugs that are wrong reactions: each replaces a row of the member's table."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.policy import UNHEARD_OF, Override, Policy
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Lapse, Phase
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api

__all__ = ["REACTIONS"]

JOIN, SYNC, HEARTBEAT, COMMIT = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT
FETCH, FIND = Api.OFFSET_FETCH, Api.FIND_COORDINATOR

ACCEPT, RENEW_SESSION, REDISCOVER, REJOIN = Effect.ACCEPT, Effect.RENEW_SESSION, Effect.REDISCOVER, Effect.REJOIN
DROP_GENERATION, DROP_ID, LOSE = Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE
BACK_OFF, RETRY, FAIL, HALT, RAISE, IGNORE = Effect.BACK_OFF, Effect.RETRY, Effect.FAIL, Effect.HALT, Effect.RAISE, Effect.IGNORE
DROPS_ALL: Final = (DROP_GENERATION, DROP_ID, LOSE, REJOIN)


def _override(api: Api, *answers: Answer, do: tuple[Effect, ...], phases: tuple[Phase, ...] | None = None) -> Override:
    if phases is None:
        return Override(api=api, answers=answers, effects=do)
    return Override(api=api, answers=answers, effects=do, phases=phases)


def _bug(name: str, says: str, breaks: str, *overrides: Override, text: str = "", settings: dict[str, Any] | None = None, **choices: Any) -> Variant:
    policy = Policy(overrides=overrides, **choices)
    return Variant(name=name, says=says, policy=policy, breaks=tuple(breaks.split()), source=text, settings=settings or {})


_COOPERATIVE: Final = {"assignors": [COOPERATIVE_STICKY]}
_STATIC: Final = {"instance_id": "i0"}

REACTIONS: Final = (
    # Heartbeat
    _bug("drops-id-on-heartbeat-27", "Drops its member id when a heartbeat is answered with a rebalance.", "CLIENT-46",
         _override(HEARTBEAT, 27, do=DROPS_ALL)),
    _bug("ignores-heartbeat-27", "Sends more heartbeats and never rejoins when a heartbeat is answered with a rebalance.", "CLIENT-46 HB-58",
         _override(HEARTBEAT, 27, do=(RENEW_SESSION,)), text="kafka-go 0.4.36"),
    _bug("ignores-heartbeat-22", "Goes on with its old generation after ILLEGAL_GENERATION.", "CLIENT-47 CLIENT-76",
         _override(HEARTBEAT, 22, do=(IGNORE,)), text="kafka-go 0.4.36"),
    _bug("ignores-heartbeat-25", "Goes on with a member id that the coordinator no longer knows.", "CLIENT-48 CLIENT-55",
         _override(HEARTBEAT, 25, do=(IGNORE,)), text="kafka-go 0.4.36"),
    _bug("heartbeats-stop-on-27", "Sends no heartbeat between the news of a rebalance and its JoinGroup.", "CLIENT-46 CLIENT-44",
         _override(HEARTBEAT, 27, do=(RENEW_SESSION, HALT, REJOIN)), text="sarama 1.19 to 1.31.0"),
    _bug("dies-on-heartbeat-27", "Takes the news of a rebalance for a fatal error.", "CLIENT-46",
         _override(HEARTBEAT, 27, do=(HALT, RAISE))),
    _bug("dies-on-heartbeat-22", "Takes ILLEGAL_GENERATION for a fatal error.", "CLIENT-47",
         _override(HEARTBEAT, 22, do=(HALT, RAISE)), text="kafkajs <= 2.2.3"),
    _bug("heartbeats-stop-on-22", "Sends nothing more after ILLEGAL_GENERATION.", "CLIENT-47",
         _override(HEARTBEAT, 22, do=(HALT,)), text="@platformatic/kafka 1.33.2"),
    _bug("keeps-id-on-heartbeat-25", "Rejoins with the member id that the answer to a heartbeat called unknown.", "CLIENT-48",
         _override(HEARTBEAT, 25, do=(DROP_GENERATION, LOSE, REJOIN))),
    _bug("no-rediscovery-on-heartbeat-16", "Goes on heartbeating at a broker that is no longer the coordinator.", "CLIENT-49 CLIENT-04",
         _override(HEARTBEAT, 15, 16, do=(RENEW_SESSION, BACK_OFF))),
    _bug("drops-membership-on-heartbeat-16", "Throws its membership away when the coordinator moves.", "CLIENT-49",
         _override(HEARTBEAT, 15, 16, do=(REDISCOVER, *DROPS_ALL))),
    _bug("dies-on-heartbeat-16", "Takes the coordinator's move for a fatal error.", "CLIENT-49 CLIENT-07",
         _override(HEARTBEAT, 15, 16, do=(HALT, RAISE))),
    _bug("ignores-heartbeat-82", "Goes on as if it had not been fenced.", "CLIENT-57 STATIC-10",
         _override(HEARTBEAT, 82, do=(IGNORE,)), settings=_STATIC),
    _bug("rejoins-when-fenced", "Joins again after FENCED_INSTANCE_ID, and so fences the other in turn.", "CLIENT-57 CLIENT-19",
         _override(HEARTBEAT, 82, do=DROPS_ALL), _override(JOIN, 82, do=DROPS_ALL), settings=_STATIC),
    _bug("drops-membership-on-heartbeat-30", "Throws its membership away on an error that says nothing about it.", "CLIENT-50",
         _override(HEARTBEAT, 30, do=DROPS_ALL)),
    _bug("drops-membership-on-disconnect", "Throws its member id away when the connection is lost.", "CLIENT-05 CLIENT-10",
         _override(HEARTBEAT, Lapse.DISCONNECTED, Lapse.TIMED_OUT, do=(REDISCOVER, *DROPS_ALL)),
         _override(JOIN, Lapse.DISCONNECTED, Lapse.TIMED_OUT, do=(REDISCOVER, BACK_OFF, *DROPS_ALL)),
         _override(SYNC, Lapse.DISCONNECTED, Lapse.TIMED_OUT, do=(REDISCOVER, BACK_OFF, *DROPS_ALL))),
    _bug("takes-stale-heartbeat-answers", "Follows the answer to a heartbeat of an earlier generation.", "CLIENT-46 CLIENT-48",
         _override(HEARTBEAT, 22, 25, 27, do=DROPS_ALL, phases=(Phase.STALE, Phase.JOINING, Phase.SYNCING))),
    # JoinGroup
    _bug("ignores-79-id", "Joins again with the empty id after MEMBER_ID_REQUIRED, for ever.", "CLIENT-18",
         _override(JOIN, 79, do=(REJOIN,))),
    _bug("dies-on-79", "Takes MEMBER_ID_REQUIRED for a fatal error.", "CLIENT-18", _override(JOIN, 79, do=(RAISE,))),
    _bug("keeps-id-on-join-25", "Joins again for ever with the id that the answer to JoinGroup called unknown.", "CLIENT-14",
         _override(JOIN, 25, do=(REJOIN,))),
    _bug("no-backoff-on-join-14", "Joins again without a pause while the coordinator loads.", "CLIENT-15 CLIENT-75",
         _override(JOIN, 14, do=(REJOIN,)), immediate_rejoins_max=10_000, retry_factor=0.01),
    _bug("dies-on-join-14", "Takes COORDINATOR_LOAD_IN_PROGRESS for a fatal error.", "CLIENT-15", _override(JOIN, 14, do=(RAISE,))),
    _bug("no-rediscovery-on-join-16", "Sends JoinGroup again and again to a broker that is not the coordinator.", "CLIENT-16 CLIENT-04",
         _override(JOIN, 15, 16, do=(BACK_OFF, REJOIN))),
    _bug("retries-join-23", "Joins again after INCONSISTENT_GROUP_PROTOCOL, for ever.", "CLIENT-17", _override(JOIN, 23, do=(BACK_OFF, REJOIN))),
    _bug("retries-join-24", "Joins again after INVALID_GROUP_ID, for ever.", "CLIENT-17", _override(JOIN, 24, do=(BACK_OFF, REJOIN))),
    _bug("retries-join-26", "Joins again after INVALID_SESSION_TIMEOUT, for ever.", "CLIENT-17", _override(JOIN, 26, do=(BACK_OFF, REJOIN))),
    _bug("retries-join-30", "Joins again after GROUP_AUTHORIZATION_FAILED, for ever.", "CLIENT-17", _override(JOIN, 30, do=(BACK_OFF, REJOIN))),
    _bug("retries-join-81", "Joins again after GROUP_MAX_SIZE_REACHED, for ever.", "CLIENT-19", _override(JOIN, 81, do=(BACK_OFF, REJOIN))),
    _bug("retries-join-82", "Joins again after FENCED_INSTANCE_ID, for ever.", "CLIENT-19",
         _override(JOIN, 82, do=(BACK_OFF, REJOIN)), settings=_STATIC),
    _bug("ignores-unknown-join-error", "Swallows a JoinGroup error it does not know, and tries for ever.", "CLIENT-21",
         _override(JOIN, 22, 35, -1, UNHEARD_OF, do=(BACK_OFF, REJOIN))),
    _bug("falls-silent-on-join-errors", "Waits for ever, and reports nothing, after a JoinGroup error that no retry can fix.",
         "CLIENT-17 CLIENT-19 CLIENT-21", _override(JOIN, 22, 23, 24, 26, 27, 30, 35, 81, 82, -1, UNHEARD_OF, do=(IGNORE,))),
    _bug("dies-on-join-16", "Takes the coordinator's move for a fatal error when it joins.", "CLIENT-16", _override(JOIN, 15, 16, do=(RAISE,))),
    _bug("dies-of-parked-join", "Takes a JoinGroup that is parked for a while for a fatal error.", "CLIENT-22",
         _override(JOIN, Lapse.TIMED_OUT, do=(RAISE,)), join_timeout_factor=0.02),
    # SyncGroup
    _bug("drops-id-on-sync-27", "Drops its member id when SyncGroup is answered with a rebalance.", "CLIENT-32",
         _override(SYNC, 27, do=DROPS_ALL)),
    _bug("dies-on-sync-27", "Takes a rebalance during SyncGroup for a fatal error.", "CLIENT-32 CLIENT-31", _override(SYNC, 27, do=(RAISE,))),
    _bug("keeps-id-on-sync-25", "Rejoins with the member id that the answer to SyncGroup called unknown.", "CLIENT-33",
         _override(SYNC, 25, do=(DROP_GENERATION, LOSE, REJOIN))),
    _bug("no-rediscovery-on-sync-16", "Joins again at a broker that is not the coordinator.", "CLIENT-34 CLIENT-04",
         _override(SYNC, 15, 16, do=(BACK_OFF, REJOIN))),
    _bug("cooperative-loses-all-on-sync-27", "Gives up all its partitions when a cooperative SyncGroup is answered with a rebalance.", "CLIENT-32",
         _override(SYNC, 27, do=(LOSE, REJOIN)), text="java 3.3.0, 3.3.1", settings=_COOPERATIVE),
    _bug("ignores-unknown-sync-error", "Swallows a SyncGroup error it does not know, and joins again.", "CLIENT-35",
         _override(SYNC, 35, -1, UNHEARD_OF, do=(BACK_OFF, REJOIN))),
    _bug("retries-sync-30", "Joins again after a SyncGroup it is not authorised for.", "CLIENT-35", _override(SYNC, 30, do=(BACK_OFF, REJOIN))),
    _bug("dies-on-sync-16", "Takes the coordinator's move for a fatal error when it syncs.", "CLIENT-34 CLIENT-31", _override(SYNC, 15, 16, do=(RAISE,))),
    _bug("dies-on-sync-22", "Takes ILLEGAL_GENERATION of a SyncGroup for a fatal error.", "CLIENT-33 CLIENT-31", _override(SYNC, 22, do=(RAISE,))),
    _bug("dies-on-sync-25", "Takes UNKNOWN_MEMBER_ID of a SyncGroup for a fatal error.", "CLIENT-33 CLIENT-31", _override(SYNC, 25, do=(RAISE,))),
    _bug("dies-of-parked-sync", "Takes a SyncGroup that is parked for a while for a fatal error.", "CLIENT-31",
         _override(SYNC, Lapse.TIMED_OUT, do=(RAISE,)), sync_timeout_factor=0.02),
    _bug("falls-silent-on-sync-errors", "Waits for ever, and reports nothing, after a SyncGroup error that no retry can fix.", "CLIENT-35",
         _override(SYNC, 14, 23, 30, 35, -1, UNHEARD_OF, do=(IGNORE,)), heartbeats="synced"),
    # OffsetCommit and OffsetFetch
    _bug("drops-id-on-commit-27", "Throws its member id away when a commit meets a rebalance.", "CLIENT-68",
         _override(COMMIT, 27, do=(*DROPS_ALL, FAIL)), text="kafka-python <= 2.2.3, java <= 2.3.1"),
    _bug("takes-failed-commit-for-done", "Reports success of a commit that was refused.", "CLIENT-69 CLIENT-68",
         _override(COMMIT, 12, 22, 25, 27, 28, 29, 30, do=(ACCEPT,))),
    _bug("sync-commit-not-retried-on-14", "Fails a synchronous commit that was to be tried again.", "CLIENT-69", _override(COMMIT, 14, do=(FAIL,))),
    _bug("sync-commit-not-retried-on-15", "Fails a synchronous commit that was to be tried again elsewhere.", "CLIENT-69",
         _override(COMMIT, 15, do=(REDISCOVER, FAIL))),
    _bug("sync-commit-not-retried-on-16", "Fails a synchronous commit that was to be tried again elsewhere.", "CLIENT-69",
         _override(COMMIT, 16, do=(REDISCOVER, FAIL))),
    _bug("no-rediscovery-on-commit-16", "Sends a commit again and again to a broker that is not the coordinator.", "CLIENT-69 CLIENT-04",
         _override(COMMIT, 15, 16, do=(BACK_OFF, RETRY))),
    _bug("retries-commit-27", "Sends a commit again while the rebalance waits for it.", "CLIENT-68", _override(COMMIT, 27, do=(BACK_OFF, RETRY))),
    _bug("retries-commit-27-at-once", "Sends a commit again and again, with hardly a pause, while the rebalance waits for it.", "CLIENT-75 CLIENT-46",
         _override(COMMIT, 27, do=(BACK_OFF, RETRY)), retry_factor=0.4, text="java 3.2 (KAFKA-14024)"),
    _bug("dies-on-commit-27", "Takes the refusal of a commit in a rebalance for the end.", "CLIENT-76", _override(COMMIT, 27, do=(FAIL, RAISE))),
    _bug("dies-on-join-27", "Takes JoinGroup's REBALANCE_IN_PROGRESS for the end.", "CLIENT-75", _override(JOIN, 27, do=(RAISE,)), text="java <= 2.7 (KAFKA-10870)"),
    _bug("repeats-refused-commits", "Sends a commit that was refused with its membership again under the next one.", "CLIENT-67 CLIENT-68",
         _override(COMMIT, 22, 25, do=(*DROPS_ALL, RETRY)), _override(COMMIT, 27, do=(REJOIN, RETRY)), commits_outlive_membership=True, joins_from="background",
         text="kafkajs 2.2.4, @platformatic/kafka 2.12.1"),
    _bug("repeats-refused-commits-for-ever", "Repeats a commit that no retry can fix again and again, and reports nothing.", "CLIENT-69 CLIENT-67",
         _override(COMMIT, 12, 22, 25, 28, 29, 30, -1, UNHEARD_OF, do=(BACK_OFF, RETRY))),
    _bug("reset-during-join-by-commit", "Forgets the generation that JoinGroup is about to bring, because a late commit was refused, and syncs with -1.",
         "CLIENT-64 CLIENT-11", _override(COMMIT, 22, 25, do=(DROP_GENERATION, FAIL), phases=(Phase.JOINING, Phase.STALE)),
         sync_generation="reset", commits_when_unstable=True, text="librdkafka 1.6 to 2.8, aiokafka 0.7.0"),
    _bug("dies-on-late-commit-refusal", "Takes the refusal of a commit of its old generation for a fatal error.", "CLIENT-64 CLIENT-11",
         _override(COMMIT, 22, 25, do=(FAIL, RAISE), phases=(Phase.JOINING, Phase.SYNCING, Phase.STALE)), commits_when_unstable=True),
    _bug("no-rediscovery-on-fetch-16", "Asks a broker that is not the coordinator for offsets, again and again.", "CLIENT-79 CLIENT-04",
         _override(FETCH, 15, 16, do=(BACK_OFF, RETRY))),
    _bug("dies-on-fetch-14", "Takes COORDINATOR_LOAD_IN_PROGRESS of an OffsetFetch for a fatal error.", "CLIENT-79", _override(FETCH, 14, do=(FAIL,))),
    # Unexpected answers
    _bug("falls-silent-on-odd-heartbeat-answers", "Sends nothing more, and reports nothing, when a heartbeat gets an answer that no broker would give.", "CLIENT-50 CLIENT-40",
         _override(HEARTBEAT, 14, 23, 24, 26, 30, 79, 81, -1, UNHEARD_OF, do=(HALT,))),
    _bug("drops-id-on-odd-join-answers", "Throws its member id away when JoinGroup is answered as no broker would.", "CLIENT-10 CLIENT-21",
         _override(JOIN, 22, 27, -1, UNHEARD_OF, do=DROPS_ALL)),
    _bug("drops-id-on-odd-sync-answers", "Throws its member id away when SyncGroup is answered as no broker would.", "CLIENT-31 CLIENT-35",
         _override(SYNC, 14, 23, -1, UNHEARD_OF, do=DROPS_ALL)),
    _bug("takes-any-failed-commit-for-done", "Reports success of a commit whatever it is answered.", "CLIENT-69", _override(COMMIT, do=(ACCEPT,))),
    _bug("takes-any-failed-fetch-for-nothing-committed", "Takes an OffsetFetch that failed for one that found nothing.", "CLIENT-79",
         _override(FETCH, do=(ACCEPT,))),
    _bug("falls-silent-on-commit-errors", "Never reports that a commit was refused.", "CLIENT-69 CLIENT-68", _override(COMMIT, do=(IGNORE,))),
    _bug("falls-silent-on-fetch-errors", "Waits for ever, and reports nothing, after an OffsetFetch that failed.", "CLIENT-79", _override(FETCH, do=(IGNORE,))),
    # FindCoordinator
    _bug("dies-on-lookup-15", "Takes a coordinator that is not available yet for a fatal error.", "CLIENT-06", _override(FIND, 14, 15, do=(RAISE,))),
    _bug("retries-lookup-30", "Looks up for ever what it is not authorised for.", "CLIENT-06", _override(FIND, 30, do=(BACK_OFF, RETRY))),
    _bug("falls-silent-on-lookup-errors", "Waits for ever, and reports nothing, after a lookup error that no retry can fix.", "CLIENT-06",
         _override(FIND, 24, 30, -1, UNHEARD_OF, do=(IGNORE,))),
    # Missing answers
    _bug("waits-for-ever-for-lookup", "Does not notice that its lookup was lost.", "CLIENT-06 CLIENT-05", _override(FIND, *Lapse, do=(IGNORE,))),
    _bug("waits-for-ever-for-join", "Does not notice that its JoinGroup was lost with its connection.", "CLIENT-05 CLIENT-10",
         _override(JOIN, *Lapse, do=(REDISCOVER, IGNORE))),
    _bug("waits-for-ever-for-sync", "Does not notice that its SyncGroup was lost, and sends no Heartbeat before it is answered.", "CLIENT-31 CLIENT-05",
         _override(SYNC, *Lapse, do=(REDISCOVER, IGNORE)), heartbeats="synced"),
    _bug("heartbeats-stop-on-disconnect", "Sends no further Heartbeat when one was lost with its connection.", "CLIENT-05 CLIENT-40",
         _override(HEARTBEAT, *Lapse, do=(REDISCOVER, HALT))),
    _bug("takes-lost-commit-for-done", "Reports success of a commit that was never answered.", "CLIENT-69", _override(COMMIT, *Lapse, do=(REDISCOVER, ACCEPT))),
    _bug("takes-lost-fetch-for-nothing-committed", "Takes an OffsetFetch that was never answered for one that found nothing.", "CLIENT-79",
         _override(FETCH, *Lapse, do=(REDISCOVER, ACCEPT))),
)  # fmt: skip
