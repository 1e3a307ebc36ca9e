"""Loads whose driver or executor is killed, or whose disk is full: what was sealed stays, nothing runs on, and the same command goes on where the load stood."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.chaos.spark.load.load_summary import both_sides
from groupproof.chaos.spark.load.resume import MEMBERS
from groupproof.protocol.trace_columns import read_parquet

pytestmark = [pytest.mark.soak, pytest.mark.java]

COMMAND = (sys.executable, "-c", "import sys; from groupproof.harness.commands import main; sys.exit(main())", "load")
LOAD = ("--members", "20", "--tasks", "2", "--set", "session_timeout_ms=8000", "--set", "heartbeat_interval_ms=1000")


def begun(output: Path, *options: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a load, and return it once its group is stable, with its lines so far."""
    process = subprocess.Popen(
        [*COMMAND, *LOAD, *options, "--output", str(output)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    return process, until(process, r"stable 1/1")


def until(process: subprocess.Popen[str], marker: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if re.search(marker, line):
            return lines
    raise AssertionError("".join(lines))


def test_a_driver_that_is_killed_leaves_what_was_sealed_and_its_load_is_gone_on_with(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    process, _ = begun(tmp_path, "--duration", "30s")
    process.kill()
    assert process.stdout is not None
    process.stdout.read()  # to its end: nothing that the load had started holds it open any more
    process.wait()
    sealed = len(list(read_parquet(tmp_path / MEMBERS)))
    assert sealed > 0

    again = subprocess.run(
        [*COMMAND, *LOAD, "--duration", "30s", "--output", str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )

    assert again.returncode == 0, again.stdout + again.stderr
    assert re.search(r"going on \d+\.\d s into the plan, as load-2", again.stdout)
    runs = [obs.run for obs in read_parquet(tmp_path / MEMBERS)]
    assert runs.count("load-1") >= sealed
    assert "load-2" in runs
    _, comparison = both_sides(tmp_path)
    assert comparison is not None
    assert comparison.is_same, comparison


def test_an_executor_that_is_killed_takes_its_members_along_and_another_brings_them_back(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    process, _ = begun(tmp_path, "--duration", "200s", "--master", "local-cluster[2,1,1024]")
    os.kill(executor_of(process.pid), signal.SIGKILL)

    until(process, r"task \d is gone, with its members")
    until(process, r"members 20, groups stable 1/1.*tasks lost 1")
    process.send_signal(signal.SIGINT)
    until(process, "the coordinator of the same")
    assert process.stdout is not None
    process.stdout.read()

    assert process.wait() == 130
    attempts = {obs.body["attempt"] for obs in read_parquet(tmp_path / MEMBERS) if obs.kind == "event" and "attempt" in obs.body}
    assert attempts == {1}


FULL = """
set -u
mount -t tmpfs -o size=4m tmpfs "$1" || exit 77
head -c 3600000 /dev/zero > "$1/filler"
shift
"$@"; echo "first ended with $?"
"$READER" first
"$@"; echo "second ended with $?"
rm "$FILLER"
"$@"; echo "third ended with $?"
"$READER" third
"""
"""A disk of four megabytes, of which a file takes most: the load, the load again, and once more when that file is gone."""

READER = """#!{python}
import sys
from pathlib import Path
from groupproof.protocol.trace_columns import read_parquet
runs = [seen.run for seen in read_parquet(Path("{members}"))]
print(sys.argv[1], "readable", len(runs), "of", *sorted(set(runs)))
"""


def test_a_load_whose_disk_is_full_says_so_and_is_gone_on_with_when_there_is_room(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    disk, reader = tmp_path / "disk", tmp_path / "reader.py"
    disk.mkdir()
    output = disk / "load"
    reader.write_text(READER.format(python=sys.executable, members=output / MEMBERS))
    reader.chmod(0o755)
    words = ["unshare", "--mount", "sh", "-c", FULL, "sh", str(disk), *COMMAND, *LOAD, "--rate", "5", "--duration", "60s", "--output", str(output)]

    called = subprocess.run(
        words, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "READER": str(reader), "FILLER": str(disk / "filler")}
    )

    if called.returncode == 77 or "unshare" in called.stderr.partition(":")[0]:
        pytest.skip("a disk of its own needs the right to mount one")
    printed = called.stdout + called.stderr
    assert re.search(
        r"No space left on device; what was sealed before stays readable: free some space, and run the same command again to continue", printed
    ), printed
    assert "first ended with 4" in printed
    assert "second ended with 4" in printed, "there still is no room, and it says so"
    assert int(re.findall(r"first readable (\d+) of load-1", printed)[0]) > 0
    assert re.search(r"going on \d+\.\d s into the plan", printed)
    assert re.search(r"third ended with [02]\b", printed), printed
    assert re.search(r"third readable \d+ of load-1 .*load-\d", printed), printed


def executor_of(driver: int) -> int:
    """Return an executor's process among the driver's descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    for process in parents:
        ancestor = process
        while ancestor in parents and ancestor != driver:
            ancestor = parents[ancestor]
        if ancestor == driver and b"CoarseGrainedExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes():
            return process
    raise AssertionError("the load has no executor")
