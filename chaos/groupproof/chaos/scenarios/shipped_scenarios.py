"""The shipped scenarios, and the user's selection: by name, by glob, all of them, or a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path

from groupproof.chaos.scenarios.scenario import Scenario
from groupproof.chaos.scenarios.scenario_file import load_scenario, read_scenario
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.selection import nearest

__all__ = ["chosen", "shipped"]


@cache
def shipped() -> tuple[Scenario, ...]:
    """Return the shipped scenarios, by name; raise `BadScenario` for an invalid one."""
    folder = files("groupproof.chaos") / "scenarios" / "shipped"
    found = sorted((path for path in folder.iterdir() if path.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(read_scenario(file.name.removesuffix(".toml"), file.read_text("utf-8")) for file in found)


def chosen(named: Iterable[str]) -> Sequence[Scenario]:
    """Return the scenarios of names, globs, `all` and files, each once; raise `WrongUsage` for one that matches none."""
    found: dict[str, Scenario] = {}
    for name in named:
        for scenario in _meant(name):
            if found.setdefault(scenario.name, scenario) != scenario:
                raise WrongUsage(f"two scenarios are called {scenario.name!r}; give the file another name")
    return tuple(found.values())


def _meant(named: str) -> Sequence[Scenario]:
    if named.endswith(".toml"):
        return (load_scenario(Path(named)),)
    names = [scenario.name for scenario in shipped()]
    meant = [
        scenario
        for scenario in shipped()
        if named in ("all", scenario.name, scenario.case_id) or fnmatchcase(scenario.name, named) or fnmatchcase(scenario.case_id, named)
    ]
    if not meant:
        raise WrongUsage(f"no scenario is called {named!r}{nearest(named, names) or '; see groupproof chaos list'}")
    return meant
