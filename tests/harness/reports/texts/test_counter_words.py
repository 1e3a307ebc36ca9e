from __future__ import annotations

import pytest

from groupproof.harness.reports.texts.counter_words import counter_of
from groupproof.protocol.trace import Observation


@pytest.mark.parametrize(
    ("rule", "detail", "word"),
    [
        ("Heartbeat/Stable/alive", "", "generation"),
        ("StateCheck/consumer.Stable/members-behind", "members behind", "epoch"),
        ("ConsumerGroupHeartbeat/none/upgraded", "upgraded", "epoch"),
        ("ConsumerGroupHeartbeat/none/downgraded", "downgraded", "generation"),
        (None, "", "generation"),
    ],
)
def test_a_number_is_a_generation_or_an_epoch_by_the_kind_of_group(rule: str | None, detail: str, word: str) -> None:
    transition = Observation(seq=0, at_ns=0, kind="transition", rule=rule, detail=detail, state_after="Stable", generation=3)

    assert counter_of(transition) == word
