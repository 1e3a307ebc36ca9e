from __future__ import annotations

import json

import msgspec
import pytest

from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, ZOOKEEPER, Comparison, Row, Split
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import Figures
from groupproof.protocol.schemas import SchemaError, validate

ROW = Row(
    design=ZOOKEEPER, engine="real", members=4, partitions=8, churn="join", requests={"Get": 3, "Create": 1}, events=4, rebalances=5, failures=0,
    stable_ms=45,
)  # fmt: skip
SPLIT = Split(
    design=COORDINATOR, fault="cut", seed=1, members=("m0", "m1"), struck=("m0",), failures=0, unowned=0, refused=2,
    figures=Figures(two_readers_ms=9, two_owners_ms=0, two_owners=0, none_ms=3, none_longest_ms=2, offsets_back=0, read_twice=1),
)  # fmt: skip


def test_what_is_written_is_read_back() -> None:
    comparison = Comparison(seed=7, parts={"zookeeper": "maven"}, rows=(ROW,), splits=(SPLIT,), notes=("n",))

    assert Comparison.from_json(json.loads(json.dumps(comparison.to_json()))) == comparison
    assert comparison.to_json()["rows"][0]["total"] == 4
    validate("comparison", comparison.to_json())


def test_what_is_no_comparison_is_refused() -> None:
    written = Comparison(seed=7, parts={}).to_json()

    with pytest.raises(ValueError, match=r"this is no groupproof\.comparison/1"):
        Comparison.from_json({**written, "schema": "groupproof.comparison/2"})
    for change in ({"rows": [{**ROW.to_json(), "churn": "sleeps"}]}, {"more": 1}):
        with pytest.raises(SchemaError):
            validate("comparison", {**written, **change})


def test_curves_go_by_design_engine_and_churn_in_the_order_of_sizes() -> None:
    bigger = msgspec.convert({**ROW.to_json(), "members": 16}, Row)
    comparison = Comparison(seed=7, parts={}, rows=(bigger, ROW), splits=(SPLIT,))

    assert comparison.of(ZOOKEEPER, "real", "join") == [ROW, bigger]
    assert comparison.of(COORDINATOR, "real", "join") == []
    assert comparison.sizes() == [4, 16]
    assert comparison.splits_of(COORDINATOR, "cut") == [SPLIT]
    assert comparison.splits_of(ZOOKEEPER, "cut") == []
