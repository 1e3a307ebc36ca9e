"""What packages above register: it is installed as the project's file says, each of it can be imported, and what is not there is said so."""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points

import pytest
from tests.project import ROOT

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.running.plugins import CHECK_ENGINES, COMMANDS, RECORDED_CASES, REPLAYS, TRACE_COMMANDS, plugin, plugin_names

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
GROUPS = (CHECK_ENGINES, COMMANDS, RECORDED_CASES, REPLAYS, TRACE_COMMANDS)


def test_the_project_registers_in_these_groups_alone() -> None:
    assert set(PROJECT["entry-points"]) == {*GROUPS, "pytest11"}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_installed_is_what_the_project_registers(group: str) -> None:
    assert {point.name: point.value for point in entry_points(group=group)} == PROJECT["entry-points"][group], "make setup"
    assert plugin_names(group) == PROJECT["entry-points"][group].keys()


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in GROUPS for name in PROJECT["entry-points"][group]])
def test_what_is_registered_can_be_called(group: str, name: str) -> None:
    assert callable(plugin(group, name))


def test_what_is_not_installed_is_the_environments_fault() -> None:
    with pytest.raises(BrokenEnvironment, match=r"has no 'flink' among its groupproof\.check_engines"):
        plugin(CHECK_ENGINES, "flink")
