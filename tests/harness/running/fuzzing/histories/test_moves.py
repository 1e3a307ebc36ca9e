from __future__ import annotations

from collections import Counter

from tests.harness.running.fuzzing.drawn import Dice, model

from groupproof.harness.model.script import Ref
from groupproof.harness.model.script_builders import join
from groupproof.harness.running.fuzzing.histories.moves import MOVES, Actor, asked
from groupproof.protocol.vocabulary import Api

ACTORS = [Actor(name="m0"), Actor(name="m1", instance="i1")]


def test_everything_that_a_member_may_do_is_drawn_sooner_or_later() -> None:
    dice, group = Dice(), model()
    group.ask(join("m1", instance="i1", label="in"))

    drawn = Counter(asked(dice, group, ACTORS).api for _ in range(1_000))

    assert set(drawn) == {move.api for move in MOVES}


def test_what_makes_sense_is_drawn_most() -> None:
    dice, nobody, joining = Dice(), model(), model()
    joining.ask(join("m1", instance="i1", label="in"))

    assert Counter(asked(dice, nobody, ACTORS).api for _ in range(300)).most_common(1)[0][0] is Api.JOIN_GROUP
    assert Counter(asked(dice, joining, ACTORS).api for _ in range(300)).most_common(1)[0][0] is Api.SYNC_GROUP


def test_an_api_that_the_broker_does_not_speak_is_never_drawn() -> None:
    group = model()
    group.ranges = {Api.HEARTBEAT: (0, 4)}

    assert {asked(Dice(), group, ACTORS).api for _ in range(20)} == {Api.HEARTBEAT}


def test_a_commit_in_a_transaction_is_of_the_members_own_producer_in_its_first_epoch() -> None:
    dice, group = Dice(), model()
    drawn = [ask for ask in (asked(dice, group, ACTORS) for _ in range(1_000)) if ask.api is Api.TXN_OFFSET_COMMIT]

    assert {(ask.member, ask.fields["producer_id"]) for ask in drawn} == {(name, Ref(name, "producer_id")) for name in ("m0", "m1")}
    assert not any("producer_epoch" in ask.fields for ask in drawn)
    assert {ask.fields["member_id"] for ask in drawn if ask.member == "m0"} == {"", Ref("m0", "member_id")}
