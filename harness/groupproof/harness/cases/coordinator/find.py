"""Finding the coordinator, and requests to a broker that is not it (FIND-01 to FIND-10)."""

from __future__ import annotations

from groupproof.harness.cases.coordinator.coordinator_case_builders import NOBODY, api_versions, case, find, found_missing, named, offset_delete
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Group
from groupproof.harness.model.script_builders import answered, beat, commit, delete_groups, describe, fetch, join, leave, stable, sync
from groupproof.protocol.vocabulary import Level

__all__ = ["CASES"]

_BATCH_FROM = 4

_FOUND = (
    *(
        case(
            f"find/v{version}",
            f"tells a group's coordinator by FindCoordinator v{version}",
            ("FIND-01", "FIND-03", "FIND-04"),
            find("x", version=version, code=0),
            stable("a"),
            find("x", version=version, code=0),
            beat("a", code=0),
        )
        for version in range(7)
    ),
    case(
        "find/several",
        "tells the coordinators of several groups by one answer, each with its key",
        ("FIND-01", "FIND-03"),
        find("x", Group(), Group("other"), Group("third"), version=_BATCH_FROM, code=0),
    ),
    case(
        "find/makes-no-group",
        "makes no group of a name that is asked for",
        ("FIND-06", "FIND-07"),
        find("x", code=0),
        found_missing("x"),
        describe("x", version=5, code=0),
    ),
    case(
        "find/disturbs-nobody",
        "changes nothing for a group whose coordinator is asked for",
        ("FIND-07",),
        stable("a", "b"),
        find("x", code=0),
        find("a", code=0),
        beat("a", code=0),
        beat("b", code=0),
    ),
    case(
        "find/empty-key",
        "tells a coordinator for the group whose name is empty too",
        ("FIND-01",),
        find("x", "", code=0),
        level=Level.INFO,
        required=False,
    ),
    case(
        "find/same-by-every-broker",
        "tells the same coordinator whichever broker is asked",
        ("FIND-03", "FIND-04", "FIND-02"),
        find("x", code=0),
        find("y", to="other", code=0),
        find("z", to="coordinator", code=0),
        brokers=2,
    ),
)

_ELSEWHERE = tuple(
    case(
        f"elsewhere/{name}",
        f"answers {words} at a broker that does not coordinate the group with 16, and the group is as it was",
        ("FIND-08", "ERR-07"),
        stable("a"),
        ask,
        beat("a", code=0),
        brokers=2,
    )
    for name, words, ask in (
        ("join", "a join", join("z", to="other", wait=True, code=16)),
        ("join-with-id", "a join with a member id", join("a", over="a/2", to="other", wait=True, code=16)),
        ("sync", "a sync", sync("a", over="a/2", to="other", code=16)),
        ("heartbeat", "a heartbeat", beat("a", over="a/2", to="other", code=16)),
        ("leave", "a leave", leave("a", over="a/2", to="other", code=16)),
        ("leave-batch", "a leave of several", leave("z", members=named("a", {"member_id": NOBODY, "group_instance_id": None}), to="other", code=16)),
        ("commit", "a commit", commit("a", over="a/2", to="other", code=16)),
        ("fetch", "a fetch", fetch("z", to="other", code=16)),
        ("describe", "a description", describe("z", to="other", code=16)),
        ("delete", "a deletion", delete_groups("z", to="other", code=16)),
        ("offset-delete", "a deletion of offsets", offset_delete("z", {"t": (0,)}, to="other", code=16)),
    )
)

_VERSIONS = tuple(
    case(
        f"api-versions/v{version}",
        f"tells by ApiVersions v{version} what it speaks, the requests of the group protocol among it",
        ("FIND-04",),
        api_versions("x", version=version, code=0),
        stable("a"),
        answered("join a", code=0),
        level=Level.MUST,
    )
    for version in range(5)
)

CASES: tuple[Case, ...] = (*_FOUND, *_ELSEWHERE, *_VERSIONS)
