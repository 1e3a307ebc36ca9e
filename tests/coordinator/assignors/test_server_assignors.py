"""uniform and range against what Kafka's own classes made of the same groups, in five releases; and the bugs that these vectors catch."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.coordinator.assignors.assignor_bugs import BUGS_OF_ASSIGNORS, AssignorBug
from tests.coordinator.server_groups import RELEASES, results_of
from tests.coordinator.server_vectors import Vector, parsed, vectors

from groupproof.coordinator.assignors.group_spec import ServerAssignor
from groupproof.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from groupproof.coordinator.assignors.spec_order import VIEW_SINCE

ALL = vectors()
VECTORS_MIN = 2_000


def _is_view(release: str) -> bool:
    return tuple(map(int, release.split(".")[:2])) >= VIEW_SINCE


def _differs(vector: Vector, *, is_view: bool, assign: ServerAssignor | None = None) -> bool:
    """Tell whether a result is not Kafka's; what comes after the first one that is not is not looked at."""
    ours = results_of(vector.group, is_view=is_view, assign=assign)
    return any(list(parsed(line).items()) != list(kafkas.items()) for line, kafkas in zip(ours, vector.results, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("is_view", [False, True], ids=["to 4.3", "since 4.4"])
@pytest.mark.parametrize("name", sorted(SERVER_ASSIGNORS))
def test_every_member_is_assigned_what_kafka_assigns_it_in_the_order_of_its_maps(name: str, is_view: bool) -> None:
    of_release = [vector for vector in ALL if vector.group[0][1] == name and any(_is_view(release) is is_view for release in vector.releases)]

    assert of_release
    assert [vector.group for vector in of_release if _differs(vector, is_view=is_view)] == []


def test_there_are_thousands_of_vectors_of_every_release_and_kind() -> None:
    counts = Counter((release, vector.group[0][1]) for vector in ALL for release in vector.releases for _ in vector.results)

    assert {release for release, _ in counts} == set(RELEASES)
    assert min(counts[release, "uniform"] + counts[release, "range"] for release in RELEASES) >= VECTORS_MIN


def test_releases_differ_by_the_order_of_the_members_alone_and_only_since_the_view() -> None:
    kinds = {vector.releases for vector in ALL}
    before, since = (tuple(release for release in RELEASES if _is_view(release) is is_view) for is_view in (False, True))

    assert kinds == {RELEASES, before, since}
    assert all(_differs(vector, is_view=True) for vector in ALL if vector.releases == before)


@pytest.mark.parametrize("bug", BUGS_OF_ASSIGNORS, ids=lambda bug: bug.name)
def test_a_vector_catches_every_planted_bug(bug: AssignorBug) -> None:
    of_assignor = (vector for vector in ALL if vector.group[0][1] == bug.of and RELEASES[0] in vector.releases)

    assert any(_differs(vector, is_view=False, assign=bug.assign) for vector in of_assignor)


def test_the_first_assignor_is_the_default_one() -> None:
    assert list(SERVER_ASSIGNORS) == ["uniform", "range"]
