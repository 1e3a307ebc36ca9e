from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from groupproof.protocol.lean_imports import without


def test_an_import_of_an_excluded_package_fails_as_not_installed() -> None:
    sys.modules.pop("this", None)

    with without("this"), pytest.raises(ImportError):
        import_module("this")
    assert "this" not in sys.modules


def test_a_package_that_has_been_imported_stays() -> None:
    with without("pytest"):
        assert import_module("pytest") is pytest
    assert sys.modules["pytest"] is pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["groupproof.protocol.wire.message_codec", "groupproof.harness.subjects.networks.virtual_time", "groupproof.clients.shims.reference"]
)
def test_the_wire_and_virtual_time_load_no_kit_for_tests(module: str) -> None:
    program = f"import sys, {module}; print(sorted({{'hypothesis', 'pytest', '_pytest'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
