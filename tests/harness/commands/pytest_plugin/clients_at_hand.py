"""Where a release of a client is installed, or a skip with the reason where it is not available here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.project import ROOT

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import ProvisionError, provision
from groupproof.clients.registry.registered_clients import resolve

__all__ = ["ROOT", "pytest_in", "site_of"]

LONGEST_S = 900


def site_of(client: str) -> str:
    """Return the folder that has to be on PYTHONPATH for `import` to find this release."""
    try:
        return provision(resolve(client), default_cache(), lambda _: None).env["PYTHONPATH"]
    except ProvisionError as error:
        pytest.skip(f"{client} is not available here: {error}")


def pytest_in(folder: Path, *arguments: str, path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest there in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name not in ("GROUPPROOF_SOAK", "PYTEST_ADDOPTS", "CI")}
    argv = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        argv, cwd=folder, env={**env, "PYTHONPATH": path, **environment}, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
