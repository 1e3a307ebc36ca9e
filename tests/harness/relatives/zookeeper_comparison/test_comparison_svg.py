from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import msgspec
from tests.harness.relatives.zookeeper_comparison.test_comparison import ROW, SPLIT

from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, ZOOKEEPER, Comparison, Row
from groupproof.harness.relatives.zookeeper_comparison.comparison_svg import drawn

_SVG = "{http://www.w3.org/2000/svg}"


def _row(**other: object) -> Row:
    return msgspec.convert({**ROW.to_json(), "churn": "leave", **other}, Row)


def _hints(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{_SVG}title")]


def test_each_size_is_a_point_in_both_diagrams_that_tells_its_value() -> None:
    rows = tuple(
        _row(design=design, members=members, engine=engine, requests={"Get": members**2}, stable_ms=members)
        for design in (ZOOKEEPER, COORDINATOR)
        for engine in ("real", "simulated")
        for members in (4, 10_000)
    )
    hints = _hints(drawn(Comparison(seed=1, parts={}, rows=rows)))

    assert len(hints) == 2 * len(rows)
    assert "10,000 members, zookeeper, real: 100,000,000" in hints
    assert "10,000 members, coordinator, simulated: 10 s" in hints


def test_a_group_that_did_not_become_stable_has_no_point_for_its_time() -> None:
    hints = _hints(drawn(Comparison(seed=1, parts={}, rows=(_row(stable_ms=None), _row(members=16)))))
    assert len(hints) == 3


def test_each_seed_is_a_bar_of_each_design() -> None:
    late = replace(SPLIT, fault="late", design=ZOOKEEPER, unowned=2)
    hints = _hints(drawn(Comparison(seed=1, parts={}, splits=(SPLIT, late))))
    assert hints == ["seed 1, coordinator: 0 ms; struck m0", "seed 1, zookeeper: 2; struck m0"]


def test_a_comparison_of_nothing_is_a_picture_still() -> None:
    assert ElementTree.fromstring(drawn(Comparison(seed=1, parts={}))).tag == f"{_SVG}svg"
