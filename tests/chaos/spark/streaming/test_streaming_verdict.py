from __future__ import annotations

from pathlib import Path

import pytest
from tests.chaos.spark.streaming.test_streaming_reads import observation, synced

from groupproof.chaos.spark.streaming.streaming_reads import Batch, QueryReads
from groupproof.chaos.spark.streaming.streaming_report import judged, write_streaming_report
from groupproof.chaos.spark.streaming.streaming_run import StreamingResult
from groupproof.chaos.spark.streaming.streaming_scenarios import chosen
from groupproof.chaos.spark.streaming.streaming_verdict import ScenarioOutcome, outcome_of
from groupproof.protocol.trace import Observation

JOINED = [observation(0, "request", "JoinGroup", "consumer-1"), synced(1, "consumer-1", 1, 0, 1)]
SHARED = [*JOINED, observation(2, "request", "JoinGroup", "consumer-2"), synced(3, "consumer-1", 2, 0), synced(4, "consumer-2", 2, 1)]


def read(query: str, *partitions: int, failed: str | None = None, again: int = 0) -> QueryReads:
    """Return what a query read of two partitions with three records each: these partitions, and the first of them so many times again."""
    offsets = {(partition, offset): 1 + again * (partition == partitions[0]) for partition in partitions for offset in range(3)}
    batches = tuple(Batch(partition=partition, at_s=1.0, first=0, last=2, rows=3) for partition in partitions for _ in range(2))
    return QueryReads(query=query, batches=batches, offsets=offsets, due={0: 3, 1: 3}, failed=failed)


def played(scenario: str, trace: list[Observation], *reads: QueryReads, delivered: dict[str, int] | None = None) -> StreamingResult:
    (named,) = chosen([scenario])
    return StreamingResult(scenario=named, reads=list(reads), trace=trace, delivered=delivered or {}, ended_s=5.0, marks=[(1.0, "b starts")])


def broken(outcome: ScenarioOutcome) -> list[str]:
    return [check.says for check in outcome.checks if not check.holds]


def test_a_query_on_the_default_path_that_joins_is_not_as_expected() -> None:
    assert outcome_of(played("default-path", [], read("a", 0, 1)), ()).holds
    assert broken(outcome_of(played("default-path", JOINED, read("a", 0, 1)), ())) == ["Nobody sends a request of membership."]


@pytest.mark.parametrize("had", [read("a", 0), read("a", 0, 1, again=1)])
def test_a_query_that_misses_records_or_reads_them_again_is_not_as_expected(had: QueryReads) -> None:
    assert broken(outcome_of(played("deprecated-path", JOINED, had), ())) == ["Each query reads every record, and none again."]


def test_two_queries_that_split_the_partitions_are_what_is_expected_of_a_shared_group() -> None:
    outcome = outcome_of(played("shared-group", SHARED, read("a", 0, 1, again=1), read("b", 1)), ())

    assert outcome.holds
    assert [check.observed for check in outcome.checks[:3]] == [
        "Joined: a as consumer-1, b as consumer-2.",
        "a read 6 of 6 records, 3 rows again; b read 3 of 6 records, 3 never.",
        "generation 2: a 0, b 1.",
    ]


def test_a_shared_group_that_is_not_split_is_reported() -> None:
    outcome = outcome_of(played("shared-group", JOINED, read("a", 0, 1), read("b", 0, 1)), ())

    assert broken(outcome) == [
        "The driver of each query joins the group.", "Not every query reads every record once.",
        "The coordinator divides the partitions between the two queries.",
    ]  # fmt: skip


def test_an_error_of_a_query_is_reported_where_none_is_expected_and_missed_where_one_is() -> None:
    assert broken(outcome_of(played("deprecated-path", JOINED, read("a", 0, 1, failed="gone")), ())) == ["No query ends with an error."]
    assert broken(outcome_of(played("shared-group-by-default", SHARED, read("a", 0), read("b", 1)), ())) == ["A query ends with an error."]


def test_a_fault_that_met_nobody_passes_no_member_and_is_what_the_default_path_is_for() -> None:
    assert broken(outcome_of(played("deprecated-path-cut", JOINED, read("a", 0, 1), delivered={"fault-1": 0}), ())) == ["Each fault takes effect."]
    assert outcome_of(played("default-path-without-coordinator", [], read("a", 0, 1), delivered={"fault-1": 0}), ()).holds


def test_the_report_tells_who_read_what_and_holds_its_pictures(tmp_path: Path) -> None:
    had = played("shared-group", SHARED, read("a", 0, 1, again=1), read("b", 1))
    head = {"coordinator": "a <broker>", "pyspark": "4.0", "connector": "jars", "groupproof": "0", "seed": 1, "started": "now"}

    outcome = judged(had, tmp_path / "shared-group")
    value = write_streaming_report(tmp_path, head, [(had, outcome)], partitions=2)

    (scenario,) = value["scenarios"]
    assert [(query["query"], query["read"], query["missed"], query["again"]) for query in scenario["queries"]] == [("a", 6, 0, 3), ("b", 3, 3, 0)]
    assert scenario["generations"][1] == {"generation": 2, "at_s": 3.0, "partitions": {"a": [0], "b": [1]}}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "a &lt;broker&gt;" in page
    assert page.count("<svg") == 1
    assert "b read 3 rows of partition 1: 0 to 2, which it had read before" in page
    assert "http" not in page.replace("http-equiv", "")
    assert len((tmp_path / "shared-group" / "trace.ndjson").read_text("utf-8").splitlines()) == len(SHARED)
