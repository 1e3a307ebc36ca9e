"""Clients that differ from the newest Java client and keep the protocol all the same: no case may fail one of them."""

from __future__ import annotations

from typing import Final

from groupproof.clients.member.policy import UNHEARD_OF, Override, Policy
from groupproof.clients.planted.legal_variants_of_go import GO
from groupproof.clients.planted.legal_variants_of_terms import OWN_TERMS
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api

__all__ = ["LEGAL"]

_DROPS_ID: Final = (Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE, Effect.REJOIN)

LEGAL: Final = (
    Variant(
        name="joins-in-background",
        says="Joins, revokes and assigns as soon as it learns of a rebalance, whether the application polls or not.",
        policy=Policy(joins_from="background"),
        source="librdkafka, aiokafka, franz-go",
    ),
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
    Variant(
        name="leaves-a-refused-commit-to-its-heartbeat",
        says="Fails a commit that was told of a passed generation or an unknown member, and learns by its next Heartbeat that it must join again.",
        policy=Policy(overrides=(Override(api=Api.OFFSET_COMMIT, answers=(22, 25), effects=(Effect.FAIL,)),)),
        source="kafkajs 2.2.4, franz-go 1.21.2",
    ),
    Variant(
        name="repeats-a-failed-commit",
        says="Sends a commit again in its generation after an error that it does not know.",
        policy=Policy(overrides=(Override(api=Api.OFFSET_COMMIT, answers=(UNHEARD_OF,), effects=(Effect.BACK_OFF, Effect.RETRY)),)),
        source="@platformatic/kafka 2.12.1",
    ),
    Variant(
        name="asks-by-heartbeat-after-a-failed-rejoin",
        says="After a JoinGroup that a Heartbeat asked for and that met a loading coordinator or none it heartbeats, and joins if the answer still names the rebalance.",
        policy=Policy(failed_rejoin="heartbeats"),
        source="kafkajs 2.2.4",
    ),
    Variant(
        name="commits-each-batch",
        says="Commits by itself after each batch that the application has taken, whatever the interval, and has nothing left to commit when it closes.",
        policy=Policy(commits_each_batch=True),
        settings={"auto_commit": True},
        source="kafkajs 2.2.4",
    ),
    Variant(
        name="goes-without-leaving-while-joining",
        says="Sends no LeaveGroup when it is closed while it joins; its place is free when its session ends.",
        policy=Policy(leaves_while_joining=False),
        source="kafkajs 2.2.4",
    ),
    Variant(
        name="backs-off-before-rejoin",
        says="Waits 100 ms before every JoinGroup of a rebalance, also where it could join at once.",
        policy=Policy(rejoin_delay_ms=100, immediate_rejoins_max=0),
        source="kafkajs, sarama",
    ),
    Variant(
        name="shares-one-connection",
        says="Uses one connection to each broker for everything, so that a Fetch or a parked JoinGroup holds back what follows.",
        policy=Policy(lanes="shared"),
        source="librdkafka",
    ),
    Variant(
        name="joins-on-own-connection",
        says="Sends JoinGroup and SyncGroup over a connection of their own, apart from the coordinator's other requests.",
        policy=Policy(lanes="joins"),
        source="franz-go",
    ),
    Variant(
        name="rediscovers-each-rebalance",
        says="Looks the coordinator up again before each rebalance, although it knows it.",
        policy=Policy(rediscovers_each_rebalance=True),
        source="kafka-go, sarama",
    ),
    Variant(
        name="join-v3",
        says="Speaks JoinGroup up to v3: no MEMBER_ID_REQUIRED (KIP-394), no static membership.",
        policy=Policy(versions={Api.JOIN_GROUP: 3, Api.SYNC_GROUP: 2, Api.HEARTBEAT: 2, Api.OFFSET_COMMIT: 5}),
        source="java 2.1, kafkajs",
    ),
    Variant(
        name="heartbeats-after-sync",
        says="Sends no Heartbeat while its SyncGroup is parked; brokers keep a parked member alive.",
        policy=Policy(heartbeats="synced"),
        source="java 2.6.0 and older, aiokafka, kafkajs",
    ),
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
    Variant(
        name="leaves-with-v2",
        says="Leaves with LeaveGroup v2, whose answer has no list of members.",
        policy=Policy(versions={Api.LEAVE_GROUP: 2}),
        source="kafka-python 2.x",
    ),
    Variant(
        name="subscription-v0",
        says="Sends the subscription without owned partitions, generation and rack.",
        policy=Policy(subscription_version=0),
        source="kafka-go, kafkajs",
    ),
    Variant(
        name="subscription-v1",
        says="Sends the subscription with owned partitions, but neither generation nor rack.",
        policy=Policy(subscription_version=1),
        source="java 2.4 to 3.3",
    ),
    Variant(
        name="subscription-with-user-data",
        says="Sends user data of its own in its subscription, which its assignor alone has a use for.",
        policy=Policy(subscription_user_data=b"\x00\x01their own"),
        source="Kafka Streams, clients with assignors of their own",
    ),
    Variant(
        name="subscription-of-the-future",
        says="Sends a subscription of a version that nobody has written yet, with fields behind those of version 3.",
        policy=Policy(subscription_version=9, subscription_tail=b"\x00\x00\x00\x01\x00\x03new"),
        source="whoever comes next: ConsumerProtocol reads what is newer as the newest version it knows",
    ),
    Variant(
        name="cooperative-as-agreed",
        says="Hands over by the rules of the assignor that the group agreed on, whatever else it lists.",
        policy=Policy(cooperative_where="agreed"),
        source="franz-go",
    ),
    Variant(
        name="heartbeats-right-after-sync",
        says="Sends its first Heartbeat at once after the SyncGroup's answer.",
        policy=Policy(heartbeat_right_after_sync=True),
        source="sarama, franz-go",
    ),
    Variant(
        name="jittered-heartbeats",
        says="Sends heartbeats at a tenth more or less than the interval.",
        policy=Policy(heartbeat_jitter=0.1),
        source="librdkafka",
    ),
    Variant(
        name="lists-topics-backwards",
        says="Lists the topics of its subscription in another order than they were given.",
        policy=Policy(topics_reversed=True),
        source="clients that keep a hash set",
    ),
    Variant(
        name="refreshes-metadata-before-join",
        says="Asks for metadata before each JoinGroup.",
        policy=Policy(refreshes_metadata_before_join=True),
        source="librdkafka, kafka-python",
    ),
    Variant(
        name="revokes-without-commit",
        says="Does not auto-commit before it revokes; what was read since the last interval is read again by the next owner.",
        policy=Policy(commits_before_revoke=False),
        source="clients that commit by interval only",
    ),
    Variant(
        name="polls-slowly",
        says="Lets 50 ms pass between two polls.",
        policy=Policy(poll_pause_ms=50),
        source="any application that works on its records",
    ),
    Variant(
        name="heartbeats-a-little-early",
        says="Sends heartbeats somewhat more often than asked: every nine tenths of the interval.",
        policy=Policy(heartbeat_factor=0.9),
        source="clients with a coarse timer",
    ),
    Variant(
        name="hangs-up-after-errors",
        says="Closes the connection over which the coordinator has refused something, and opens another.",
        policy=Policy(hangs_up_after_errors=True),
        source="kafka-go, Kafka's VerifiableConsumer at a fatal error",
    ),
    Variant(
        name="looks-up-patiently",
        says="Waits five times as long after a fruitless lookup or a failed heartbeat.",
        policy=Policy(retry_factor=5.0),
        source="librdkafka (retry.backoff.max.ms)",
    ),
    *OWN_TERMS,
    *GO,
)  # fmt: skip
