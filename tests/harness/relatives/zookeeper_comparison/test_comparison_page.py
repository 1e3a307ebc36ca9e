from __future__ import annotations

import msgspec
from tests.harness.relatives.zookeeper_comparison.test_comparison import ROW, SPLIT

from groupproof.harness.relatives.zookeeper_comparison.comparison import Comparison, Row
from groupproof.harness.relatives.zookeeper_comparison.comparison_page import page, table


def test_the_page_holds_the_picture_every_row_and_every_run_and_fetches_nothing() -> None:
    never = msgspec.convert({**ROW.to_json(), "stable_ms": None}, Row)
    html = page(Comparison(seed=7, parts={"zookeeper": "maven <3.9>"}, rows=(ROW, never), splits=(SPLIT,), notes=("A note.",)))

    assert "<svg" in html
    assert "maven &lt;3.9&gt;" in html
    assert "<td>45 ms</td>" in html
    assert "not within the time" in html
    assert "<td>m0</td>" in html
    assert "A note." in html
    assert "http://" not in html.replace("http://www.w3.org", "")


def test_the_table_is_by_churn_size_engine_and_design() -> None:
    rows = tuple(
        msgspec.convert({**ROW.to_json(), "churn": churn, "members": members}, Row) for churn, members in (("leave", 4), ("join", 16), ("join", 4))
    )
    assert [item[:2] for item in table(Comparison(seed=1, parts={}, rows=rows))] == [("join", 4), ("join", 16), ("leave", 4)]
