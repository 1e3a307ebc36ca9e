"""The coordinator of a consumer group moves to another broker, or another broker is asked (CGL-01 to CGL-12, CGH-41)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import PACED, QUICK, TOPICS_KNOWN, consumer_case, ordered, shared
from groupproof.harness.cases.coordinator.coordinator_case_builders import Steps, passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, away, beat, commit, describe, fetch, full, join, leave
from groupproof.harness.model.script import MoveGroup

__all__ = ["CASES"]

_MOVE: Final = (passing(700), MoveGroup())
"""A follower hears with its next fetch how far the log is committed, within replica.fetch.wait.max.ms (500 ms): a coordinator that moved there sooner shows an older group."""
_ALL: Final = [("t", index) for index in range(4)]


def _moved(name: str, title: str, requirements: tuple[str, ...], *steps: Steps) -> Case:
    return consumer_case(f"move/{name}", title, requirements, *steps, settings=QUICK, brokers=2)


# Each stops a broker, and so needs two of its own: few cases with much in them.
_MOVES: Final = (
    _moved(
        "stable-group",
        "knows a Stable group at its new place: epochs, members, assignments and offsets",
        ("CGL-01", "CGL-02", "CGL-07", "CGL-12", "CGL-13"),
        shared(),
        commit("a", {("t", 0): 5}, code=0),
        _MOVE,
        beat("a", code=0),
        full("b", code=0),
        describe("z", code=0),
        fetch("a", code=0),
        beat("z", epoch=2, code=25),
        leave("b", code=0),
        beat("a", code=0),
    ),
    _moved(
        "pending-revocation",
        "knows at its new place what a member is to revoke",
        ("CGL-03", "CGL-02", "CGR-09"),
        ordered(),
        _MOVE,
        beat("b", code=0),
        full("a", owned=_ALL, code=0),
        acknowledge("a", code=0),
        beat("b", code=0),
        describe("z", code=0),
    ),
    _moved(
        "static-slot",
        "knows at its new place the place of a static member that is away",
        ("CGL-08", "CGS-33"),
        join("s", instance="i1"),
        away("s", "i1"),
        _MOVE,
        describe("z", code=0),
        join("r", instance="i1", code=0),
        beat("s", instance="i1", code=82),
    ),
    _moved(
        "regex",
        "knows at its new place regular expressions and what they matched, and counts no epoch up",
        ("CGL-09",),
        join("a", names=None, regex="{t}"),
        TOPICS_KNOWN,
        beat("a"),
        acknowledge("a"),
        _MOVE,
        beat("a", code=0),
        describe("z", code=0),
    ),
    _moved(
        "empty-group",
        "knows an Empty group, its epoch and its offsets at its new place",
        ("CGL-01", "CGL-07", "CGM-35"),
        join("a"),
        commit("a", {("t", 0): 5}, code=0),
        leave("a", code=0),
        _MOVE,
        describe("z", code=0),
        fetch("z", member_id=None, epoch=-1, code=0),
        join("b", code=0),
    ),
    _moved(
        "first-member",
        "knows a group at its new place that had only just begun",
        ("CGL-01", "CGL-02"),
        join("a"),
        _MOVE,
        full("a", code=0),
        describe("z", code=0),
    ),
    _moved(
        "half-emptied-group",
        "knows at its new place that a member has left, and that the next target is to come",
        ("CGL-01", "CGD-04"),
        shared(),
        leave("b", code=0),
        _MOVE,
        beat("b", code=25),
        describe("z", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
)

_ELSEWHERE: Final = tuple(
    consumer_case(
        f"elsewhere/{name}",
        f"answers {words} that came to a broker which does not coordinate the group with {step.code}",
        ("CGH-41",),
        join("a"),
        step,
        beat("a", code=0),
        settings=PACED,
        brokers=2,
    )
    for name, words, step in (
        ("join", "a join", join("b", to="other", code=16)),
        ("heartbeat", "a heartbeat", beat("a", over="a/2", to="other", code=16)),
        ("leave", "a leave", leave("a", over="a/2", to="other", code=16)),
        ("describe", "a description", describe("z", to="other", code=16)),
        ("malformed", "a malformed join", join("b", to="other", server_assignor="nobody", code=112)),
    )
)

CASES: Final[tuple[Case, ...]] = (*_MOVES, *_ELSEWHERE)
