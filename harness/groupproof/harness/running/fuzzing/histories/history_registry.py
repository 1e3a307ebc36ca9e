"""The random histories of a profile: those of its dialects. A dialect's part is registered here."""

from __future__ import annotations

from typing import Final

from groupproof.harness.model.dialect_parts import PartRegistry
from groupproof.harness.running.fuzzing.histories.consumer_moves import CONSUMER_MOVES, OWN_TOPIC, TOPICS, malformed_heartbeat
from groupproof.harness.running.fuzzing.histories.dialect_histories import DialectHistories
from groupproof.harness.running.fuzzing.histories.malformed import malformed_request
from groupproof.harness.running.fuzzing.histories.moves import MOVES
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, MAX_SIZE, SESSION_TIMEOUT

__all__ = ["HISTORIES", "histories_on"]

_SHORT: Final = {
    "group.consumer.min.session.timeout.ms": 1_000, SESSION_TIMEOUT: 6_700, "group.consumer.min.heartbeat.interval.ms": 500, HEARTBEAT_INTERVAL: 1_000,
}  # fmt: skip
"""Session timeouts that end within a history, with none of classic members beside them: brokers start a classic member's session after the
write, a heartbeat's before it."""

CLASSIC_HISTORIES: Final = DialectHistories(dialect=CLASSIC, moves=MOVES, malformed=malformed_request)
CONSUMER_HISTORIES: Final = DialectHistories(
    dialect=CONSUMER, moves=CONSUMER_MOVES, malformed=malformed_heartbeat, topics=TOPICS, own_topic=OWN_TOPIC, settings=_SHORT,
    settings_of_kinds=({ASSIGNMENT_INTERVAL: 0}, {MAX_SIZE: 3}),
)  # fmt: skip
HISTORIES: Final = PartRegistry(DialectHistories, CLASSIC_HISTORIES, CONSUMER_HISTORIES)


def histories_on(profile_name: str) -> tuple[DialectHistories, ...]:
    """Return the parts of the profile's dialects; for a relative without any of them, the classic part, whose requests it has."""
    spoken = profile(profile_name).dialects
    return tuple(part for part in HISTORIES.all() if part.dialect in spoken) or (CLASSIC_HISTORIES,)
