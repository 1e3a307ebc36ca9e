"""Public incidents as data: their settings and behaviour, their symptoms, and their remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from groupproof.clients.member.policy import Policy
from groupproof.clients.planted.member_variants import variant_named
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.simulation.rehearsal.exercises import Step
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = ["INCIDENTS", "Incident", "Remedy"]

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What would have prevented the incident: other `settings`, other `steps`, or a client that behaves differently. `words` describe it."""

    words: str
    settings: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] | None = None
    is_mended: bool = False  # without the planted behaviour


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One incident. It occurs if `figure` of the cost (or `stalled`, the partitions whose commits stopped) is at least `at_least`.

    `policies` are planted behaviours by member (`all`: every member). `cause` is the most frequent cause of its rebalances, None without one. `sign`
    is
    a part of a problem that `watch` reports. It is empty if `watch` reports none; `unseen` then says why.
    """

    name: str
    url: str
    happened: str
    modelled: str
    settings: Mapping[str, str]
    steps: tuple[Step, ...]
    figure: str
    at_least: int
    cause: Cause | None
    remedy: Remedy
    sign: str = ""
    unseen: str = ""
    newcomers: int = 0
    policies: Mapping[str, str] = field(default_factory=dict)
    profile: str = "kafka-4.1"

    def policy_of(self, name: str) -> Policy | None:
        variant = self.policies.get(name) or self.policies.get("all")
        return None if variant is None else variant_named(variant).policy


def _group(**more: str) -> dict[str, str]:
    """Return the settings of a group of four with Kafka's older, shorter session. Dots in names are underscores here."""
    plain = {"rehearse.members": "4", "rehearse.partitions": "8", "rehearse.processing.ms": "1000", "session.timeout.ms": "10000"}
    return {**plain, **{name.replace("_", "."): value for name, value in more.items()}}


def _consumers(**more: str) -> dict[str, str]:
    return {name: value for name, value in _group(group_protocol=CONSUMER.name, **more).items() if name != "session.timeout.ms"}


def _one_after_the_other(act: str, names: str, every_ms: int, for_ms: int = 0) -> tuple[Step, ...]:
    return tuple(Step(at_ms=index * every_ms, act=act, who=name, for_ms=for_ms) for index, name in enumerate(names.split()))


INCIDENTS: Final = {
    incident.name: incident
    for incident in (
        Incident(
            name="rollbar-2020-11-18", url="https://status.rollbar.com/incidents/j8lv6pbks1j9",
            happened="Publishing continued, but a coordinator hung, and every attempt to consume failed for hours.",
            modelled="The coordinator's broker hangs for ten minutes: its connections stay open and nothing is answered.",
            settings=_group(), steps=(Step(at_ms=0, act="hang", for_ms=10 * _MINUTE_MS),), sign="8 partitions stood still for 601 s", figure="uncommitted_ms", at_least=5 * _MINUTE_MS, cause=Cause.HEARTBEAT_TIMEOUT,
            remedy=Remedy(words="No setting of a consumer. A broker that hangs has to be ended: then another one coordinates within seconds.",
                          steps=(Step(at_ms=0, act="hang", for_ms=60_000), Step(at_ms=15_000, act="end-broker"))),
        ),
        Incident(
            name="sarama-1858", url="https://github.com/IBM/sarama/issues/1858",
            happened="Without cooperative rebalancing every change of the group stops the consumption of all partitions, until the slowest member has joined again.",
            modelled="Eager members; one of them works on a batch for most of a minute while two new ones come.",
            settings=_group(partition_assignment_strategy="range", rehearse_slow_record_ms="700"), newcomers=2,
            steps=(Step(at_ms=0, act="slow", who="m0", for_ms=5 * _MINUTE_MS), *(Step(at_ms=70_000 + 90_000 * n, act="start", who=f"m{4 + n}") for n in range(2))),
            sign="6 partitions stood still for 140 s", figure="unowned_ms", at_least=120_000, cause=Cause.NEW_MEMBER,
            remedy=Remedy(words="partition.assignment.strategy=cooperative-sticky, in sarama since its pull request #3696: only what moves is stopped.",
                          settings={"partition.assignment.strategy": COOPERATIVE_STICKY}),
        ),
        Incident(
            name="kafka-python-1418", url="https://github.com/dpkp/kafka-python/issues/1418",
            happened="\"Heartbeat failed for group because it is rebalancing\", every three seconds, and no end of it.",
            modelled="One member's batches take longer than max.poll.interval.ms: it leaves, comes back, and leaves again.",
            settings=_group(max_poll_interval_ms="60000", rehearse_slow_record_ms="500"),
            steps=(Step(at_ms=0, act="slow", who="m0", for_ms=20 * _MINUTE_MS),), sign="m0 at 127.0.0.1 was lost", figure="rebalances", at_least=4, cause=Cause.POLL_INTERVAL,
            remedy=Remedy(words="max.poll.records=50: a batch is done within max.poll.interval.ms.", settings={"max.poll.records": "50"}),
        ),
        Incident(
            name="kafka-8653", url="https://issues.apache.org/jira/browse/KAFKA-8653",
            happened="Brokers of 2.3.0 took the rebalance timeout of old clients (JoinGroup v0) for 0: a join phase ended at once without those that had not joined again yet, and these began the next one.",
            modelled="Members whose JoinGroup has a rebalance timeout of 100 ms.",
            settings=_group(max_poll_interval_ms="100"), steps=_one_after_the_other("restart", "m3", 0, 5_000), policies={"all": "ignores-max-poll-interval"}, sign="keeps no assignment", figure="rebalances", at_least=10, cause=Cause.RETURNED,
            remedy=Remedy(words="A rebalance timeout in which members can join again: brokers of 2.3.1, or clients whose JoinGroup has one (v1).", settings={"max.poll.interval.ms": "300000"}),
        ),
        Incident(
            name="kafka-10122", url="https://github.com/apache/kafka/pull/9173",
            happened="An assignment of 3,000 partitions took the leader longer than its session of ten seconds, and it sent no heartbeats meanwhile: each time it was out of the group before it had assigned.",
            modelled="Whoever leads takes twelve seconds to assign, and sends no heartbeats meanwhile.",
            settings=_group(),
            steps=(*(Step(at_ms=0, act="assign-slowly", who=f"m{n}", for_ms=5 * _MINUTE_MS) for n in range(4)), Step(at_ms=1_000, act="restart", who="m3", for_ms=5_000)),
            sign="30 of them without an assignment", figure="rebalances", at_least=6, cause=Cause.NEW_MEMBER,
            remedy=Remedy(words="session.timeout.ms=45000, Kafka's default since 3.0; or clients of 2.6.1, which send heartbeats during the rebalance.", settings={"session.timeout.ms": "45000"}),
        ),
        Incident(
            name="confluent-kafka-python-1090", url="https://github.com/confluentinc/confluent-kafka-python/issues/1090",
            happened="With cooperative-sticky a group of more than 30 consumers (1.6.1) rebalanced for hours, more than a hundred times a second.",
            modelled="Members that join again for as long as they get no partition, and fewer partitions than members.",
            settings=_group(partition_assignment_strategy=COOPERATIVE_STICKY, rehearse_partitions="3"), steps=_one_after_the_other("restart", "m3", 0, 5_000),
            policies={"all": "rejoins-on-empty-assignment"}, sign="storm", figure="rebalances", at_least=10, cause=Cause.METADATA,
            remedy=Remedy(words="As many partitions as members; or the next release of the client (1.7.0).", settings={"rehearse.partitions": "8"}),
        ),
        Incident(
            name="node-rdkafka-1146", url="https://github.com/Blizzard/node-rdkafka/issues/1146",
            happened="With group.protocol=consumer and autoscaled pods, consumption stopped for one to three minutes at each change of the group, without an error.",
            modelled="Members come one after the other while one works on long batches: what it is to give up waits for its next poll.",
            settings=_consumers(rehearse_members="2", rehearse_slow_record_ms="1000", max_poll_records="120"), newcomers=3,
            steps=(Step(at_ms=0, act="slow", who="m0", for_ms=12 * _MINUTE_MS), *(Step(at_ms=(2 * n + 1) * _MINUTE_MS, act="start", who=f"m{2 + n}") for n in range(3))),
            sign="m0 held what it was to give up", figure="longest_ms", at_least=60_000, cause=Cause.NEW_MEMBER,
            remedy=Remedy(words="max.poll.records=10: the member polls, and gives partitions up, within seconds.", settings={"max.poll.records": "10"}),
        ),
        Incident(
            name="confluent-kafka-javascript-476", url="https://github.com/confluentinc/confluent-kafka-javascript/issues/476",
            happened="A consumer polled no records for 26 hours. Its heartbeats continued, and the group was stable; only a restart helped.",
            modelled="One member polls and takes no records any more.",
            settings=_group(), steps=(Step(at_ms=0, act="starve", who="m0"), Step(at_ms=10 * _MINUTE_MS, act="wait")), policies={"all": "commits-each-batch"}, sign="2 partitions without a commit", figure="stalled", at_least=1, cause=None,
            remedy=Remedy(words="No setting: for Kafka the member is healthy. A probe can restart it when its commits stop; `groupproof watch` shows them.",
                          steps=(Step(at_ms=0, act="starve", who="m0"), Step(at_ms=5 * _MINUTE_MS, act="restart", who="m0", for_ms=5_000), Step(at_ms=10 * _MINUTE_MS, act="wait"))),
        ),
        Incident(
            name="static-restarts-in-waves", url="https://issues.apache.org/jira/browse/KAFKA-7018",
            happened="Static members were meant to restart without rebalances. Their pods came back later than their session ended, and each restart cost two.",
            modelled="Four static members are restarted one after the other, and each is away for 25 seconds.",
            settings=_group(group_instance_id="pod", rehearse_restart_ms="25000"), steps=_one_after_the_other("restart", "m0 m1 m2 m3", 60_000, 25_000),
            sign="storm", figure="rebalances", at_least=6, cause=Cause.HEARTBEAT_TIMEOUT,
            remedy=Remedy(words="session.timeout.ms=45000: longer than a restart takes.", settings={"session.timeout.ms": "45000"}),
        ),
        Incident(
            name="slow-joiner", url="https://github.com/confluentinc/kafka-rest/issues/611",
            happened="A rebalance took half an hour: the group waited for a member that did not poll, as long as max.poll.interval.ms allows.",
            modelled="One member works on a batch for minutes while another is restarted; the whole group waits for its JoinGroup.",
            settings=_group(partition_assignment_strategy="range", max_poll_interval_ms="1800000", rehearse_slow_record_ms="1000"),
            steps=(Step(at_ms=0, act="slow", who="m0", for_ms=10 * _MINUTE_MS), Step(at_ms=2 * _MINUTE_MS, act="restart", who="m3", for_ms=5_000)),
            sign="6 partitions stood still for 300 s", figure="unowned_worst_ms", at_least=60_000, cause=Cause.CLOSED,
            remedy=Remedy(words="max.poll.records=10: the member is back at its poll, and joins, within seconds.", settings={"max.poll.records": "10"}),
        ),
        Incident(
            name="zombie-commits", url="https://github.com/dpkp/kafka-python/issues/1435",
            happened="A member was silent for longer than its session, and its partitions went to others. When it continued it committed for them, was refused, and all its work was done again.",
            modelled="A member is stopped for thirty seconds, with a session of ten.",
            unseen="A commit that is refused leaves no record. The topic shows that the session of a member ended, and that it came back: one loss is no problem yet.",
            settings=_group(), steps=(Step(at_ms=0, act="pause", who="m0", for_ms=30_000),), figure="reread", at_least=10, cause=Cause.HEARTBEAT_TIMEOUT,
            remedy=Remedy(words="session.timeout.ms=45000: longer than the longest pause.", settings={"session.timeout.ms": "45000"}),
        ),
        Incident(
            name="leader-rejoins-for-ever", url="../findings/sarama-newer-subscription.md",
            happened="A Go leader could not read the newer subscription of a Java member. It joined again, read it again, and so on without end.",
            modelled="Three members read only subscriptions of version 0, as sarama up to 1.38.1; the fourth sends a newer one.",
            settings=_group(), steps=_one_after_the_other("restart", "m3", 0, 5_000), policies=dict.fromkeys(("m0", "m1", "m2"), "leader-cannot-read-newer-subscriptions"),
            sign="without an assignment", figure="rebalances", at_least=20, cause=Cause.METADATA,
            remedy=Remedy(words="No setting: a client that reads later versions by the fields it knows, as sarama since 1.40.", is_mended=True),
        ),
        Incident(
            name="deploys-of-dynamic-members", url="https://github.com/elixir-broadway/broadway_kafka/issues/109",
            happened="Kubernetes rolled the pods one at a time, and the group was never stable until all of them were new.",
            modelled="Four dynamic members are restarted one after the other.",
            settings=_group(session_timeout_ms="45000"), steps=_one_after_the_other("restart", "m0 m1 m2 m3", 25_000, 10_000), sign="storm", figure="rebalances", at_least=6, cause=Cause.CLOSED,
            remedy=Remedy(words="group.instance.id: a static member that is back within its session costs no rebalance.", settings={"group.instance.id": "pod"}),
        ),
    )
}  # fmt: skip
