"""Which tests `make test FAST=1` runs, and the order in which workers of pytest-xdist are given tests.

A change in hand is tried by what is quick and needs no other program: nothing that is marked `slow`, `java`, `docker` or `network`, and of a test with
many parameters a share, drawn by name.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

__all__ = ["IS_FAST", "dealt", "too_long_for_a_change_in_hand"]

IS_FAST: Final = bool(os.environ.get("GROUPPROOF_FAST"))

LONG: Final = ("slow", "java", "docker", "network")
PARAMETERS_MAX: Final = 8
SHARE: Final = 14
"""Of a test with more parameters one in so many runs."""

SLOW_S: Final = 0.7
SECONDS: Final = {
    "tests/chaos/spark/load/test_load_run.py": 20,
    "tests/chaos/spark/load/test_load_server_process.py": 12,
    "tests/chaos/spark/load/test_spark_job.py": 12,
    "tests/ci/test_dist.py": 6,
    "tests/ci/test_dockerfile.py": 25,
    "tests/ci/test_workflows.py": 12,
    "tests/clients/shims/test_c_shims.py": 12,
    "tests/clients/shims/test_clients_keep_the_contract.py": 20,
    "tests/clients/shims/test_go_shims.py": 25,
    "tests/clients/shims/test_node_shims.py": 40,
    "tests/docs/test_commands.py": 60,
    "tests/docs/test_extend.py": 45,
    "tests/docs/test_site.py": 17,
    "tests/harness/commands/base/test_command_tree.py": 18,
    "tests/harness/commands/pytest_plugin/test_new_project.py": 28,
    "tests/harness/commands/pytest_plugin/test_workers.py": 25,
    "tests/harness/commands/test_odd_brokers.py": 18,
    "tests/harness/commands/test_shim.py": 13,
    "tests/harness/running/fuzzing/histories/test_consumer_moves.py": 14,
    "tests/harness/running/shim_check/test_shim_check.py": 14,
    "tests/harness/running/simulations/test_engines.py": 14,
    "tests/harness/subjects/brokers/apache/test_real_kafka.py": 12,
    "tests/stateful/test_engines.py": 16,
}
"""About how long the slow tests of a file take, and any other file's one by one: who begins with the longest ends with the shortest."""

QUICK_SHARE: Final = 4
"""Beside Spark's, one worker in so many begins with what is quick."""

SPARK: Final = "spark"
"""The fixture of a Spark session, which a worker starts once."""


def too_long_for_a_change_in_hand(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return what `make test FAST=1` leaves out."""
    parameters = Counter(_function(item) for item in items)
    return {
        item for item in items
        if any(item.get_closest_marker(mark) is not None for mark in LONG)
        or (parameters[_function(item)] > PARAMETERS_MAX and zlib.crc32(item.nodeid.encode()) % SHARE != 0)
    }  # fmt: skip


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests so that one worker alone starts Spark, what is long comes before what is quick, and what stands on one costly fixture stays together.

    `--dist worksteal` gives each worker a part of the list as it stands. The first part begins with Spark's tests, most others with the slow ones,
    the longest first; who has nothing left takes from the end of another's part. The last third begins with what is quick: slow tests wait half of their
    time, and all of them at once left the processors idle for a quarter of the run.
    """
    spark = [item for item in items if SPARK in getattr(item, "fixturenames", ())]
    groups = _groups([item for item in items if SPARK not in getattr(item, "fixturenames", ())])
    slow = [group for group in groups if any(item.get_closest_marker("slow") is not None for item in group)]
    begun = {*spark, *(item for group in slow for item in group)}
    quick = [item for item in items if item not in begun]
    without_slow = (workers - 1) // QUICK_SHARE
    heads = [spark, *_evenly(slow, workers - 1 - without_slow)] if workers > 1 else [spark + [item for group in slow for item in group]]
    heads += [[]] * without_slow
    ends = [len(items) * (number + 1) // workers for number in range(workers)]
    order: list[pytest.Item] = []
    for head, end in zip(heads, ends, strict=True):
        order += head
        room = max(0, end - len(order))
        order += quick[:room]
        quick = quick[room:]
    return order + quick


def _groups(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the tests that share a fixture of their module side by side, all others alone."""
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        shared = _module_fixtures(item)
        groups.setdefault((_file(item), *shared) if shared else item, []).append(item)
    return list(groups.values())


def _module_fixtures(item: pytest.Item) -> list[tuple[str, int]]:
    """Return the fixtures that are made once for the tests of the item's module, with the number of the parameter."""
    info, call = getattr(item, "_fixtureinfo", None), getattr(item, "callspec", None)
    if info is None:
        return []
    return [
        (name, 0 if call is None else call.indices.get(name, 0))
        for name in item.fixturenames  # type: ignore[attr-defined] # of a Function, which has the info
        if any(made.scope == "module" and made.baseid == _file(item) for made in info.name2fixturedefs.get(name, ()))
    ]


def _evenly(groups: Sequence[list[pytest.Item]], workers: int) -> list[list[pytest.Item]]:
    """Return what each worker begins with, the longest first."""
    of_file = Counter(_file(item) for group in groups for item in group)

    def seconds(group: list[pytest.Item]) -> float:
        return sum(SECONDS.get(_file(item), SLOW_S * of_file[_file(item)]) / of_file[_file(item)] for item in group)

    heads: list[list[pytest.Item]] = [[] for _ in range(workers)]
    loads = [0.0] * workers
    for group in sorted(groups, key=seconds, reverse=True):
        least = loads.index(min(loads))
        heads[least] += group
        loads[least] += seconds(group)
    return heads


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
