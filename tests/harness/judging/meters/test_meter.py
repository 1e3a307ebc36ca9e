"""Figures add up over groups and runs."""

from __future__ import annotations

from groupproof.harness.judging.meters.meter import Figures, added


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

    assert added([added([one, two]), three]) == added([three, added([two, one])])
