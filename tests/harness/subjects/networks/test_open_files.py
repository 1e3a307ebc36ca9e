"""The limit of open files, and one line where it is reached."""

from __future__ import annotations

import logging
import resource
import subprocess
import sys

import pytest

from groupproof.harness.subjects.networks import open_files
from groupproof.harness.subjects.networks.open_files import open_files_max, open_files_raised

_RAISED = """
import resource
from groupproof.harness.subjects.networks.open_files import open_files_max, raise_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
assert open_files_max() == "256", open_files_max()
raise_open_files()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_a_process_may_open_as_many_files_as_the_system_lets_it() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    done = subprocess.run([sys.executable, "-c", _RAISED], capture_output=True, text=True, check=True)

    assert done.stdout.split() == [str(hard), str(hard)]


def test_a_connection_that_cannot_be_accepted_is_reported_once_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    accepting, lines = logging.getLogger("trio.serve_listeners"), list[str]()

    with open_files_raised(lines.append):
        for _ in range(3):
            accepting.error("accept returned %s (%s); retrying in %s seconds", "EMFILE", "Too many open files", 0.1, exc_info=True)

    assert len(lines) == 1
    assert f"this process may open {open_files_max()} files and connections" in lines[0]
    assert not caplog.records
    accepting.error("accept returned EMFILE")
    assert len(caplog.records) == 1


def test_a_system_without_a_limit_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "resource", None)

    open_files.raise_open_files()

    assert open_files_max() == "a limited number of"


def test_a_limit_without_an_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    assert open_files_max() == "any number of"
