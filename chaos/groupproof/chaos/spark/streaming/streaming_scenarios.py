"""The scenarios of Spark's own Kafka source (`streaming_scenarios.toml`): their queries, paths, faults and expectations."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.selection import nearest

__all__ = ["Expects", "Scenario", "chosen", "scenarios"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expects:
    """The expectations; None where a scenario has none.

    `joins`: the driver joins a group, or sends no membership request at all. `whole`: each query reads every record exactly once. `split`: while two
    queries run, each reads other partitions. `fails`: a query ends with an error; otherwise none does.
    """

    joins: bool
    whole: bool | None = None
    split: bool | None = None
    fails: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One course: the query `a` runs from the beginning. With `is_shared`, `b` with the same group id starts when `a` is at work, and stops before
    it.

    `is_deprecated` turns on `spark.sql.streaming.kafka.useDeprecatedOffsetFetching`. `faults` are in the words of `groupproof tap --fault`. They are
    armed when every query is at work, or with `from_start` before the first begins. `fails_on_loss` is the source's option `failOnDataLoss`.
    """

    name: str
    title: str
    story: str
    expects: Expects
    is_deprecated: bool = False
    is_shared: bool = False
    fails_on_loss: bool = False
    faults: tuple[str, ...] = ()
    from_start: bool = False

    @property
    def queries(self) -> tuple[str, ...]:
        return ("a", "b") if self.is_shared else ("a",)


@cache
def scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios in the order of their file."""
    text = (Path(__file__).parent / "streaming_scenarios.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["scenario"], tuple[Scenario, ...])


def chosen(named: Iterable[str]) -> Sequence[Scenario]:
    """Return the scenarios of names, globs and `all`, each once; raise `WrongUsage` for a name that matches none."""
    found: dict[str, Scenario] = {}
    for name in named:
        meant = [scenario for scenario in scenarios() if name == "all" or fnmatchcase(scenario.name, name)]
        if not meant:
            raise WrongUsage(
                f"no scenario of Spark is called {name!r}{nearest(name, [scenario.name for scenario in scenarios()])}; see groupproof chaos spark --list"
            )
        found |= {scenario.name: scenario for scenario in meant}
    return tuple(found.values())
