"""Figures are shown with their units, side by side."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from groupproof.harness.judging.meters.table import BESIDE, TITLES, html_table, lines, rows, to_json, value_text

RUNS = {"java": {"rebalances": 3.0, "unowned_ms": 1_250.4}, "<aiokafka>": {"rebalances": 4.0, "lost_records": 0.0}}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("unowned_ms", 1_250.4, "1,250 ms"), ("unowned_ms", 2.25, "2.2 ms"), ("unowned_partition_ms", 20.0, "20 partition ms"), ("rebalances", 3.0, "3"),
     ("requests_per_rebalance", 4.5, "4.5"), ("lost_records", None, "-")],
)  # fmt: skip
def test_a_value_has_its_unit(name: str, value: float | None, text: str) -> None:
    assert value_text(name, value) == text


def test_runs_stand_side_by_side_and_what_nobody_measured_is_left_out() -> None:
    assert [line.split() for line in lines(RUNS)] == [
        ["java", "<aiokafka>"], ["a", "partition", "without", "an", "owner", "1,250", "ms", "-"], ["rebalances", "3", "4"],
        ["records", "given", "to", "nobody", "-", "0"],
    ]  # fmt: skip
    assert len({len(line) for line in lines(RUNS)}) == 1


def test_one_run_needs_no_head() -> None:
    assert lines({"java": {"rebalances": 3.0}}) == ["rebalances  3"]
    assert lines({"java": {}}) == []


def test_the_page_s_table_is_escaped() -> None:
    table = ElementTree.fromstring(html_table(RUNS))

    assert [element.text for element in table.iter("th")][:3] == [None, "java", "<aiokafka>"]
    assert len(list(table.iter("tr"))) == 4


def test_as_json_everything_is_reported() -> None:
    assert json.loads(json.dumps(to_json(RUNS)))["java"] == {"rebalances": 3.0, "unowned_ms": 1_250.4}
    assert len(set(TITLES.values())) == len(TITLES)


def test_many_runs_stand_one_below_the_other_by_what_compares_them() -> None:
    assert [row.split() for row in rows(RUNS)] == [
        ["no", "owner", "rebalances", "lost"], ["java", "1,250", "ms", "3", "-"], ["<aiokafka>", "-", "4", "0"],
    ]  # fmt: skip
    assert rows({"java": {}}) == []
    assert set(BESIDE) <= set(TITLES)
