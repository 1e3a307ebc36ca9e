"""What a run takes of a table, and what it leaves to `make soak`."""

from __future__ import annotations

import pytest
from tests.power.shares import in_turn, is_drawn, is_in_turn, of_this_run, parts
from tests.soaking import SOAKS

NAMES = ["one", "two", "three"]


def test_every_name_has_its_turn_and_keeps_it_for_a_commit() -> None:
    turns = [in_turn(NAMES, commit=f"{number:040x}") for number in range(60)]

    assert set(turns) == set(NAMES)
    assert max(map(turns.count, NAMES)) <= 30
    assert in_turn(NAMES) == in_turn(NAMES)


def test_a_share_in_turn_is_another_one_with_each_commit() -> None:
    shares = [{number for number in range(40) if is_in_turn(f"case {number}", 4, commit=f"{commit:040x}")} for commit in range(30)]

    assert set.union(*shares) == set(range(40))
    assert all(0 < len(share) < 25 for share in shares)
    assert is_in_turn("one", 4) == is_in_turn("one", 4)


def test_what_only_the_soak_runs_is_not_made_elsewhere() -> None:
    made = parts([(name,) for name in NAMES], lambda row: is_drawn(row[0], 2))

    drawn = [name for name in NAMES if is_drawn(name, 2)]
    assert 0 < len(drawn) < len(NAMES)
    assert [row.values for row in made if not row.marks] == [(name,) for name in drawn]
    assert len(made) == (len(NAMES) if SOAKS else len(drawn))
    assert len(of_this_run([pytest.param(1), pytest.param(2, marks=[pytest.mark.slow, pytest.mark.soak])])) == 1 + SOAKS
