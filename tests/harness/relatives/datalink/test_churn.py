"""What happens to a group: drawn from a seed, the same for everyone who asks."""

from __future__ import annotations

import itertools

from groupproof.harness.relatives.datalink.churn import KINDS, drawn


def test_the_same_seed_draws_the_same_and_another_one_other_things() -> None:
    asked = {"kinds": ("kill", "add"), "events": 20, "every_ms": 60_000, "workers": 5}

    assert drawn(1, **asked) == drawn(1, **asked)  # type: ignore[arg-type]  # the types are right one by one
    assert drawn(1, **asked) != drawn(2, **asked)  # type: ignore[arg-type]  # the types are right one by one


def test_kinds_take_turns_and_who_is_away_is_back_before_the_next() -> None:
    events = drawn(3, kinds=tuple(KINDS), events=40, every_ms=60_000, workers=5)

    assert [event.kind for event in events[:8]] == list(KINDS)
    assert {event.who for event in events} == set(range(5))
    assert all(event.at_ms + event.for_ms < later.at_ms for event, later in itertools.pairwise(events))
