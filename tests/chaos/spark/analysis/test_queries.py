from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chaos.spark.analysis.compared import agreed
from tests.chaos.spark.analysis.planted import arrived_badly, planted_groups
from tests.chaos.spark.loads import START, Until, loaded, order
from tests.harness.running.virtual import played

from groupproof.chaos.spark.analysis.queries import QUERIES
from groupproof.harness.cases.client import CASES
from groupproof.protocol.trace_columns import read_parquet, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]

BY_ID = {case.id: case for case in CASES}
SOME = (
    "rebalance/classic/topic-grows",
    "heartbeat/classic/rebalance-in-progress",
    "cooperative/classic/hand-over",
    "static/classic/fenced-heartbeat",
)
DAY = START + '[[phase]]\naction = "restart"\nat = "1s"\nshare = "50%"\nlasts = "100ms"\n[[phase]]\naction = "die"\nat = "2s"\nshare = "25%"\n'

_NAMED = {query.name: query for query in QUERIES}


def found(rows: list[dict[str, Any]], *columns: str) -> Counter[tuple[Any, ...]]:
    """Return how often each combination was found in groups that were planted."""
    return Counter(
        tuple(row[name] for name in ("group", *columns)) for row in rows if row["run"] == "planted" and not row["group"].startswith("law ")
    )


def test_queries_have_names_and_say_what_they_answer() -> None:
    assert len({query.name for query in QUERIES}) == len(QUERIES) == 12
    assert all(query.answers.endswith(".") for query in QUERIES)
    assert _NAMED["storms"].worst == "rebalances"


def test_some_queries_answer_as_the_oracle_does_of_a_stream_that_arrived_badly(spark: SparkSession, tmp_path: Path) -> None:
    trace, badly = arrived_badly(planted_groups())
    write_parquet(tmp_path / "planted.parquet", trace)

    facts = agreed(spark, [(tmp_path / "planted.parquet", "", None)], [_NAMED[name] for name in ("stream", "zombie-commits", "heartbeat-jitter")])

    assert found(facts["zombie-commits"], "outcome") == {("zombie", "accepted"): 1, ("refused zombie", "refused"): 1}
    (stream_row,) = facts["stream"]
    assert {name: stream_row[name] for name in badly} == badly


@pytest.mark.soak
def test_every_query_answers_as_the_oracle_does_and_finds_what_was_planted_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    trace, badly = arrived_badly(planted_groups())
    write_parquet(tmp_path / "planted.parquet", trace)
    write_parquet(tmp_path / "cases.parquet", [obs for id in SOME if id in BY_ID for obs in played(BY_ID[id]).trace])

    facts = agreed(spark, [(tmp_path / "planted.parquet", "", None), (tmp_path / "cases.parquet", "", None)])

    assert found(facts["storms"], "rebalances") == {("stormy", 7): 1}
    assert found(facts["zombie-commits"], "outcome") == {("zombie", "accepted"): 1, ("refused zombie", "refused"): 1}
    shared = {
        (row["group"], row["partition"], row["client"][:2], row["shared_ms"]) for row in facts["two-owners"] if not row["group"].startswith("law ")
    }
    assert shared == {(group, 0, client, ms) for group, ms in (("shared", 2_000.0), ("shared as told", 1_500.0)) for client in ("m0", "m1")}
    unowned = {(row["group"], row["partition"], row["unowned_ms"]) for row in facts["without-owner"] if row["group"] == "unowned"}
    assert unowned == {("unowned", 0, 3_000.0)}
    assert {key: count for key, count in found(facts["generation-gaps"], "kind", "missing").items() if key[1] != "untold"} == {
        ("gap", "gap", 2): 1, ("fall", "fall", -2): 1, ("emptied", "emptied", 1): 1,
    }  # fmt: skip
    assert found(facts["session-expiries"], "member", "known_by") == {("expired", "m1-1", "timer"): 1, ("missing", "m1-1", "missing"): 1}
    late = [row for row in facts["slowest-joiners"] if row["group"] == "late joiner" and row["is_last"] and row["after_ms"]]
    assert [(row["member"], row["after_ms"]) for row in late] == [("m1-1", 5_000.0)]
    assert max(row["interval_ms"] for row in facts["heartbeat-jitter"] if row["group"] == "uneven") == 10_000
    (stream_row,) = (row for row in facts["stream"] if row["run"] == "planted")
    assert {name: stream_row[name] for name in badly} == badly


@pytest.mark.soak
def test_a_real_load_and_all_cases_are_answered_as_the_oracle_does(spark: SparkSession, tmp_path: Path) -> None:
    loaded(tmp_path / "load", order(duration_s=300.0), DAY, lines=Until(lambda now: now.at_s > 8 and now.members == 3 and now.stable == 1))
    for side in ("members", "coordinator"):
        write_parquet(tmp_path / f"{side}.parquet", read_parquet(tmp_path / "load" / side))
    write_parquet(tmp_path / "cases.parquet", [obs for case in CASES for obs in played(case).trace])

    sides = [(tmp_path / f"{side}.parquet", side, "reference") for side in ("members", "coordinator")]
    facts = agreed(spark, [*sides, (tmp_path / "cases.parquet", "", None)])

    of_load = [row for row in facts["rebalances"] if row["case"] == "" and row["generation"] is not None]
    assert of_load
    assert all(row["by_coordinator"] and row["by_members"] for row in of_load)
    assert not any(row["case"] == "" for row in facts["two-owners"])
