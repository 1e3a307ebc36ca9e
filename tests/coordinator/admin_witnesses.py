"""Witnesses of the rows for admin requests, transactional commits and retention, in the form of test_every_rule.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

__all__ = ["ADMIN_COURSES", "ADMIN_REQUESTS"]

LIVE = ("PreparingRebalance", "CompletingRebalance", "Stable")
DAY_MS = 24 * 60 * 60 * 1000


def _in(states: tuple[str, ...], kind: str, acts: dict[str, Callable[[Scene, Any], object]]) -> dict[str, Callable[[Scene, Any], object]]:
    return {f"{kind}/{state}/{row}": act for state in states for row, act in acts.items()}


ADMIN_REQUESTS: dict[str, Callable[[Scene, Any], object]] = {
    "DescribeGroups/none/not-found": lambda s, c: s.describe(),
    "DescribeGroups/none/dead": lambda s, c: s.describe(version=5),
    **_in(("Empty", *LIVE, "Dead"), "DescribeGroups", {"described": lambda s, c: s.describe()}),
    "ListGroups/none/listed": lambda s, c: s.list_groups(),
    **_in(("none", "Dead"), "DeleteGroups", {"not-found": lambda s, c: s.delete()}),
    **_in(LIVE, "DeleteGroups", {"in-use": lambda s, c: s.delete()}),
    "DeleteGroups/Empty/deleted": lambda s, c: s.delete(),
    **_in(("none", "Dead"), "OffsetDelete", {"not-found": lambda s, c: s.delete_offsets(0)}),
    **_in(("Empty", *LIVE), "OffsetDelete", {"deleted": lambda s, c: s.delete_offsets(0)}),
    "TxnOffsetCommit/none/first-commit": lambda s, c: s.txn_commit(),
    "TxnOffsetCommit/none/no-group": lambda s, c: s.txn_commit("x", 1),
    "TxnOffsetCommit/Empty/no-membership": lambda s, c: s.txn_commit("x"),
    "TxnOffsetCommit/Empty/stranger": lambda s, c: s.txn_commit("x", 1),
    **_in(LIVE, "TxnOffsetCommit", {
        "names-nobody": lambda s, c: s.txn_commit(),
        "unknown-instance": lambda s, c: s.txn_commit(c.d, 1, instance="b"),
        "fenced": lambda s, c: s.txn_commit(c.d, 1, instance="a"),
        "stranger": lambda s, c: s.txn_commit("x", 1),
        "other-generation": lambda s, c: s.txn_commit(c.d, 9),
        "commits": lambda s, c: s.txn_commit(c.d, 1),
    }),
    "TxnOffsetCommit/Dead/dead": lambda s, c: s.txn_commit(c.d, 1),
    **_in(("Empty", *LIVE), "TxnMarker", {
        "committed": lambda s, c: (s.txn_commit(), s.end()),
        "aborted": lambda s, c: (s.txn_commit(), s.end(commit=False)),
    }),
    **_in(("PreparingRebalance", "CompletingRebalance"), "Retention", {"in-use": lambda s, c: s.after(5_000)}),
    "Retention/Stable/topics-given-up": lambda s, c: s.after(5_000),
    "Retention/Empty/counted-from-commit": lambda s, c: s.after(7_000),
    "Retention/Dead/dead": lambda s, c: s.after(5_000),
}  # fmt: skip


def _other_protocol(scene: Scene, state: str) -> Scene:
    if state == "CompletingRebalance":
        scene.joined(protocol_type="connect")
        return scene
    (leader,) = scene.stable(protocol_type="connect")
    if state == "PreparingRebalance":
        scene.join(protocol_type="connect")
        assert leader in scene.members()
    return scene


def _in_use(state: str) -> Callable[[Scene], object]:
    return lambda scene: (_other_protocol(scene, state), scene.delete_offsets(0))


def _dead_with_open_transaction(scene: Scene) -> None:
    scene.txn_commit()
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    scene.end()


def _refused(scene: Scene, instances: tuple[str, ...] = ()) -> Scene:
    """Let the log refuse records once the static members named are there."""
    if instances:
        scene.stable(0, instances=instances, version=5)
    scene.coordinator.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return scene


ADMIN_COURSES: dict[str, Callable[[Scene], object]] = {
    "JoinGroup/none/not-appended": lambda s: _refused(s).join(),
    "JoinGroup/Stable/not-appended": lambda s: _refused(s, ("a",)).join(instance="a", version=5),
    **{f"OffsetDelete/{state}/in-use": _in_use(state) for state in LIVE},
    "TxnMarker/Dead/dead": _dead_with_open_transaction,
    "Retention/Empty/counted-from-empty": lambda s: (s.stable(), s.leave(*s.members()), s.after(600_000)),
    "Retention/Stable/in-use": lambda s: (s.stable(protocol_type="connect", session_ms=700_000), s.after(600_000)),
}
