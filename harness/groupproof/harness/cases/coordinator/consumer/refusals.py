"""Refusals of a group of both protocols, in each of its states: these checks come before all that depends on the state.

A refused request changes no group, so one case sends many of them. `a` is a static consumer, `k` a classic member that has to join again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import QUICK, SMALL, TOPICS_KNOWN, consumer_case
from groupproof.harness.cases.coordinator.coordinator_case_builders import Steps
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, commit, delete_groups, fetch, join, leave, settled
from groupproof.harness.model.script import Ref

__all__ = ["CASES"]

_OWN: Final = "i1"
_OTHERS: Final = "i9"
_BROKEN: Final = b"\x00\x01"
_BESIDE: Final[Sequence[Steps]] = (
    join("a", instance=_OWN), classic.joined("k", wait=True), classic.sync("k", code=0), beat("a"), acknowledge("a"), classic.join("k", wait=True),
    classic.sync("k", code=0),
)  # fmt: skip
"""A consumer and a classic member; each has half of t."""

_STATES: Final[Mapping[str, tuple[str, Sequence[Steps]]]] = {
    "assigning": ("Assigning", (*_BESIDE, join("b"), leave("b"))),
    "reconciling": ("Reconciling", (*_BESIDE, join("b"))),
    "stable": ("Stable", _BESIDE),
}


def _later(member: str, by: int = 1) -> Ref:
    return Ref(member, "generation", by)


def _heartbeats() -> Iterator[Steps]:
    yield classic.beat("k", instance=_OTHERS, code=25)
    yield classic.beat("k", instance=_OWN, code=82)
    yield classic.beat("k", member_id="nobody", code=25)
    yield classic.beat("k", generation_id=_later("k"), code=22)


def _syncs() -> Iterator[Steps]:
    yield classic.sync("k", instance=_OTHERS, code=25)
    yield classic.sync("k", instance=_OWN, code=82)
    yield classic.sync("k", member_id="nobody", code=25)
    yield classic.sync("k", generation_id=_later("k"), code=22)
    yield classic.sync("k", protocol_name="another", code=23)


def _joins() -> Iterator[Steps]:
    yield classic.join("k", wait=True, protocols=("another",), code=23)
    yield classic.join("z", wait=True, version=5, code=79)
    yield classic.join("k", wait=True, instance=_OTHERS, code=25)
    yield classic.join("k", wait=True, instance=_OWN, code=82)
    yield classic.join("k", wait=True, metadata=_BROKEN, code=-1)


def _consumer_heartbeats() -> Iterator[Steps]:
    yield leave("z", instance=_OTHERS, code=25)
    yield leave("z", instance=_OWN, code=82)
    yield join("z", instance=_OWN, code=111)
    yield beat("a", instance=_OTHERS, code=25)
    yield beat("z", epoch=1, instance=_OWN, code=82)
    yield join("z", names=None, regex="(", code=128)


def _offsets() -> Iterator[Steps]:
    yield commit("a", version=8, code=35)
    yield classic.commit("k", version=9, generation_id=_later("k"), code=22)
    yield classic.commit("k", version=9, generation_id=0)
    yield commit("a", epoch=0)
    yield fetch("a", member_id=None, epoch=-1, code=0)
    yield fetch("z", epoch=1, code=25)
    yield fetch("a", member_id=Ref("k", "member_id"), epoch=0, code=22)
    yield fetch("a", member_id=None, epoch=1, code=-1)


def _administration() -> Iterator[Steps]:
    yield classic.describe("z", version=5)
    yield classic.describe("z", version=6)
    yield delete_groups("z", code=68)
    yield classic.leave("z", members=({"member_id": "nobody", "group_instance_id": None}, {"member_id": "", "group_instance_id": _OTHERS}))


_ASKED: Final[Mapping[str, tuple[str, tuple[str, ...], Callable[[], Iterator[Steps]]]]] = {
    "heartbeat": ("a classic Heartbeat", ("CGG-34", "CGG-35", "CGG-62"), _heartbeats),
    "sync": ("a SyncGroup", ("CGG-33", "CGG-31", "CGG-32", "CGG-62"), _syncs),
    "join": ("a JoinGroup", ("CGG-22", "CGG-23", "CGG-62", "CGG-63"), _joins),
    "consumer-heartbeat": ("a heartbeat of KIP-848", ("CGS-02", "CGS-08", "CGS-09", "CGS-10", "CGH-22"), _consumer_heartbeats),
    "offsets": ("a commit or a fetch", ("CGO-11", "CGG-44", "CGG-45", "CGO-31"), _offsets),
    "administration": ("a description, a deletion or the leave of a stranger", ("CGD-17", "CGD-18", "CGD-24", "CGG-47"), _administration),
}

_FULL: Final = (join("a"), join("b"), join("c"), settled("a", "b", "c"))


def _refused(state: str, api: str) -> Case:
    (name, steps), (request, requirements, asked) = _STATES[state], _ASKED[api]
    title = f"refuses what is wrong with {request} while a group of both protocols is {name}"
    return consumer_case(f"refused/{api}-{state}", title, requirements, *steps, *asked(), settings=QUICK)


def _when_full(word: str, *steps: Steps) -> Case:
    late: Any = classic.join("z", wait=True, member_id="z", code=81)
    return consumer_case(
        f"refused/full-{word}", f"lets nobody into a full group that is {word.title()}, in either protocol", ("CGG-68", "CGM-36", "CGM-37"), *steps, late,
        join("z", code=81), settings=SMALL,
    )  # fmt: skip


CASES: Final[tuple[Case, ...]] = (
    *(_refused(state, api) for api in _ASKED for state in _STATES),
    _when_full("stable", *_FULL),
    _when_full("reconciling", join("a"), join("b"), join("c")),
    _when_full("assigning", join("a"), join("b"), join("c", names=None, regex="{t}"), TOPICS_KNOWN),
)
