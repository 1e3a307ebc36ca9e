"""The scenarios of Spark's own Kafka source (`streaming_scenarios.toml`): which queries run, on which path, which faults act on them, and what is expected."""

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
    """What must be seen; None where a scenario says nothing of it.

    `joins`: the driver joins a group, or sends not one request of membership. `whole`: each query reads every record, and none twice. `split`: while two queries
    run each reads some partitions alone. `fails`: a query ends with an error; else none does.
    """

    joins: bool
    whole: bool | None = None
    split: bool | None = None
    fails: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One course: the query `a` runs from the beginning; with `is_shared` `b` comes with the same group id when `a` is at work, and goes before it.

    `is_deprecated` turns on `spark.sql.streaming.kafka.useDeprecatedOffsetFetching`. `faults` are the words of `groupproof tap --fault`, armed once every query
    is at work, or with `from_start` before the first begins. `fails_on_loss` is the source's option `failOnDataLoss`.
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
    """Return them in the order of their file."""
    text = (Path(__file__).parent / "streaming_scenarios.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["scenario"], tuple[Scenario, ...])


def chosen(named: Iterable[str]) -> Sequence[Scenario]:
    """Return the scenarios that names, globs and `all` mean, each once; raise `WrongUsage` for what means none."""
    found: dict[str, Scenario] = {}
    for name in named:
        meant = [scenario for scenario in scenarios() if name == "all" or fnmatchcase(scenario.name, name)]
        if not meant:
            raise WrongUsage(
                f"no scenario of Spark is called {name!r}{nearest(name, [scenario.name for scenario in scenarios()])}; see groupproof chaos spark --list"
            )
        found |= {scenario.name: scenario for scenario in meant}
    return tuple(found.values())
