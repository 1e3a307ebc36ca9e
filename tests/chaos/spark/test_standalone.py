"""Load and check on a cluster of two workers, while a worker, an executor and the driver are killed: what was reported stays, and nothing is invented."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.spark.standalone import Standalone, executors, standalone
from tests.chaos.spark.test_killed_loads import COMMAND, LOAD, until
from tests.harness.judging.checkers.fleets import planted_fleet

from groupproof.chaos.spark.load.load_summary import both_sides
from groupproof.chaos.spark.load.resume import COORDINATOR, MEMBERS
from groupproof.harness.subjects.java_for_spark import find_java
from groupproof.protocol.trace_columns import read_parquet, write_parquet

pytestmark = [pytest.mark.soak, pytest.mark.java]

CHECK = (*COMMAND[:-1], "trace", "check", "--json")
ONE_EACH = ("--conf", "spark.cores.max=2", "--conf", "spark.executor.cores=1")
"""An executor of one core on each worker: the other has room for one more."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    pytest.importorskip("pyspark")
    if find_java() is None:
        pytest.skip("no Java here that Spark runs on")
    with standalone(tmp_path / "cluster") as running:
        yield running


def begun(cluster: Standalone, output: Path, duration: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*COMMAND, *LOAD, "--duration", duration, "--master", cluster.url, *ONE_EACH, "--output", str(output)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    until(process, r"stable 1/1")
    return process


def finished(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    process.stdout.read()
    return process.wait()


def verdicts(*words: str) -> list[dict[str, Any]]:
    """Return what `trace check` says, in an order of its own."""
    called = subprocess.run([*CHECK, *words], capture_output=True, text=True, timeout=300, check=False)
    assert called.returncode in (0, 1, 2), called.stderr
    return sorted(json.loads(called.stdout), key=json.dumps)


@pytest.mark.parametrize("victim", ["worker", "executor"])
def test_what_is_killed_takes_its_members_along_and_they_come_back_elsewhere(cluster: Standalone, tmp_path: Path, victim: str) -> None:
    output = tmp_path / "load"
    process = begun(cluster, output, "300s")
    sealed = len(list(read_parquet(output / MEMBERS)))
    worker = cluster.workers[0]
    (executor,) = executors(worker.pid)
    os.kill(worker.pid if victim == "worker" else executor, signal.SIGKILL)

    until(process, r"task \d is gone, with its members")
    until(process, r"members 20, groups stable 1/1.*tasks lost 1")
    process.send_signal(signal.SIGINT)
    until(process, "the coordinator of the same")

    assert finished(process) == 130
    observations = list(read_parquet(output / MEMBERS))
    assert len(observations) > sealed > 0
    assert {obs.body["attempt"] for obs in observations if obs.kind == "event" and "attempt" in obs.body} == {1}
    for side in (MEMBERS, COORDINATOR):
        assert verdicts("--engine", "spark", "--master", cluster.url, str(output / side)) == verdicts(str(output / side))


def test_a_driver_that_is_killed_leaves_what_was_sealed_and_its_load_is_gone_on_with_on_the_cluster(cluster: Standalone, tmp_path: Path) -> None:
    output = tmp_path / "load"
    process = begun(cluster, output, "40s")
    process.kill()
    finished(process)
    sealed = len(list(read_parquet(output / MEMBERS)))

    again = subprocess.run(
        [*COMMAND, *LOAD, "--duration", "40s", "--master", cluster.url, *ONE_EACH, "--output", str(output)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert again.returncode == 0, again.stdout + again.stderr
    assert re.search(r"going on \d+\.\d s into the plan, as load-2", again.stdout)
    assert [obs.run for obs in read_parquet(output / MEMBERS)].count("load-1") >= sealed > 0
    _, comparison = both_sides(output)
    assert comparison is not None
    assert comparison.is_same, comparison


def test_a_check_whose_worker_is_killed_says_what_the_check_in_one_process_says(cluster: Standalone, tmp_path: Path) -> None:
    for number in range(4):
        write_parquet(tmp_path / f"trace-{number}.parquet", planted_fleet(f"r{number}"))
    files = [str(tmp_path / f"trace-{number}.parquet") for number in range(4)]
    process = subprocess.Popen(
        [*CHECK, "--engine", "spark", "--master", cluster.url, *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    worker = cluster.workers[0]
    while not executors(worker.pid):
        with pytest.raises(subprocess.TimeoutExpired):  # it runs still
            process.wait(timeout=0.2)
    worker.kill()
    printed, _ = process.communicate(timeout=300)

    found = sorted(json.loads(printed), key=json.dumps)
    assert found == verdicts(*files)
    assert sum(item["id"].startswith("laws/") and item["verdict"] != "OK" for item in found) == 4 * 9


def test_the_python_of_the_workers_is_the_one_that_runs_this(cluster: Standalone, tmp_path: Path) -> None:
    program = (
        "import sys; from groupproof.chaos.spark.session import session; "
        f"spark = session('t', master='{cluster.url}'); "
        "print(spark.range(2).mapInPandas(lambda found: (each.assign(id=0, python=sys.executable) for each in found), 'id long, python string')"
        ".first()['python']); spark.stop()"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True, cwd=tmp_path)

    assert printed.stdout.split()[-1] == sys.executable
