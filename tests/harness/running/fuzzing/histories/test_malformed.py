from __future__ import annotations

from dataclasses import replace

from tests.harness.running.fuzzing.drawn import Dice

from groupproof.harness.model.script import Ask
from groupproof.harness.model.script_builders import beat, commit, describe, join, sync
from groupproof.harness.running.fuzzing.histories.malformed import malformed_request
from groupproof.harness.running.fuzzing.histories.moves import Actor
from groupproof.protocol.vocabulary import Api

ACTOR = Actor(name="m0", instance="i0", others=[Actor(name="m1")])


def changed(ask: Ask, malformed: Ask) -> set[str]:
    return {name for name in malformed.fields if malformed.fields[name] != ask.fields.get(name)}


def test_one_field_at_most_is_put_wrong_and_nothing_else() -> None:
    dice = Dice()
    for ask in (join("m0", instance="i0"), sync("m0"), beat("m0"), commit("m0"), replace(commit("m0"), api=Api.TXN_OFFSET_COMMIT)):
        entries = [changed(ask, malformed_request(dice, ask, ACTOR)) for _ in range(60)]

        assert all(len(item) <= 1 for item in entries)
        assert {"member_id"} in entries
        assert malformed_request(dice, ask, ACTOR).label == ask.label


def test_a_request_without_a_field_to_put_wrong_stays_as_it_is() -> None:
    assert malformed_request(Dice(), describe("m0"), ACTOR) == describe("m0")
