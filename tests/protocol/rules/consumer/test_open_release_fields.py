from __future__ import annotations

from groupproof.protocol.rules.consumer.consumer_releases import CONSUMER_DELTAS, NEWEST_CONSUMER_FIELDS
from groupproof.protocol.rules.consumer.open_release_fields import OPEN_RELEASE_FIELDS


def test_each_field_is_one_that_releases_differ_in() -> None:
    differing = {name for delta in CONSUMER_DELTAS for name in delta.fields}

    assert OPEN_RELEASE_FIELDS.keys() <= differing <= NEWEST_CONSUMER_FIELDS.keys()
