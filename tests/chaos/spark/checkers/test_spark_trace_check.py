from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chaos.spark.conftest import MASTER
from tests.harness.judging.checkers.fleets import PLANTED_EPOCHS, planted_epochs, planted_fleet
from tests.harness.judging.test_own_correlations import all_zero
from tests.harness.running.virtual import played
from tests.power.coordinators import played as played_by_coordinator
from tests.project import ROOT

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.cases.client import CASES as CLIENT_CASES
from groupproof.harness.cases.coordinator import CASES as COORDINATOR_CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import ADVERSE, Verdict
from groupproof.harness.running import trace_units
from groupproof.harness.running.trace_check import check_files
from groupproof.protocol.trace import Observation, Trace, write_trace
from groupproof.protocol.trace_columns import to_batch, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    # PySpark leaves the socket of every `collect` to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]

BY_ID = {case.id: case for case in CLIENT_CASES}
SCRIPTS = [case for case in COORDINATOR_CASES if len(script_of(case).steps) <= 2_000]
"""All but the thousand members, who take a minute."""
POWER = ROOT / "tests" / "power"
MISBEHAVIOUR = ("leader-assigns-twice", "cooperative/classic/hand-over")


def rulings(results: Sequence[CaseResult]) -> set[tuple[str, str, str, str, str, str]]:
    """Return everything that a ruling says, by case."""
    return {
        (
            result.case.id,
            result.ruling.verdict.value,
            result.ruling.goodbye.value,
            result.ruling.stability,
            result.ruling.observed,
            result.ruling.fingerprint,
        )
        for result in results
    }


def agreed(spark: SparkSession, *paths: Path) -> list[CaseResult]:
    """Judge by both engines; return the results of Spark's, which are the same."""
    from groupproof.chaos.spark.checkers.spark_trace_check import check_by_spark

    by_spark = check_by_spark(paths, url=MASTER)
    in_process = check_files(paths, every_case, UNIVERSAL)

    assert rulings(by_spark.results) == rulings(in_process.results)
    assert len(by_spark.results) == len(in_process.results)
    assert (by_spark.duplicates, by_spark.displaced) == (in_process.duplicates, in_process.displaced)
    return by_spark.results


def save(path: Path, trace: Sequence[Observation]) -> Path:
    path.write_text("".join(f"{line}\n" for line in write_trace(trace)))
    return path


def runs(ids: Sequence[str]) -> Trace:
    return [replace(obs, run=f"1.{number}") for number, id in enumerate(ids) for obs in played(BY_ID[id]).trace]


def test_cases_and_planted_fleets_get_the_same_verdicts_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    some = sorted(BY_ID)[:: len(BY_ID) // 6]
    misbehaving = [replace(obs, run="1.bad") for obs in played(BY_ID[MISBEHAVIOUR[1]], variant=MISBEHAVIOUR[0]).trace]
    cases = save(tmp_path / "trace.ndjson", [*runs(some), *misbehaving])
    write_parquet(tmp_path / "fleet.parquet", [*planted_fleet("one"), *planted_fleet("two"), *planted_epochs("epochs")])

    results = agreed(spark, cases, tmp_path / "fleet.parquet")

    broken = {result.case.id for result in results if result.case.id.startswith("laws/") and result.ruling.verdict.value != "OK"}
    assert len([id for id in broken if "/classic/" in id]) == 9
    by_epochs = [result for result in results if "/consumer/" in result.case.id]
    assert {finding.requirement for result in by_epochs for finding in result.ruling.findings if finding.verdict in ADVERSE} == {
        requirement for planted in PLANTED_EPOCHS for requirement in planted.split()
    }
    assert {result.case.id for result in results} >= {*some, MISBEHAVIOUR[1]}


def test_a_client_that_repeats_one_correlation_id_gets_the_same_verdicts_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    right = [replace(obs, run="right", case="") for obs in played(BY_ID["link/classic/late-rejoin"], variant="shares-one-connection").trace]
    trace = [*planted_fleet("one"), *planted_epochs("two"), *right]
    write_parquet(tmp_path / "zero.parquet", all_zero(trace))
    write_parquet(tmp_path / "own.parquet", trace)

    results = agreed(spark, tmp_path / "zero.parquet")

    assert rulings(results) == rulings(check_files([tmp_path / "own.parquet"], every_case, UNIVERSAL).results)
    assert {result.ruling.verdict for result in results if result.case.id.startswith("laws/")} >= {Verdict.OK, Verdict.FAILED}


@pytest.mark.soak
def test_every_case_of_the_client_suites_gets_the_same_verdict_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    assert len(agreed(spark, save(tmp_path / "trace.ndjson", runs(sorted(BY_ID))))) == len(BY_ID)


@pytest.mark.soak
def test_every_case_of_the_coordinator_suite_gets_the_same_verdict_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    results = agreed(spark, save(tmp_path / "trace.ndjson", coordinators_runs(SCRIPTS)))

    assert {result.case.id for result in results} == {case.id for case in SCRIPTS}
    assert {result.ruling.verdict for result in results} <= {Verdict.OK, Verdict.UNIMPLEMENTED}


@pytest.mark.soak
def test_every_planted_misbehaviour_of_clients_gets_the_same_verdict_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    pairs: dict[str, str] = tomllib.loads((POWER / "caught.toml").read_text())["misbehaviours"]
    trace = [replace(obs, run=f"1.{variant}") for variant, id in pairs.items() if id in BY_ID for obs in played(BY_ID[id], variant=variant).trace]

    results = agreed(spark, save(tmp_path / "trace.ndjson", trace))

    assert {result.case.id for result in results if result.ruling.verdict is not Verdict.OK} == {id for id in pairs.values() if id in BY_ID}


@pytest.mark.soak
def test_planted_bugs_of_coordinators_get_the_same_verdict_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    pairs: dict[str, str] = tomllib.loads((POWER / "caught_of_coordinators.toml").read_text())["bugs"]
    some = {bug: id for bug, id in list(pairs.items())[::12] if id in {case.id for case in SCRIPTS}}
    trace = [
        replace(obs, run=f"1.{bug}")
        for bug, id in some.items()
        for obs in played_by_coordinator(bug, [case for case in SCRIPTS if case.id == id])[id].trace
    ]

    results = agreed(spark, save(tmp_path / "trace.ndjson", trace))

    assert {result.case.id for result in results if result.ruling.verdict is not Verdict.OK} == set(some.values())


def coordinators_runs(cases: Sequence[Case], *, variant: str | None = None) -> Trace:
    plays = played_by_coordinator(variant, cases)
    return [replace(obs, run=f"1.{number}") for number, case in enumerate(cases) for obs in plays[case.id].trace]


def test_what_is_there_twice_or_out_of_its_place_changes_no_verdict(spark: SparkSession, tmp_path: Path) -> None:
    trace = planted_fleet()
    mixed = save(tmp_path / "trace.ndjson", [*reversed(trace), *(obs for obs in trace if obs.group == "kept")])

    results = agreed(spark, mixed)

    assert [result.ruling.verdict.value for result in results if result.case.id == "laws/classic/kept"] == ["OK"]


def test_what_is_out_of_its_place_is_counted_in_every_piece_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.traces.out_of_order import displaced_in

    trace = planted_fleet()
    cut = len(trace) // 2
    moved = [*trace[10:cut], *trace[:10], *trace[cut:], trace[cut]]
    lines = save(tmp_path / "trace.ndjson", moved)
    write_parquet(tmp_path / "trace.parquet", moved, rows=100)
    expected = check_files([lines], every_case, UNIVERSAL).displaced

    assert expected == 11
    assert displaced_in(spark, [lines, tmp_path / "trace.parquet"]) == 2 * expected
    before = str(spark.conf.get("spark.sql.files.maxPartitionBytes"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(lines.stat().st_size // 5))
    try:
        assert displaced_in(spark, [lines]) == expected
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_a_folder_that_is_partitioned_by_run_and_group_is_one_trace(spark: SparkSession, tmp_path: Path) -> None:
    trace = [replace(obs, run="007") for obs in planted_fleet()]
    for group in {obs.group for obs in trace}:
        folder = tmp_path / "fleet" / "run=007" / f"group={group or '__HIVE_DEFAULT_PARTITION__'}"
        folder.mkdir(parents=True)
        mine = to_batch(obs for obs in trace if obs.group == group)
        pq.write_table(mine.to_struct_array().type and pa.Table.from_batches([mine]).drop(["run", "group"]), folder / "part-0.parquet")

    assert len(agreed(spark, tmp_path / "fleet")) == 22


def test_parts_of_a_trace_that_tasks_read_themselves_get_the_same_verdicts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from groupproof.chaos.spark.checkers import spark_trace_check

    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(spark_trace_check, "_TASK_ROWS", 1)
    fleet, mixed = tmp_path / "fleet", tmp_path / "mixed.parquet"
    fleet.mkdir()
    for number in range(3):
        write_parquet(fleet / f"{number}.parquet", [replace(obs, run=f"r{number}", seq=1_000 * number + obs.seq) for obs in planted_fleet()])
    write_parquet(fleet / "cases.parquet", [replace(obs, seq=9_000 + seq) for seq, obs in enumerate(runs(sorted(BY_ID)[:3]))])
    write_parquet(mixed, [*reversed(planted_fleet("out of order")), *planted_epochs("epochs")])

    alone = agreed(spark, fleet)
    both = agreed(spark, fleet, mixed)

    assert len(both) > len(alone) > 66


@pytest.mark.parametrize("name", ["kind", "body"])
def test_a_column_that_no_trace_has_is_reported_in_one_line_by_both(spark: SparkSession, tmp_path: Path, name: str) -> None:
    from groupproof.chaos.spark.checkers.spark_trace_check import check_by_spark

    table = pa.Table.from_batches([to_batch(planted_fleet())])
    texts = [{"kind": None, "body": "{"}[name], *table.column(name).to_pylist()[1:]]
    columns = [pa.array(texts) if column == name else table.column(column) for column in table.column_names]
    pq.write_table(pa.table(columns, table.column_names), tmp_path / "a.parquet")

    messages = []
    for check in (partial(check_by_spark, url=MASTER), partial(check_files, catalogue=every_case, universal=UNIVERSAL)):
        with pytest.raises(WrongUsage) as caught:
            check([tmp_path / "a.parquet"])
        messages.append(str(caught.value))

    by_spark, here = messages
    assert by_spark.removeprefix("a trace can't be read: ") == here.removeprefix(f"{tmp_path / 'a.parquet'} holds no trace: ")
    assert by_spark.startswith(f"a trace can't be read: its column {name} has")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("trace.ndjson", b'{"seq": 1}\n', "a line is no observation: a trace line lacks at_ns, kind"),
        ("trace.parquet", b"PAR1 cut off", "can't be read as Parquet"),
    ],
)
def test_what_is_no_trace_is_reported_in_one_line(spark: SparkSession, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    from groupproof.chaos.spark.checkers.spark_trace_check import check_by_spark

    (tmp_path / name).write_bytes(content)

    with pytest.raises(WrongUsage, match=message) as caught:
        check_by_spark([tmp_path / name], url=MASTER)
    assert "\n" not in str(caught.value)
