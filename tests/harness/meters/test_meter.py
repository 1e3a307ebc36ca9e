"""Figures add up over groups and runs, and survive being put away."""

from __future__ import annotations

import json

from tests.harness.diagnosis.making import Story

from groupproof.harness.meters.meter import Figures, added, named_in


def _figures(amount: float, longest: float) -> Figures:
    figures = Figures()
    figures.add("commits", amount, "m0")
    figures.peak("longest_ms", longest)
    return figures


def test_totals_add_up_and_of_peaks_the_greatest_counts() -> None:
    whole = added([_figures(2, 7), _figures(3, 5), Figures()])

    assert (whole.totals, whole.peaks, whole.by_client) == ({"commits": 5}, {"longest_ms": 7}, {"m0": {"commits": 5}})


def test_adding_is_the_same_in_any_order_and_grouping() -> None:
    one, two, three = _figures(1, 1), _figures(2, 9), _figures(3, 4)

    assert added([added([one, two]), three]).to_json() == added([three, added([two, one])]).to_json()


def test_figures_are_plain_data() -> None:
    figures = _figures(2, 7)

    assert Figures.from_json(json.loads(json.dumps(figures.to_json()))).to_json() == figures.to_json()


def test_partitions_are_read_from_the_column_and_from_the_body() -> None:
    story = Story()
    seen = story.told(0, "m0", "partitions_assigned", ("t", 1))
    column = story.add(0, "event", who="shim", client="m0", partitions=(("t", 2),), body={"name": "partitions_assigned"})

    assert (named_in(seen), named_in(column)) == ({("t", 1)}, {("t", 2)})
