"""Static members that return: restarts in each state, with and without changes (STATIC-01 to STATIC-16)."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.coordinator.coordinator_case_builders import all_joined, case, let_in, passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import ScriptStep, SubscriptionBytes
from groupproof.harness.model.script_builders import answered, beat, commit, describe, join, leave, sync

__all__ = ["CASES", "settled", "together"]

_SKIPS_FROM = 9
"""The version of JoinGroup whose answer can make a leader skip the assignment."""


def together(leader: str, *followers: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Let static members, each with the instance "i-NAME", join one generation; the first leads, and none has synced."""
    steps: list[ScriptStep] = [join(leader, instance=f"i-{leader}", **overrides), answered(f"join {leader}", code=0)]
    steps += [join(follower, instance=f"i-{follower}", is_parked=True, **overrides) for follower in followers]
    if followers:
        steps.append(join(leader, instance=f"i-{leader}", **overrides))
    return (*steps, *(answered(f"join {name}", code=0) for name in (leader, *followers) if followers))


def settled(leader: str, *followers: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Let the members join and sync: the group is Stable, and partition i is the i-th member's."""
    owned = {name: [("t", index)] for index, name in enumerate((leader, *followers))}
    synced = (sync(follower, instance=f"i-{follower}", code=0) for follower in followers)
    return (*together(leader, *followers, **overrides), sync(leader, owned, instance=f"i-{leader}", code=0), *synced)


def _returns(member: str, **overrides: Any) -> Any:
    """Restart the process of `member` as "MEMBER2": it knows its instance id and no member id."""
    return join(f"{member}2", instance=f"i-{member}", **overrides)


_FIRST = (
    case(
        "static/first-member",
        "takes a static member in at once, with an id that begins with its instance",
        ("STATIC-01", "STATIC-02", "PEND-12", "TR-001"),
        settled("a"),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "static/newcomer",
        "begins a rebalance for a static newcomer without a round for its id",
        ("STATIC-02", "TR-110", "PEND-12"),
        settled("a"),
        join("b", instance="i-b", is_parked=True),
        beat("a", instance="i-a", code=27),
        all_joined("a", "b", instance="i-a"),
    ),
    case(
        "static/beside-dynamic",
        "keeps static and dynamic members in one group, and tells the leader which is which",
        ("STATIC-01", "JOIN-14"),
        together("a", "b"),
        join("c", wait=True, code=79),
        join("c", is_parked=True),
        join("b", instance="i-b", is_parked=True),
        join("a", instance="i-a"),
        *(answered(f"join {name}", code=0) for name in ("a", "b", "c")),
        describe("x", code=0),
    ),
    case(
        "static/unknown-instance-with-id",
        "refuses a member id that comes with an instance that the group does not know with 25",
        ("STATIC-11",),
        settled("a"),
        join("a", instance="i-other", wait=True, code=25),
        beat("a", instance="i-a", code=0),
    ),
)

_RESTARTS = (
    case(
        "static/follower-restarts",
        "gives a follower that starts anew another id in the same generation, without a rebalance; its old assignment is its own",
        ("STATIC-06", "STATIC-16", "TR-115", "JOIN-51"),
        settled("a", "b"),
        _returns("b", wait=True, code=0),
        sync("b2", instance="i-b", code=0),
        beat("b2", instance="i-b", code=0),
        beat("a", instance="i-a", code=0),
    ),
    *(
        case(
            f"static/leader-restarts-v{version}",
            f"gives a leader that starts anew by JoinGroup v{version} another id in the same generation, without a rebalance",
            ("STATIC-06", "STATIC-16", "TR-115"),
            settled("a", "b", version=version),
            _returns("a", wait=True, code=0, version=version),
            sync("a2", instance="i-a", code=0),
            beat("a2", instance="i-a", code=0),
            beat("b", instance="i-b", code=0),
        )
        for version in range(5, _SKIPS_FROM + 1)
    ),
    case(
        "static/ids-differ-each-time",
        "gives a static member another id each time it starts anew",
        ("STATIC-01", "STATIC-06"),
        settled("a", "b"),
        _returns("b", wait=True, code=0),
        _returns("b", wait=True, code=0, member_id="", over="b3"),
        beat("b2", instance="i-b", code=0),
    ),
    case(
        "static/old-id-is-fenced",
        "answers the id that a static member had before it started anew with 82, and without the instance with 25",
        ("STATIC-10", "STATIC-09", "ERR-21"),
        settled("a", "b"),
        _returns("b", wait=True, code=0),
        join("b", instance="i-b", wait=True, code=82),
        sync("b", instance="i-b", code=82),
        beat("b", instance="i-b", code=82),
        commit("b", instance="i-b", code=82),
        beat("b", code=25),
        sync("b", code=25),
        beat("b2", instance="i-b", code=0),
    ),
    case(
        "static/old-leader-is-fenced",
        "answers the id that a static leader had before it started anew with 82",
        ("STATIC-10", "STATIC-09"),
        settled("a", "b"),
        _returns("a", wait=True, code=0),
        join("a", instance="i-a", wait=True, code=82),
        sync("a", {"a": [("t", 1)]}, instance="i-a", code=82),
        sync("a", code=25),
    ),
    case(
        "static/restart-with-other-protocols-chosen",
        "begins a rebalance when a restart changes which protocol has most votes",
        ("TR-115", "JOIN-32"),
        together("a", "b", protocols=("range", "roundrobin")),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, instance="i-a", code=0),
        sync("b", instance="i-b", code=0),
        _returns("b", protocols=("roundrobin",), is_parked=True),
        beat("a", instance="i-a", code=27),
        join("a", instance="i-a", protocols=("range", "roundrobin")),
        let_in("a", "b2"),
    ),
    case(
        "static/restart-with-more-protocols",
        "rebalances nothing when a restart offers more, but the group's protocol stays",
        ("TR-115", "STATIC-06"),
        settled("a", "b"),
        _returns("b", protocols=("range", "roundrobin"), wait=True, code=0),
        sync("b2", instance="i-b", code=0),
        sync("b", instance="i-b", code=82),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "static/restart-with-other-metadata",
        "rebalances nothing when a restart brings other metadata for the same protocol",
        ("TR-115", "STATIC-06"),
        settled("a", "b"),
        _returns("b", metadata=SubscriptionBytes(user_data=b"new"), wait=True, code=0),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "static/restart-takes-new-timeouts",
        "holds a static member that started anew to the session timeout that it gave last",
        ("TR-115", "HB-14"),
        settled("a", "b"),
        _returns("b", session_timeout_ms=2_000, wait=True, code=0),
        beat("b2", instance="i-b", code=0),
        passing(2_800),
        beat("b2", instance="i-b", code=25),
        beat("a", instance="i-a", code=27),
        required=False,
    ),
    case(
        "static/restart-while-completing",
        "begins anew when a static member starts anew between join and sync; the sync that its old id waits with gets 82",
        ("STATIC-07", "TR-089", "STATIC-09"),
        together("a", "b"),
        sync("b", instance="i-b", wait=False, is_parked=True),
        _returns("b"),
        answered("sync b", code=82),
        all_joined("a", "b2", instance="i-a"),
    ),
    case(
        "static/leader-restarts-while-completing",
        "begins anew when a static leader starts anew before it synced; followers that wait get 27",
        ("STATIC-07", "TR-089", "JOIN-19"),
        together("a", "b"),
        sync("b", instance="i-b", wait=False, is_parked=True),
        _returns("a"),
        answered("sync b", code=27),
        join("b", instance="i-b"),
        answered("join b", code=0),
        answered("join a2", code=0),
    ),
    case(
        "static/restart-while-preparing",
        "lets a static member that starts anew wait with the others; the join that its old id waits with gets 82",
        ("STATIC-08", "STATIC-09", "TR-044"),
        settled("a", "b"),
        join("a", instance="i-a", is_parked=True),
        _returns("a", is_parked=True),
        answered("join a", code=82),
        join("b", instance="i-b"),
        answered("join b", code=0),
        answered("join a2", code=0),
        beat("a2", instance="i-a", code=0),
    ),
    case(
        "static/old-id-joins-after-restart",
        "answers a join of a static member's old id with 82 while the new one waits",
        ("STATIC-10", "TR-044"),
        settled("a", "b"),
        join("a", instance="i-a", is_parked=True),
        _returns("b"),
        join("b", instance="i-b", wait=True, code=82),
        let_in("a", "b2"),
    ),
    case(
        "static/follower-rejoins-with-its-id",
        "answers a static follower that joins again unchanged, with its id, at once",
        ("TR-113", "JOIN-25", "JOIN-51"),
        settled("a", "b"),
        join("b", instance="i-b", wait=True, code=0),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "static/follower-rejoins-with-other-protocols",
        "begins a rebalance when a static follower joins again, with its id, with other protocols",
        ("TR-112", "JOIN-24"),
        settled("a", "b"),
        join("b", instance="i-b", protocols=("range", "roundrobin"), is_parked=True),
        beat("a", instance="i-a", code=27),
        all_joined("a", "b", instance="i-a"),
    ),
    case(
        "static/leader-rejoins-with-its-id",
        "begins a rebalance when a static leader joins again with its id",
        ("TR-111", "JOIN-23"),
        settled("a", "b"),
        join("a", instance="i-a", is_parked=True),
        beat("b", instance="i-b", code=27),
        all_joined("b", "a", instance="i-b"),
    ),
    case(
        "static/rejoins-while-completing",
        "answers a static member that joins again unchanged between join and sync at once",
        ("TR-086", "JOIN-20"),
        together("a", "b"),
        join("b", instance="i-b", wait=True, code=0),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, instance="i-a", code=0),
        sync("b", instance="i-b", code=0),
    ),
    case(
        "static/session-ends",
        "gives a static member's place up when its session ends, and forgets the instance",
        ("STATIC-04", "STATIC-05", "TR-120"),
        settled("a", "b", session_timeout_ms=3_000),
        passing(1_800),
        beat("a", instance="i-a", code=0),
        passing(1_800),
        beat("a", instance="i-a", code=27),
        beat("b", instance="i-b", code=25),
        _returns("b"),
        all_joined("a", "b2", instance="i-a"),
    ),
    case(
        "static/comes-back-to-empty-group",
        "takes a static member in that comes back after the group became Empty",
        ("STATIC-02", "TR-020", "STATIC-05"),
        settled("a"),
        leave("a", members=[{"member_id": "", "group_instance_id": "i-a"}], code=0),
        _returns("a"),
        answered("join a2", code=0),
    ),
)

CASES: tuple[Case, ...] = (*_FIRST, *_RESTARTS)
