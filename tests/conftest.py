"""Hypothesis profiles: the gate draws the same examples for the same commit, a local run and `make soak` draw others; and what is left to `make soak`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from tests.choosing import IS_FAST, dealt, too_long_for_a_change_in_hand
from tests.soaking import NAME, SEED, SOAKS, replay_line

# A busy machine must not fail a property: time is judged by no example.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("local"), database=None, print_blob=True)
settings.register_profile("gate", settings.get_profile("soak"), derandomize=True)
settings.register_profile("fast", settings.get_profile("local"), max_examples=25)
settings.load_profile("soak" if SOAKS else "gate" if os.environ.get("CI") else "fast" if IS_FAST else "local")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C, which a shell without a terminal has its background jobs ignore, and their children; in the soak draw all that is drawn from its seed.

    A worker of xdist ends at once when all has been said: to take down one by one what it had loaded takes a second.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        atexit.register(_end_at_once)
    if SOAKS:
        config.option.hypothesis_seed = config.option.randomly_seed = SEED


def _end_at_once() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def pytest_report_header() -> str | None:
    return f"soak: seed {NAME} ({SEED}), again by: make soak SEED={NAME}" if SOAKS else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose what this run is for, which pytest counts aloud, and have the workers begin with what is long.

    The tests of `make soak` are those marked so, and no others; everywhere else they are deselected.
    """
    left_out = {item for item in items if (item.get_closest_marker("soak") is not None) != SOAKS}
    if IS_FAST:
        left_out |= too_long_for_a_change_in_hand([item for item in items if item not in left_out])
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = dealt([item for item in items if item not in left_out], workers)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: what is made stays, and each worker looked through all of it again and again, a fifth of its time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Have a worker of xdist say in one message what a test came to; that it was set up and taken down in order is worth none.

    Six messages for each test took a third of what a quick test costs. Who asks for the time of each phase, or for a file of JUnit, gets them all.
    """
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.durations or options.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    _set_aside()
    return True


_unfreeze = gc.unfreeze
_unfrozen = threading.Event()


def pytest_collection_finish() -> None:
    """Keep what is loaded out of the garbage collector's way.

    A run begins with a full collection (`short_pauses`), and tests run hundreds of them: each looked through all tests that were collected, half a second.
    """

    def unfreeze() -> None:
        _unfreeze()
        _unfrozen.set()

    gc.unfreeze = unfreeze  # to ask gc.get_freeze_count() after each test would count all objects
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    _set_aside()


def _set_aside() -> None:
    """Set aside again what a run gave back when it ended."""
    if _unfrozen.is_set():
        _unfrozen.clear()
        gc.collect(1)  # what the test left young
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def what_was_never_closed() -> Generator[None]:
    """Have it found after the last test, whose failure it is: a worker of xdist has nobody hear what pytest finds when it ends.

    Pytest looks for it twice more. All that was loaded is out of its way in a worker.
    """
    yield
    gc.unfreeze()
    with warnings.catch_warnings():
        spark = sys.modules.get("pyspark")
        if spark is not None and spark.SparkContext._gateway is not None:  # it was started, and leaves sockets to the garbage collector
            warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze = _unfreeze
    if not hasattr(session.config, "workerinput"):
        gc.unfreeze()  # extensions complain of what nobody takes down


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if SOAKS and report.failed:
        report.sections.append(("again by", replay_line(item.nodeid)))
    return report
