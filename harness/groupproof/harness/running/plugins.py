"""What higher packages add through the entry points of their distributions: commands, kinds of recorded cases, replays, check engines.

Only the command line imports them by name, so that an installation can omit one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from groupproof.harness.model.errors import BrokenEnvironment

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["CHECK_ENGINES", "COMMANDS", "RECORDED_CASES", "REPLAYS", "TRACE_COMMANDS", "plugin", "plugin_names"]

COMMANDS: Final = "groupproof.commands"
"""Commands of `groupproof`, by their names."""

TRACE_COMMANDS: Final = "groupproof.trace_commands"
"""Commands of `groupproof trace`, by their names."""

RECORDED_CASES: Final = "groupproof.recorded_cases"
"""Functions that make a case from its id and its origin, by the origin's `kind`."""

REPLAYS: Final = "groupproof.replays"
"""Functions that replay a schedule, by the first part of its case's id."""

CHECK_ENGINES: Final = "groupproof.check_engines"
"""Functions that judge trace files, by the name in `trace check --engine`."""


def plugin_names(group: str) -> frozenset[str]:
    """Return the names in a group, without importing their objects."""
    return frozenset(_points(group))


def plugin(group: str, name: str) -> Any:
    """Import and return the registered object; raise `BrokenEnvironment` where this installation does not have it."""
    point = _points(group).get(name)
    if point is None:
        raise BrokenEnvironment(
            f"this installation of groupproof has no {name!r} among its {group}; in a work tree run make setup, which registers new ones"
        )
    return point.load()


def _points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # imported here: it loads the parser of mail headers, and most commands are no plugin

    return {point.name: point for point in entry_points(group=group)}
