"""What a worker of xdist says of its tests: everything that is worth a line at the end, and nothing besides."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

WORKER = """
from tests.conftest import pytest_runtest_protocol
def pytest_configure(config): config.workerinput = {}
"""
TESTS = """
import pytest
@pytest.fixture
def wrong_before(): raise ValueError
@pytest.fixture
def wrong_after():
    yield
    raise ValueError
def test_fine(): pass
def test_before(wrong_before): pass
def test_after(wrong_after): pass
def test_itself(): assert False
def test_itself_and_after(wrong_after): assert False
def test_left_out(): pytest.skip("absent")
@pytest.mark.skip
def test_left_out_before(): pass
@pytest.mark.xfail
def test_wrong_as_ever(): assert False
"""
RESULTS = {
    ("test_fine", "call", "passed"), ("test_before", "setup", "failed"), ("test_after", "call", "passed"), ("test_after", "teardown", "failed"),
    ("test_itself", "call", "failed"), ("test_itself_and_after", "call", "failed"), ("test_itself_and_after", "teardown", "failed"),
    ("test_left_out", "call", "skipped"), ("test_left_out_before", "setup", "skipped"), ("test_wrong_as_ever", "call", "skipped"),
}  # fmt: skip


def _results(pytester: pytest.Pytester, *options: str) -> set[tuple[str, str, str]]:
    """Return what was reported, of which test, phase and outcome."""
    pytester.makeconftest(WORKER)
    reports = pytester.inline_run("-p", "no:xdist", "-p", "no:randomly", *options, pytester.makepyfile(TESTS)).getreports("pytest_runtest_logreport")
    return {(report.nodeid.rpartition("::")[2], report.when, report.outcome) for report in reports}


def test_a_worker_tells_what_a_test_came_to_and_not_that_it_began_and_ended_in_order(pytester: pytest.Pytester) -> None:
    assert _results(pytester) == RESULTS


@pytest.mark.parametrize("option", ["--durations=3", "--junit-xml=found.xml"])
def test_a_caller_that_asks_for_each_phase_gets_each_phase(pytester: pytest.Pytester, option: str) -> None:
    assert _results(pytester, option) > RESULTS | {("test_fine", "setup", "passed"), ("test_fine", "teardown", "passed")}
