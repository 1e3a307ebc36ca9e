from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.reports.making import a_case

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.judging.summary.shards import Share, share_of, split
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.runs.case_durations import shipped_durations

CASES = [a_case(f"join/classic/c{number}") for number in range(16)]
SECONDS = st.dictionaries(st.sampled_from([case.id for case in CASES]), st.floats(0, 100))


@settings(max_examples=25)
@given(SECONDS, st.integers(1, 8), st.integers())
def test_every_case_lies_in_exactly_one_shard_whatever_the_durations_and_the_order(durations: dict[str, float], of: int, salt: int) -> None:
    shards = split(CASES, of, durations)
    shuffled = sorted(CASES, key=lambda case: hash((salt, case.id[-1], case.id)))

    assert sorted(case.id for shard in shards for case in shard) == sorted(case.id for case in CASES)
    assert [{case.id for case in shard} for shard in split(shuffled, of, durations)] == [{case.id for case in shard} for shard in shards]
    assert all(shards)


@settings(max_examples=25)
@given(SECONDS, st.integers(1, 8))
def test_no_shard_has_more_to_do_than_a_fair_share_and_one_case(durations: dict[str, float], of: int) -> None:
    cost = {case.id: max(1, round(durations[case.id] * 1000)) if case.id in durations else length_ms(case) for case in CASES}
    loads = [sum(cost[case.id] for case in shard) for shard in split(CASES, of, durations)]

    assert max(loads) - min(loads) <= max(cost.values())


def test_cases_keep_their_order_in_a_shard() -> None:
    (shard, _) = split(CASES, 2, {})

    assert [case.id for case in shard] == [case.id for case in CASES if case in shard]


@pytest.mark.parametrize("side", ["client", "coordinator"])
def test_the_durations_that_ship_part_each_side_evenly(side: str) -> None:
    cases, seconds = cases_of(side), shipped_durations(side)

    loads = [sum(seconds.get(case.id, length_ms(case) / 1000) for case in shard) for shard in split(cases, 4, seconds)]

    assert max(loads) < 1.02 * min(loads)


def test_more_shards_than_cases_are_refused_by_each_of_them() -> None:
    for number in (1, 3):
        with pytest.raises(WrongUsage, match="the selection has 2 cases, fewer than there are shards; take at most 2"):
            share_of(CASES[:2], Share(number=number, of=3), {})


@pytest.mark.parametrize("text", ["4/3", "0/3", "1", "1/0", "a/b", "-1/2", "1/2/3"])
def test_a_text_that_is_no_shard_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="no shard"):
        Share.read(text)
    assert str(Share.read(" 2/4 ")) == "2/4"
