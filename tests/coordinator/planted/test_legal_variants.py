"""The legal variants deviate, and break nothing."""

from __future__ import annotations

import random

from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.legal_variants import LEGAL

BY_NAME = {variant.name: variant for variant in LEGAL}
ARRIVAL = Arrival(token=1, api_version=9, client_id="c", client_host="/127.0.0.1")


def test_there_are_more_than_ten_and_each_deviates() -> None:
    assert len(LEGAL) > 10
    assert [variant.name for variant in LEGAL if variant.breaks or variant.says == REFERENCE.says] == []


def test_another_member_leads() -> None:
    candidates = ["a", "b", "c"]

    assert REFERENCE.choices(random.Random(1)).leader("g", candidates) == "a"
    assert BY_NAME["last-leads"].choices(random.Random(1)).leader("g", candidates) == "c"
    assert BY_NAME["middle-leads"].choices(random.Random(1)).leader("g", candidates) == "b"


def test_regular_expressions_are_matched_before_the_answer() -> None:
    assert not REFERENCE.choices(random.Random(1)).resolves_at_once(ARRIVAL)
    assert BY_NAME["regexes-at-once"].choices(random.Random(1)).resolves_at_once(ARRIVAL)


def test_member_ids_have_other_forms_and_still_differ() -> None:
    for name in ("bare-member-ids", "long-member-ids"):
        choices = BY_NAME[name].choices(random.Random(1))
        ids = [choices.member_id("client", ARRIVAL) for _ in range(3)]
        assert len(set(ids)) == 3
        assert not any(name.startswith("client") for name in ids)
