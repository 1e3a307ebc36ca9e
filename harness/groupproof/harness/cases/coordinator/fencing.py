"""Static members with a shared instance id, awaited ones, and ones that leave (STATIC-03, STATIC-10 to STATIC-14, LEAVE-53)."""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import NOBODY, all_joined, alone, case, passing, rejoined
from groupproof.harness.cases.coordinator.static import settled, together
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Ref
from groupproof.harness.model.script_builders import answered, beat, commit, describe, join, leave, sync
from groupproof.protocol.vocabulary import Level

__all__ = ["CASES"]

_DEADLINE_MS: Final = 2_500
_SHORT: Final[dict[str, Any]] = {"rebalance_timeout_ms": _DEADLINE_MS}


def _instance(name: str, member_id: object = "") -> dict[str, object]:
    return {"member_id": member_id, "group_instance_id": f"i-{name}"}


_FENCING = (
    case(
        "fencing/join",
        "refuses a join with a known instance and another's member id with 82",
        ("STATIC-10", "ERR-21"),
        settled("a", "b"),
        join("b", instance="i-a", wait=True, code=82),
        join("z", instance="i-a", member_id=NOBODY, wait=True, code=82),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "fencing/join-of-the-leader",
        "refuses the leader's id with a follower's instance with 82",
        ("STATIC-10",),
        settled("a", "b"),
        join("a", instance="i-b", wait=True, code=82),
        beat("b", instance="i-b", code=0),
    ),
    case(
        "fencing/sync",
        "refuses a sync with a known instance and another member id with 82",
        ("STATIC-10", "SYNC-51", "TR-085"),
        together("a", "b"),
        sync("z", instance="i-a", protocol_name="range", member_id=NOBODY, generation_id=Ref("a", "generation"), code=82),
        sync("z", instance="i-a", protocol_name="range", member_id=NOBODY, generation_id=77, code=82),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, instance="i-a", code=0),
    ),
    case(
        "fencing/heartbeat",
        "refuses a heartbeat with a known instance and another member id with 82, before it looks at the generation",
        ("STATIC-10", "HB-51"),
        settled("a"),
        beat("z", instance="i-a", member_id=NOBODY, generation_id=Ref("a", "generation"), code=82),
        beat("z", instance="i-a", member_id=NOBODY, generation_id=77, code=82),
        beat("a", code=0),
    ),
    case(
        "fencing/commit",
        "refuses a commit with a known instance and another member id with 82",
        ("STATIC-10", "COMMIT-51"),
        settled("a"),
        commit("z", instance="i-a", member_id=NOBODY, generation_id=Ref("a", "generation"), code=82),
        commit("a", code=0),
    ),
    case(
        "fencing/leave",
        "refuses to let a known instance leave with another member id with 82",
        ("STATIC-10", "LEAVE-51"),
        settled("a"),
        leave("x", members=[_instance("a", NOBODY)], code=82),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "fencing/while-preparing",
        "refuses the wrong holder of an instance with 82 also while it waits for joins",
        ("STATIC-10", "HB-51"),
        settled("a", "b"),
        join("a", instance="i-a", is_parked=True),
        beat("z", instance="i-b", member_id=NOBODY, generation_id=Ref("b", "generation"), code=82),
        join("z", instance="i-b", member_id=NOBODY, wait=True, code=82),
        all_joined("b", "a", instance="i-b"),
    ),
    case(
        "fencing/heartbeat-of-unknown-instance",
        "answers a heartbeat with an instance that the group does not know with 25",
        ("STATIC-11",),
        settled("a"),
        beat("a", instance="i-other", code=25),
        level=Level.SHOULD,
        required=False,
    ),
    case(
        "fencing/sync-of-unknown-instance",
        "answers a sync with an instance that the group does not know with 25",
        ("STATIC-11",),
        settled("a"),
        sync("a", instance="i-other", code=25),
        level=Level.SHOULD,
        required=False,
    ),
    case(
        "fencing/commit-of-unknown-instance",
        "answers a commit with an instance that the group does not know with 25",
        ("STATIC-11",),
        settled("a"),
        commit("a", instance="i-other", code=25),
        level=Level.SHOULD,
        required=False,
    ),
    case(
        "fencing/instance-left-out",
        "takes requests of a static member that give its right id and no instance",
        ("STATIC-10",),
        settled("a"),
        beat("a", code=0),
        commit("a", code=0),
        sync("a", code=0),
    ),
)

_DEADLINES = (
    case(
        "static/absent-follower-stays",
        "keeps a static member that did not join by the deadline, and lists it for the leader",
        ("STATIC-03", "STATIC-04", "DJOIN-03", "STATIC-14"),
        settled("a", "b", session_timeout_ms=20_000, **_SHORT),
        join("a", instance="i-a", session_timeout_ms=20_000, is_parked=True, **_SHORT),
        answered("join a", code=0, within_ms=8_000),
        describe("x", code=0),
        beat("b", instance="i-b", code=22),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, instance="i-a", code=0),
    ),
    case(
        "static/absent-leader-loses-the-lead",
        "passes the lead from a static leader that did not join by the deadline to a member that did",
        ("STATIC-12", "STATIC-03"),
        settled("a", "b", session_timeout_ms=20_000, **_SHORT),
        join("b", instance="i-b", session_timeout_ms=20_000, protocols=("range", "roundrobin"), is_parked=True, **_SHORT),
        answered("join b", code=0, within_ms=8_000),
        beat("a", instance="i-a", code=22),
        sync("b", {"a": [("t", 0)], "b": [("t", 1)]}, instance="i-b", code=0),
    ),
    case(
        "static/nobody-joins",
        "goes on waiting when no member has joined by the deadline and static ones are left",
        ("STATIC-13", "TR-050", "STATIC-03"),
        settled("a", "b", "c", session_timeout_ms=20_000, **_SHORT),
        leave("x", members=[_instance("c")], code=0),
        beat("a", instance="i-a", code=27),
        passing(_DEADLINE_MS + 1_000),
        beat("a", instance="i-a", code=27),
        describe("x", code=0),
        join("a", instance="i-a", session_timeout_ms=20_000, **_SHORT),
        answered("join a", code=0, within_ms=8_000),
    ),
    case(
        "static/nobody-joins-until-sessions-end",
        "makes a group Empty when the sessions of the static members end for whom it waited",
        ("STATIC-13", "STATIC-04", "TR-058", "TR-047"),
        settled("a", "b", session_timeout_ms=4_000, rebalance_timeout_ms=1_500),
        leave("x", members=[_instance("b")], code=0),
        passing(2_500),
        describe("x", code=0),
        passing(2_500),
        describe("x", code=0),
        beat("a", instance="i-a", code=25),
        alone("d"),
        beat("d", code=0),
    ),
    case(
        "static/duplicate-while-preparing",
        "fences the first of two that start with one instance while it waits for joins",
        ("STATIC-09", "STATIC-08", "TR-044"),
        settled("a", "b"),
        join("a", instance="i-a", is_parked=True),
        all_joined("b2", "a", instance="i-b"),
        join("b3", instance="i-b", wait=False),
        beat("b2", instance="i-b", code=82),
    ),
)

_LEAVES = (
    case(
        "leave/by-instance",
        "removes the member of the instance that a leave names, whoever sends it",
        ("LEAVE-53", "STATIC-04", "STATIC-05"),
        settled("a", "b"),
        leave("x", members=[_instance("b")], code=0),
        beat("b", instance="i-b", code=25),
        beat("a", instance="i-a", code=27),
    ),
    case(
        "leave/by-instance-and-id",
        "removes a static member by instance and id",
        ("LEAVE-51", "STATIC-04"),
        settled("a", "b"),
        leave("b", members=[_instance("b", Ref("b", "member_id"))], code=0),
        beat("b", instance="i-b", code=25),
    ),
    case(
        "leave/static-by-id-alone",
        "removes a static member by its id alone",
        ("LEAVE-51",),
        settled("a", "b"),
        leave("b", code=0),
        beat("b", code=25),
        beat("a", instance="i-a", code=27),
    ),
    case(
        "leave/unknown-instance",
        "answers the leave of an instance that the group does not know with 25",
        ("LEAVE-51", "STATIC-11"),
        settled("a"),
        leave("x", members=[_instance("other")], code=25),
        leave("x", members=[_instance("other", Ref("a", "member_id"))], code=25),
        beat("a", instance="i-a", code=0),
    ),
    case(
        "leave/batch-of-instances",
        "removes all instances that one request names",
        ("LEAVE-51", "LEAVE-53"),
        settled("a", "b", "c"),
        leave("x", members=[_instance("a"), _instance("b")], code=0),
        beat("c", instance="i-c", code=27),
        rejoined("c", instance="i-c"),
    ),
    case(
        "leave/batch-with-a-fenced-one",
        "judges each instance by itself: one leaves, the other is refused with 82",
        ("LEAVE-51", "STATIC-10"),
        settled("a", "b"),
        leave("x", members=[_instance("b"), _instance("a", NOBODY)], code=82),
        beat("a", instance="i-a", code=27),
    ),
    case(
        "leave/batch-with-an-unknown-instance",
        "judges each instance by itself: an unknown one gets 25, the other leaves",
        ("LEAVE-51", "LEAVE-53"),
        settled("a", "b"),
        leave("x", members=[_instance("other"), _instance("b")], code=25),
        beat("a", instance="i-a", code=27),
    ),
    case(
        "leave/instance-whose-join-waits",
        "answers the waiting join of an instance that is removed with 25",
        ("LEAVE-53", "LEAVE-08"),
        settled("a", "b"),
        join("a", instance="i-a", is_parked=True),
        leave("x", members=[_instance("a")], code=0),
        answered("join a", code=25, within_ms=2_000),
        rejoined("b", instance="i-b"),
    ),
    *(
        case(
            f"static/speaks-v{join_version}",
            f"keeps a static member by JoinGroup v{join_version}, SyncGroup v{sync_version}, Heartbeat v{beat_version} and OffsetCommit v{commit_version}",
            ("STATIC-01", "STATIC-06", "STATIC-10"),
            rejoined("a", instance="i-a", version=join_version),
            sync("a", {"a": [("t", 0)]}, instance="i-a", version=sync_version, code=0),
            beat("a", instance="i-a", version=beat_version, code=0),
            commit("a", instance="i-a", version=commit_version, code=0),
            join("a2", instance="i-a", version=join_version, wait=True, code=0),
            beat("a", instance="i-a", version=beat_version, code=82),
            commit("a", instance="i-a", version=commit_version, code=82),
            sync("a", instance="i-a", version=sync_version, code=82),
            sync("a2", instance="i-a", version=sync_version, code=0),
        )
        for join_version, sync_version, beat_version, commit_version in ((5, 3, 3, 7), (6, 4, 4, 8), (7, 5, 4, 8), (8, 5, 4, 9), (9, 5, 4, 9))
    ),
)

CASES: tuple[Case, ...] = (*_FENCING, *_DEADLINES, *_LEAVES)
