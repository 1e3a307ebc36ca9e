"""Clients that differ from the newest Java client and still follow the protocol. No case may fail on them."""

from __future__ import annotations

from typing import Final

from groupproof.clients.member.policy import UNHEARD_OF, Override, Policy
from groupproof.clients.planted.legal_variants_of_go import GO
from groupproof.clients.planted.legal_variants_of_terms import OWN_TERMS
from groupproof.clients.planted.member_variant import Variant, way
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api

__all__ = ["LEGAL"]

_DROPS_ID: Final = (Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE, Effect.REJOIN)

LEGAL: Final = (
    way("joins-in-background", "Joins, revokes and assigns as soon as it learns of a rebalance, whether the application polls or not.",
        "librdkafka, aiokafka, franz-go", joins_from="background"),
    Variant(
        name="drops-id-on-22",
        says="Drops the member id with the generation on ILLEGAL_GENERATION, as the Java client did up to 3.1.",
        policy=Policy(
            overrides=(
                Override(api=Api.HEARTBEAT, answers=(22,), effects=_DROPS_ID),
                Override(api=Api.SYNC_GROUP, answers=(22,), effects=_DROPS_ID),
                Override(api=Api.OFFSET_COMMIT, answers=(22,), effects=(*_DROPS_ID, Effect.FAIL)),
            )
        ),
        source="java <= 3.1, kafka-python 2.x",
    ),
    way("leaves-a-refused-commit-to-its-heartbeat",
        "Fails a commit that was answered with an old generation or an unknown member, and learns from its next Heartbeat that it must join again.",
        "kafkajs 2.2.4, franz-go 1.21.2", overrides=(Override(api=Api.OFFSET_COMMIT, answers=(22, 25), effects=(Effect.FAIL,)),)),
    way("repeats-a-failed-commit", "Sends a commit again in its generation after an error that it does not know.", "@platformatic/kafka 2.12.1",
        overrides=(Override(api=Api.OFFSET_COMMIT, answers=(UNHEARD_OF,), effects=(Effect.BACK_OFF, Effect.RETRY)),)),
    way("asks-by-heartbeat-after-a-failed-rejoin",
        "Sends a Heartbeat after a rejoin that was answered by a loading coordinator or none, and joins if the answer is still the rebalance.",
        "kafkajs 2.2.4", failed_rejoin="heartbeats"),
    way("commits-each-batch",
        "Commits automatically after each batch that the application has polled, whatever the interval, and has nothing left to commit when it closes.",
        "kafkajs 2.2.4", settings={"auto_commit": True}, commits_each_batch=True),
    way("takes-any-offsets",
        "Asks for offsets whether or not they are stable, and reads error 88, which no broker then gives it (KIP-447), as nothing committed.",
        "kafka-node 5.0.0, no-kafka 3.4.3", requires_stable_offsets=False,
        overrides=(Override(api=Api.OFFSET_FETCH, answers=(88,), effects=(Effect.ACCEPT,)),)),
    way("ends-at-a-refused-fetch", "Ends when its offsets are refused for a while, and reports it to its application.", "kafrust 0.5.0",
        overrides=(Override(api=Api.OFFSET_FETCH, answers=(14, 15, 16), effects=(Effect.FAIL, Effect.RAISE)),)),
    way("goes-without-leaving-while-joining", "Sends no LeaveGroup when it is closed while it joins; its place is free when its session ends.",
        "kafkajs 2.2.4", leaves_while_joining=False),
    way("backs-off-before-rejoin", "Waits 100 ms before every JoinGroup of a rebalance, also where it could join at once.", "kafkajs, sarama",
        rejoin_delay_ms=100, immediate_rejoins_max=0),
    way("repeats-one-correlation-id", "Sends correlation id 0 with every request: the answers of a connection come in order.", "pykafka 2.8.0",
        repeats_correlations=True),
    way("repeats-one-correlation-id-on-one-connection", "Sends correlation id 0 with every request, and everything over one connection to each broker.",
        "pykafka 2.8.0, librdkafka", repeats_correlations=True, lanes="shared"),
    way("looks-up-at-every-broker", "Asks all of its bootstrap brokers for the coordinator at once, and takes the first good answer.", "no-kafka 3.4.3",
        lookups_go_to="each"),
    way("asks-what-it-owns", "Has no callbacks: its program asks after each poll what it owns, and learns nothing of a rejoin within one poll that changes nothing.",
        "kacrab 0.4.0", assignment_reported="asked", lacks=frozenset({"on-revoked"})),
    way("shares-one-connection", "Uses one connection to each broker for everything, so that a Fetch or a parked JoinGroup holds back what follows.",
        "librdkafka", lanes="shared"),
    way("joins-on-own-connection", "Sends JoinGroup and SyncGroup over a connection of their own, apart from the coordinator's other requests.",
        "franz-go", lanes="joins"),
    way("rediscovers-each-rebalance", "Looks the coordinator up again before each rebalance, although it knows it.", "kafka-go, sarama",
        rediscovers_each_rebalance=True),
    way("join-v3", "Speaks JoinGroup up to v3: no MEMBER_ID_REQUIRED (KIP-394), no static membership.", "java 2.1, kafkajs",
        versions={Api.JOIN_GROUP: 3, Api.SYNC_GROUP: 2, Api.HEARTBEAT: 2, Api.OFFSET_COMMIT: 5}),
    way("heartbeats-after-sync", "Sends no Heartbeat while its SyncGroup is parked; brokers keep a parked member alive.",
        "java 2.6.0 and older, aiokafka, kafkajs", heartbeats="synced"),
    Variant(
        name="old-versions",
        says="Speaks the versions of 2018, without flexible headers.",
        policy=Policy(
            versions={
                Api.FIND_COORDINATOR: 1, Api.JOIN_GROUP: 4, Api.SYNC_GROUP: 2, Api.HEARTBEAT: 2, Api.LEAVE_GROUP: 2, Api.OFFSET_COMMIT: 6,
                Api.OFFSET_FETCH: 5, Api.METADATA: 7, Api.FETCH: 10, Api.LIST_OFFSETS: 4, Api.API_VERSIONS: 2,
            }
        ),
        source="java 2.2",
    ),
    way("leaves-with-v2", "Leaves with LeaveGroup v2, whose answer has no list of members.", "kafka-python 2.x", versions={Api.LEAVE_GROUP: 2}),
    way("subscription-v0", "Sends the subscription without owned partitions, generation and rack.", "kafka-go, kafkajs", subscription_version=0),
    way("subscription-v1", "Sends the subscription with owned partitions, but neither generation nor rack.", "java 2.4 to 3.3",
        subscription_version=1),
    way("subscription-with-user-data", "Sends its own user data in its subscription, which only its assignor uses.",
        "Kafka Streams, clients with assignors of their own", subscription_user_data=b"\x00\x01their own"),
    way("subscription-of-the-future", "Sends a subscription of a version that nobody has written yet, with fields behind those of version 3.",
        "the next reader: ConsumerProtocol reads a newer version as the newest version that it knows", subscription_version=9,
        subscription_tail=b"\x00\x00\x00\x01\x00\x03new"),
    way("cooperative-as-agreed", "Hands over by the rules of the assignor that the group agreed on, whatever else it lists.", "franz-go",
        cooperative_where="agreed"),
    way("heartbeats-right-after-sync", "Sends its first Heartbeat at once after the SyncGroup's answer.", "sarama, franz-go",
        heartbeat_right_after_sync=True),
    way("jittered-heartbeats", "Sends heartbeats at a tenth more or less than the interval.", "librdkafka", heartbeat_jitter=0.1),
    way("lists-topics-backwards", "Lists the topics of its subscription in another order than they were given.", "clients that keep a hash set",
        topics_reversed=True),
    way("refreshes-metadata-before-join", "Asks for metadata before each JoinGroup.", "librdkafka, kafka-python", refreshes_metadata_before_join=True),
    way("revokes-without-commit", "Does not auto-commit before it revokes; what was read since the last interval is read again by the next owner.",
        "clients that commit by interval only", commits_before_revoke=False),
    way("goes-by-the-newest-heartbeat",
        "Joins again for a rebalance only if the newest Heartbeat names it when the application polls, which is every 700 ms.",
        "clients whose heartbeats set a flag that poll reads", newest_heartbeat_decides=True, poll_pause_ms=700),
    way("polls-slowly", "Lets 50 ms pass between two polls.", "any application that works on its records", poll_pause_ms=50),
    way("heartbeats-a-little-early", "Sends heartbeats somewhat more often than asked: every nine tenths of the interval.",
        "clients with a coarse timer", heartbeat_factor=0.9),
    way("hangs-up-after-errors", "Closes the connection over which the coordinator has refused something, and opens another.",
        "kafka-go, Kafka's VerifiableConsumer at a fatal error", hangs_up_after_errors=True),
    way("looks-up-patiently", "Waits five times as long after a fruitless lookup or a failed heartbeat.", "librdkafka (retry.backoff.max.ms)",
        retry_factor=5.0),
    way("leader-shares-over-topics", "As leader, shares partitions out evenly over all topics together, be it range that the group agreed on.",
        "clients whose assignors are their own", leader_assigns="at-once", lacks=frozenset({"cooperative"})),
    *OWN_TERMS,
    *GO,
)  # fmt: skip
