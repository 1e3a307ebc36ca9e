from __future__ import annotations

from collections import Counter

from tests.harness.fuzzing.drawn import Dice, outlook

from groupproof.harness.fuzzing.moves import MOVES, Actor, asked
from groupproof.harness.scripting import join
from groupproof.protocol.vocabulary import Api

ACTORS = [Actor(name="m0"), Actor(name="m1", instance="i1")]


def test_everything_that_a_member_may_do_is_drawn_sooner_or_later() -> None:
    dice, group = Dice(), outlook()
    group.ask(join("m1", instance="i1", label="in"))

    drawn = Counter(asked(dice, group, ACTORS).api for _ in range(1_000))

    assert set(drawn) == {move.api for move in MOVES}


def test_what_makes_sense_is_drawn_most() -> None:
    dice, nobody, joining = Dice(), outlook(), outlook()
    joining.ask(join("m1", instance="i1", label="in"))

    assert Counter(asked(dice, nobody, ACTORS).api for _ in range(300)).most_common(1)[0][0] is Api.JOIN_GROUP
    assert Counter(asked(dice, joining, ACTORS).api for _ in range(300)).most_common(1)[0][0] is Api.SYNC_GROUP


def test_an_api_that_the_broker_does_not_speak_is_never_drawn() -> None:
    group = outlook()
    group.ranges = {Api.HEARTBEAT: (0, 4)}

    assert {asked(Dice(), group, ACTORS).api for _ in range(20)} == {Api.HEARTBEAT}
