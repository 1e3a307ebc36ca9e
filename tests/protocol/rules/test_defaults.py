"""Kafka's default settings by release."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.rules.defaults import NEWEST_DEFAULTS, defaults


def test_every_profile_has_every_default() -> None:
    assert all(defaults(release).keys() == NEWEST_DEFAULTS.keys() for release in RELEASES.values())


@pytest.mark.parametrize(("name", "session_ms", "retention_minutes"), [
    ("kafka-1.1", 300_000, 1_440), ("kafka-2.0", 300_000, 10_080), ("kafka-2.2", 300_000, 10_080), ("kafka-2.3", 1_800_000, 10_080), ("kafka-2.4", 1_800_000, 10_080), ("kafka-3.9", 1_800_000, 10_080), ("kafka-4.1", 1_800_000, 10_080),
])  # fmt: skip
def test_what_grew_with_the_releases(name: str, session_ms: int, retention_minutes: int) -> None:
    assert defaults(RELEASES[name])["group.max.session.timeout.ms"] == session_ms
    assert defaults(RELEASES[name])["offsets.retention.minutes"] == retention_minutes
