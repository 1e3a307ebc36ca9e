"""A small group, that a rehearsal of takes little time."""

from __future__ import annotations

from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings, settings_of

SMALL = {
    "rehearse.members": "3", "rehearse.partitions": "3", "rehearse.processing.ms": "1000", "rehearse.restart.ms": "5000", "rehearse.start.spread.ms": "1000",
    "rehearse.slow.for.ms": "120000", "rehearse.pause.ms": "9000", "session.timeout.ms": "12000", "max.poll.interval.ms": "60000",
}  # fmt: skip


def small(profile: str = "kafka-4.1", **properties: str) -> RehearsedSettings:
    """Return the settings; a name's dots are underscores here."""
    return settings_of({**SMALL, **{name.replace("_", "."): value for name, value in properties.items()}}, profile)


def small_consumer(**properties: str) -> RehearsedSettings:
    """Return the settings of a group of the newer protocol."""
    named = {name: value for name, value in SMALL.items() if name != "session.timeout.ms"}
    return settings_of({**named, "group.protocol": "consumer", **{name.replace("_", "."): value for name, value in properties.items()}}, "kafka-4.1")
