"""The expiry of unneeded offsets and of groups without content (CGM-34, CGO-50, CGO-51, CGD-28; `OffsetExpirationConditionImpl`).

Offsets are kept for a minute, and the broker checks every ten seconds, as in the classic cases, which use the same cluster. Requests
come well before a minute is over, or well after the next check.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import consumer_case
from groupproof.harness.cases.coordinator.coordinator_case_builders import SMALL, Steps, passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, commit, describe, fetch, join, leave

__all__ = ["CASES"]

_SOME_TIME: Final = passing(28_000)
_REST: Final = passing(34_000)
_OF_BOTH: Final = commit("a", {("t", 0): 5, ("u", 0): 7}, code=0)
_ASKED: Final = fetch("z", {"t": (0,), "u": (0,)}, member_id=None, epoch=-1, code=0)
_BEATS: Final = (acknowledge("a"), acknowledge("b"))
_PAUSE: Final = passing(1_300)
_PAIR: Final = (join("a"), join("b"), *(_PAUSE, *_BEATS) * 3)
_LONG: Final = (_SOME_TIME, *_BEATS, _SOME_TIME, *_BEATS)


def _given_up(state: str, *before: Steps) -> Case:
    return consumer_case(
        f"retention/given-up-while-{state}",
        f"forgets the offset of a topic that nobody subscribes to after its time, and keeps the others, while the group is {state.title()}",
        ("CGM-34", "CGO-01"),
        *_PAIR,
        _OF_BOTH,
        *_LONG,
        _ASKED,
        *before,
        _REST,
        _ASKED,
        describe("z", code=0),
        settings=SMALL,
    )


CASES: Final[tuple[Case, ...]] = (
    _given_up("stable"),
    _given_up("assigning", leave("b", code=0)),
    _given_up("reconciling", join("c"), _PAUSE, beat("a"), beat("b")),
    consumer_case(
        "retention/empty-group",
        "keeps an Empty group as long as it has offsets, and then forgets both",
        ("CGM-34", "CGD-11"),
        join("a"),
        commit("a", {("t", 0): 5}, code=0),
        leave("a", code=0),
        _SOME_TIME,
        describe("z", code=0),
        _SOME_TIME,
        _REST,
        describe("z"),
        fetch("z", member_id=None, epoch=-1, code=0),
        join("b", code=0),
        settings=SMALL,
    ),
)
