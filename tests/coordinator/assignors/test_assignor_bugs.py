"""The planted assignors: each has a name, a sentence and what it breaks; that vectors catch them stands in `test_server_assignors.py`."""

from __future__ import annotations

from tests.coordinator.assignors.assignor_bugs import BUGS_OF_ASSIGNORS
from tests.coordinator.server_invariants import law_broken, spec_of, topics_of

from groupproof.coordinator.assignors.server_assignors import SERVER_ASSIGNORS

NAMES = [bug.name for bug in BUGS_OF_ASSIGNORS]


def test_every_bug_has_a_name_of_its_own_that_begins_with_the_assignor() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert {bug.of for bug in BUGS_OF_ASSIGNORS} == set(SERVER_ASSIGNORS)
    assert all(bug.breaks and bug.says.endswith(".") for bug in BUGS_OF_ASSIGNORS)


def test_those_that_break_an_invariant_break_it_in_a_small_group() -> None:
    group = spec_of({"A": "t", "B": "t"}), topics_of({"t": 4})
    broken = {bug.name: law_broken(*group, bug.assign(*group)) for bug in BUGS_OF_ASSIGNORS}

    assert {name: law for name, law in broken.items() if law} == {
        "uniform-loses-a-partition": "a partition has no owner, or does not exist",
        "range-loses-a-partition": "a partition has no owner, or does not exist",
        "uniform-gives-a-partition-twice": "a partition has two owners",
        "range-gives-a-partition-twice": "a partition has two owners",
    }
