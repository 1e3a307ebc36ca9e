"""Identities in each state of a group with static members: a replaced, an unknown and a pending one (STATIC-10, STATIC-11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import NOBODY, alone, case, gathered, named
from groupproof.harness.cases.coordinator.static import settled, together
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Ask, Ref, ScriptStep
from groupproof.harness.model.script_builders import answered, beat, commit, join, leave, stable, sync
from groupproof.protocol.vocabulary import Level

__all__ = ["CASES"]

_STATES: Final[Mapping[str, tuple[str, tuple[ScriptStep, ...]]]] = {
    "preparing": ("waits for joins", (*settled("a", "b"), join("a", instance="i-a", is_parked=True))),
    "completing": ("waits for the leader's assignment", together("a", "b")),
    "stable": ("is Stable", settled("a", "b")),
}
_GENERATION: Final = Ref("b", "generation")


def _left(instance: str, member_id: Any, code: int) -> Ask:
    return leave("z", members=[{"member_id": member_id, "group_instance_id": instance}], code=code)


_ASKED: Final[Mapping[str, tuple[str, Callable[[str, Any, int], Ask]]]] = {
    "join": ("join", lambda instance, member_id, code: join("z", instance=instance, member_id=member_id, wait=True, code=code)),
    "sync": (
        "sync",
        lambda instance, member_id, code: sync(
            "z", instance=instance, member_id=member_id, generation_id=_GENERATION, protocol_name="range", code=code
        ),
    ),
    "heartbeat": (
        "heartbeat",
        lambda instance, member_id, code: beat("z", instance=instance, member_id=member_id, generation_id=_GENERATION, code=code),
    ),
    "commit": ("commit", lambda instance, member_id, code: commit("z", instance=instance, member_id=member_id, generation_id=_GENERATION, code=code)),
    "leave": ("leave", _left),
}

_HELD = tuple(
    case(
        f"fencing/{name}-{state}",
        f"refuses the {words} of an instance's wrong holder with 82 while the group {state_words}, and the right one is still a member",
        ("STATIC-10", "ERR-21"),
        steps,
        ask("i-b", NOBODY, 82),
        beat("b", instance="i-b", code=27 if state == "preparing" else 0),
    )
    for state, (state_words, steps) in _STATES.items()
    for name, (words, ask) in _ASKED.items()
)

_UNKNOWN = tuple(
    case(
        f"fencing/{name}-of-unknown-instance-{state}",
        f"answers the {words} of a member that names an instance unknown to the group with 25 while the group {state_words}",
        ("STATIC-11",),
        steps,
        ask("i-other", Ref("b", "member_id"), 25),
        level=Level.MUST if name == "join" else Level.SHOULD,
        required=False,
    )
    for state, (state_words, steps) in _STATES.items()
    for name, (words, ask) in _ASKED.items()
)

_PENDING = tuple(
    case(
        f"join/pending-id-with-instance-{state}",
        f"answers a pending id that now names a group instance with an error of the server while the group {words}",
        ("PEND-12",),
        before,
        join("p", wait=True, code=79),
        after,
        join("p", wait=True, code=-1, instance="i"),
        level=Level.INFO,
        required=False,
    )
    for state, words, before, after in (
        ("preparing", "waits for joins", stable("a", "b"), (join("a", is_parked=True),)),
        ("completing", "waits for the leader's assignment", gathered("a", "b"), ()),
        ("stable", "is Stable", stable("a", "b"), ()),
    )
)

_NOBODY_LEAVES = tuple(
    case(
        f"leave/nobody-named-{state}",
        f"answers a leave that names nobody's id with 25 while the group {words}",
        ("LEAVE-51",),
        steps,
        leave("z", members=[{"member_id": "", "group_instance_id": None}], code=25),
        beat("b", instance="i-b", code=27 if state == "preparing" else 0),
    )
    for state, (words, steps) in _STATES.items()
)

_REMOVALS = (
    case(
        "leave/by-instance-completing",
        "breaks the rebalance off when an instance is removed before the sync: waiting syncs get 27",
        ("LEAVE-53", "LEAVE-06"),
        together("a", "b", "c"),
        sync("b", instance="i-b", wait=False, is_parked=True),
        leave("x", members=[{"member_id": "", "group_instance_id": "i-c"}], code=0),
        answered("sync b", code=27),
        beat("c", instance="i-c", code=25),
    ),
    case(
        "leave/pending-completing",
        "answers an id that leaves between join and sync, before it came back, with 0",
        ("PEND-07",),
        alone("a"),
        join("p", wait=True, code=79),
        leave("x", members=named("p"), code=0),
        join("p", wait=True, code=25),
    ),
)

CASES: tuple[Case, ...] = (*_HELD, *_UNKNOWN, *_PENDING, *_NOBODY_LEAVES, *_REMOVALS)
