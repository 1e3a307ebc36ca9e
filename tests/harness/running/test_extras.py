from __future__ import annotations

import importlib.util
import shutil
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from tests.docs.pages import ROOT

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.running.extras import EXTRAS, absence, absent, cure, need

BROUGHT_BY_OTHERS = {"requests", "numpy", "py4j"}
NAMED_OTHERWISE = {"toxiproxy": "toxiproxy-python"}


def test_the_packages_of_each_extra_are_those_that_the_project_names() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    own = {extra: {NAMED_OTHERWISE.get(name, name) for name in names if name not in BROUGHT_BY_OTHERS} for extra, names in EXTRAS.items()}

    assert own == {extra: {Requirement(item).name for item in named[extra]} for extra in EXTRAS}


def test_the_cure_names_this_python_and_not_the_pip_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/my env/bin/python")

    assert cure("chaos", "zookeeper").endswith("'groupproof[chaos,zookeeper]'")
    assert "'/opt/my env/bin/python' -m pip" in cure("chaos")


def test_where_there_is_no_pip_the_cure_is_by_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(sys, "executable", "/opt/python")

    assert cure("fuzz") == "uv pip install 'groupproof[fuzz]' --python /opt/python"


def test_what_is_needed_and_missing_is_reported_with_every_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo", None)

    with pytest.raises(BrokenEnvironment, match=r"^a comparison needs kazoo, which is not installed; get it with: .*'groupproof\[chaos,zookeeper\]'"):
        need("a comparison", "requests", "kazoo")
    need("a comparison", "requests")
    assert absent("zookeeper") == ("kazoo",)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql"), "'groupproof[spark]'"),
        (ModuleNotFoundError("No module named 'groupproof.nowhere'", name="groupproof.nowhere"), None),
        (ImportError("cannot import name", name="pyspark"), None),
    ],
)
def test_only_a_missing_package_of_an_extra_is_the_environments_fault(error: Exception, text: str | None) -> None:
    found = absence([ValueError("first"), error])

    assert (None if found is None else str(found).rpartition(" ")[2]) == text
