"""What members of the toy dialect may do in a drawn history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tests.harness.toy_dialect.lease_dialect import LEASE

from groupproof.harness.model.script import Ask, Group, Ref
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.histories.dialect_histories import DialectHistories
from groupproof.harness.running.fuzzing.histories.model_state import ModelState
from groupproof.harness.running.fuzzing.histories.moves import NOBODY, Actor, Move
from groupproof.protocol.vocabulary import Api

__all__ = ["LEASE_HISTORIES"]


def _ask(actor: Actor, epoch: Any) -> Ask:
    fields = {"group_id": Group(), "member_id": f"id-{actor.name}", "member_epoch": epoch}
    return Ask(member=actor.name, api=Api.SHARE_GROUP_HEARTBEAT, fields=fields)


def _holds(model: ModelState, actor: Actor) -> bool:
    view = model.view
    return view is not None and view.leader == f"id-{actor.name}"


def _move(weight: int, epoch: Any, *, stray: int) -> Move:
    return Move(
        api=Api.SHARE_GROUP_HEARTBEAT,
        weigh=lambda model, actor: weight if _holds(model, actor) else stray,
        make=lambda choices, model, actor: _ask(actor, Ref(actor.name, "member_epoch") if epoch is None else epoch),
    )


def _wild(choices: ChoiceSource, ask: Ask, actor: Actor) -> Ask:
    wrong = {"member_id": ("", NOBODY), "member_epoch": (-7, 2_147_483_647, Ref(actor.name, "member_epoch", 1))}
    name = choices.one_of(sorted(wrong))
    return replace(ask, fields={**ask.fields, name: choices.one_of(wrong[name])})


LEASE_HISTORIES: Final = DialectHistories(
    dialect=LEASE, moves=(_move(1, 0, stray=6), _move(6, None, stray=1), _move(2, -1, stray=1)), malformed=_wild
)
