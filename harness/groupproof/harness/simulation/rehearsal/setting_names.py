"""The settings of a rehearsal, as data: names of Kafka's consumer and broker, and its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = ["ASSIGNOR_CLASSES", "BROKERS_ONLY", "OWN_PREFIX", "SETTINGS", "WITHOUT_EFFECT", "Setting", "has_no_effect"]

OWN_PREFIX: Final = "rehearse."


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its name, its default, and its minimum. `words` describe a setting of the rehearsal's own."""

    name: str
    default: int | str | bool
    least: int = 0
    choices: tuple[str, ...] = ()
    words: str = ""


_OF_CLIENTS: Final = (
    Setting(name="group.id", default="my-group"),
    Setting(name="group.protocol", default=CLASSIC.name, choices=(CLASSIC.name, CONSUMER.name)),
    Setting(name="group.instance.id", default=""),
    Setting(name="group.remote.assignor", default="", choices=("", "uniform", "range")),
    Setting(name="partition.assignment.strategy", default="range,cooperative-sticky"),
    Setting(name="session.timeout.ms", default=45_000, least=1),
    Setting(name="heartbeat.interval.ms", default=3_000, least=1),
    Setting(name="max.poll.interval.ms", default=300_000, least=1),
    Setting(name="max.poll.records", default=500, least=1),
    Setting(name="enable.auto.commit", default=True),
    Setting(name="auto.commit.interval.ms", default=5_000),
    Setting(name="retry.backoff.ms", default=100),
    Setting(name="retry.backoff.max.ms", default=1_000),
    Setting(name="request.timeout.ms", default=30_000, least=1),
    Setting(name="default.api.timeout.ms", default=60_000, least=1),
    Setting(name="metadata.max.age.ms", default=300_000, least=1),
)

_OF_REHEARSALS: Final = (
    Setting(name="rehearse.members", default=6, least=2, words="how many members the group has"),
    Setting(name="rehearse.partitions", default=12, least=1, words="how many partitions its topic has"),
    Setting(name="rehearse.records.per.second", default=10, least=1, words="how many records come to a partition in a second"),
    Setting(name="rehearse.processing.ms", default=200, least=1, words="how long the application works on the records of one poll"),
    Setting(name="rehearse.restart.ms", default=10_000, least=1, words="how long a process is away when it is restarted"),
    Setting(name="rehearse.start.spread.ms", default=5_000, least=1, words="within what time the processes come up that are started at once"),
    Setting(name="rehearse.pause.ms", default=20_000, least=1, words="how long the garbage collection pauses a process"),
    Setting(name="rehearse.slow.record.ms", default=1_000, least=1, words="how long one record takes while one member's work is slow"),
    Setting(name="rehearse.slow.for.ms", default=600_000, least=1, words="how long that member's work stays slow"),
    Setting(name="rehearse.load.ms", default=1_000, words="how long a broker loads the group when the coordinator moves"),
)

SETTINGS: Final = {setting.name: setting for setting in (*_OF_CLIENTS, *_OF_REHEARSALS)}

BROKERS_ONLY: Final = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""Java's ConsumerConfig refuses these with `group.protocol=consumer` (checkUnsupportedConfigsPostProcess). The broker has the first two."""

ASSIGNOR_CLASSES: Final = {
    f"org.apache.kafka.clients.consumer.{kind}Assignor": name
    for kind, name in (("Range", "range"), ("RoundRobin", "roundrobin"), ("Sticky", "sticky"), ("CooperativeSticky", COOPERATIVE_STICKY))
}

WITHOUT_EFFECT: Final = frozenset(["allow.auto.create.topics", "auto.include.jmx.reporter", "auto.offset.reset", "bootstrap.servers", "check.crcs", "client.dns.lookup", "client.id", "client.rack", "config.providers", "connections.max.idle.ms", "enable.metrics.push", "exclude.internal.topics", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "interceptor.classes", "isolation.level", "key.deserializer", "max.partition.fetch.bytes", "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy", "metric.reporters", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms", "value.deserializer"])  # fmt: skip
"""The other settings of Kafka's consumer (ConsumerConfig of 4.1): a rehearsal accepts and ignores them."""

_PREFIXES_WITHOUT_EFFECT: Final = ("sasl.", "security.", "ssl.", "config.providers.")


def has_no_effect(name: str) -> bool:
    return name in WITHOUT_EFFECT or name.startswith(_PREFIXES_WITHOUT_EFFECT)
