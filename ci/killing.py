"""A pytest plugin that tries mutants: the tests are collected once, run once unharmed to learn which function each meets and how long it takes, and then
for each mutant, in a fork, those that meet its function, fastest first and no more than two seconds of them, until one fails. A test of the
module's own goes before others ten times as fast.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

__all__ = ["affordable", "pytest_addoption", "pytest_configure"]

SUITE_S: Final = 2.0
OWN_FACTOR: Final = 0.1
CPU_S_MAX: Final = 8  # of one mutant: it loops
WALL_S_MAX: Final = 180  # of one mutant: it waits for what never comes
SURVIVED, KILLED, BROKE = range(3)
OUTCOMES: Final = ("survived", "killed", "broke")


def affordable(tests: Sequence[tuple[float, bool]]) -> list[int]:
    """Return which to run of tests with their seconds, and whether they are the module's own: fastest first, at least one, together about `SUITE_S`."""
    order = sorted(range(len(tests)), key=lambda index: tests[index][0] * (OWN_FACTOR if tests[index][1] else 1))
    chosen: list[int] = []
    spent_s = 0.0
    for index in order:
        spent_s += tests[index][0]
        if chosen and spent_s > SUITE_S:
            break
        chosen.append(index)
    return chosen


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("killing")
    group.addoption("--drawn", type=Path, help="a JSON list of mutants")
    group.addoption("--outcomes", type=Path, help="where to write the result of each mutant")
    group.addoption("--jobs", type=int, default=1, help="how many to run side by side")


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("mutants", settings(deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)))
    settings.load_profile("mutants")
    config.pluginmanager.register(_Trial(config))


class _Trial:
    def __init__(self, config: pytest.Config) -> None:
        self.drawn: list[str] = json.loads(config.getoption("drawn").read_text())
        self.outcomes: Path = config.getoption("outcomes")
        self.jobs: int = config.getoption("jobs")
        self.has_failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.has_failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        suites = self._measured(session.items)
        gc.freeze()  # or each fork copies what the collector touches
        outcomes: dict[str, str] = {}
        running: dict[int, str] = {}
        for name in self.drawn:
            while len(running) >= self.jobs:
                _reap(running, outcomes)
            suite = suites[mangled_name_from_mutant_name(name)]
            running[self._forked(name, suite)] = name
        while running:
            _reap(running, outcomes)
        self.outcomes.write_text(json.dumps(outcomes))
        return True

    def _measured(self, tests: Sequence[pytest.Item]) -> defaultdict[str, list[pytest.Item]]:
        """Run every test; return by function those to run for its mutants. A test that fails unharmed tells nothing of a mutant, and is left out."""
        tests_of: defaultdict[str, list[tuple[float, pytest.Item]]] = defaultdict(list)
        set_mutant_under_test("stats")
        for test, following in _in_turn(tests):
            state()._stats.clear()
            began_s = time.process_time()
            if self._fails(test, following):
                continue
            for function in state()._stats:
                tests_of[function].append((time.process_time() - began_s, test))
        chosen: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for function, timed in tests_of.items():
            own = f"test_{function.split('.')[-2]}"
            chosen[function] = [timed[index][1] for index in affordable([(duration_s, test.path.stem == own) for duration_s, test in timed])]
        return chosen

    def _fails(self, test: pytest.Item, following: pytest.Item | None) -> bool:
        self.has_failed = False
        test.ihook.pytest_runtest_protocol(item=test, nextitem=following)
        return self.has_failed

    def _forked(self, name: str, tests: Sequence[pytest.Item]) -> int:
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child
        code = BROKE
        try:
            signal.alarm(WALL_S_MAX)
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX + 1))
            set_mutant_under_test(name)
            code = KILLED if any(self._fails(test, following) for test, following in _in_turn(tests)) else SURVIVED
        finally:
            os._exit(code)


def _in_turn(tests: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Give each test with the one after it, which pytest asks for to keep what both use."""
    return zip(tests, [*tests[1:], None], strict=False)


def _reap(running: dict[int, str], outcomes: dict[str, str]) -> None:
    process, status = os.wait()
    if process in running:
        looped = os.WIFSIGNALED(status)
        outcomes[running.pop(process)] = "killed" if looped else OUTCOMES[os.WEXITSTATUS(status)]
