"""The coordinator of a consumer group moves to another broker, or a request goes to another broker (CGL-01 to CGL-12, CGH-41)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import (
    GONE_BY,
    PACED,
    QUICK,
    SMALL,
    after_half,
    consumer_case,
    ordered,
    shared,
    shared_with_classic,
    with_topics_known,
)
from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, Steps, passing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import (
    acknowledge,
    away,
    beat,
    commit,
    configure,
    delete_groups,
    describe,
    fetch,
    full,
    join,
    leave,
)
from groupproof.harness.model.script import MoveGroup

__all__ = ["CASES"]

_MOVE: Final = (passing(700), MoveGroup())
"""A follower fetches the high watermark within replica.fetch.wait.max.ms (500 ms). A coordinator that moves earlier has an older group."""
_ALL: Final = [("t", index) for index in range(4)]


_REVOKES_MS: Final = 1_500


def _moved(name: str, title: str, requirements: tuple[str, ...], *steps: Steps, settings: Mapping[str, Any] = QUICK) -> Case:
    return consumer_case(f"move/{name}", title, requirements, *steps, settings=settings, brokers=2)


# Each stops a broker, and so needs two brokers of its own: there are few cases with many steps.
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
        ("CGL-03", "CGL-02", "CGL-04", "CGR-09"),
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
        with_topics_known(join("a", names=None, regex="{t}")),
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
    _moved(
        "revocation-too-late",
        "counts the time to revoke anew at its new place, and removes a member that does not revoke in it",
        ("CGL-06", "CGL-03", "CGM-46"),
        ordered(timeout=_REVOKES_MS),
        _MOVE,
        passing(_REVOKES_MS + 2 * APART_MS),
        describe("z", code=0),
        beat("a", code=25),
        beat("b", code=0),
    ),
    _moved(
        "silent-members",
        "counts the sessions of a Stable group anew at its new place, and removes a member that is silent for one",
        ("CGL-05", "CGM-40"),
        shared(),
        _MOVE,
        after_half(beat("a", code=0)),
        after_half(describe("z", code=0)),
        beat("b", code=25),
        beat("a", code=0),
        settings=SMALL,
    ),
    _moved(
        "silent-members-while-assigning",
        "counts the sessions anew at its new place of a group that waits for its next target",
        ("CGL-05", "CGM-40"),
        shared(),
        leave("b", code=0),
        _MOVE,
        GONE_BY,
        describe("z", code=0),
        beat("a", code=25),
        settings=SMALL,
    ),
    _moved(
        "where-a-classic-group-was",
        "knows a group of consumers at its new place that has only just taken the place of an empty classic group",
        ("CGL-01", "CGG-03"),
        classic.stable("k"),
        classic.leave("k", code=0),
        join("a", code=0),
        _MOVE,
        full("a", code=0),
        describe("z", code=0),
    ),
    _moved(
        "group-settings",
        "goes by the settings that a group has for itself at its new place",
        ("CGL-10",),
        join("a"),
        with_topics_known(configure("z", {"consumer.heartbeat.interval.ms": "7000"}, code=0)),
        beat("a", code=0),
        _MOVE,
        beat("a", code=0),
        join("b", code=0),
    ),
    _moved(
        "mixed-group",
        "knows classic members of a group of consumers at its new place, with their epoch and what they have",
        ("CGL-11", "CGL-01", "CGL-02"),
        shared_with_classic(),
        classic.commit("k", {("t", 2): 5}, version=9, code=0),
        _MOVE,
        classic.beat("k", code=0),
        classic.sync("k", code=0),
        describe("z", code=0),
        classic.commit("k", {("t", 2): 6}, version=9, code=0),
        fetch("z", {"t": (2,)}, member_id=None, epoch=-1, code=0),
        beat("a", code=0),
    ),
    _moved(
        "deleted-group",
        "knows nothing of a deleted group at its new place",
        ("CGD-26", "CGD-28"),
        join("a"),
        commit("a", {("t", 0): 5}, code=0),
        leave("a", code=0),
        delete_groups("z", code=0),
        _MOVE,
        describe("z", code=69),
        fetch("z", member_id=None, epoch=-1, code=0),
        join("b", code=0),
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
