"""The scenarios of Spark's own Kafka source, as data: which queries run, on which path, which faults act on them, and what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.selection import nearest

__all__ = ["SCENARIOS", "Expects", "Scenario", "chosen"]


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


_JOINED: Final = Expects(joins=True, whole=True)
_APART: Final = Expects(joins=False, whole=True)

SCENARIOS: Final = (
    Scenario(
        name="default-path",
        title="A query as Spark starts it: it joins no group",
        story="The driver asks for offsets as an administrator, its tasks are assigned partitions by hand. Nobody joins.",
        expects=_APART,
    ),
    Scenario(
        name="default-path-shared",
        title="Two queries with one kafka.group.id, as Spark starts them",
        story="On the default path a group id is but a name: each of the two queries reads everything.",
        is_shared=True,
        expects=_APART,
    ),
    Scenario(
        name="default-path-without-coordinator",
        title="A query as Spark starts it, while no coordinator can be found",
        story="Every FindCoordinator is answered COORDINATOR_NOT_AVAILABLE: who joins no group does not notice.",
        faults=("FindCoordinator,response,answer=COORDINATOR_NOT_AVAILABLE,count=1000000",),
        from_start=True,
        expects=_APART,
    ),
    Scenario(
        name="deprecated-path",
        title="A query with useDeprecatedOffsetFetching: its driver joins the group",
        story="The driver subscribes, joins and sends heartbeats to learn which partitions there are; its tasks read them without a group.",
        is_deprecated=True,
        expects=_JOINED,
    ),
    Scenario(
        name="deprecated-path-rebalances",
        title="A Heartbeat of the driver is answered REBALANCE_IN_PROGRESS",
        story="The driver joins again when it next asks for offsets, and goes on.",
        is_deprecated=True,
        faults=("Heartbeat,response,answer=REBALANCE_IN_PROGRESS",),
        expects=_JOINED,
    ),
    Scenario(
        name="deprecated-path-evicted",
        title="The driver is thrown out of its group: a Heartbeat is answered UNKNOWN_MEMBER_ID",
        story="The driver joins as a new member. Where it stands is in its checkpoint, not in the group: nothing is lost or read again.",
        is_deprecated=True,
        faults=("Heartbeat,response,answer=UNKNOWN_MEMBER_ID",),
        expects=_JOINED,
    ),
    Scenario(
        name="deprecated-path-cut",
        title="The driver's connection to its coordinator breaks",
        story="A Heartbeat is lost with its connection. The driver finds its coordinator again and stays a member.",
        is_deprecated=True,
        faults=("Heartbeat,cut",),
        expects=_JOINED,
    ),
    Scenario(
        name="shared-group",
        title="Two queries with one kafka.group.id, and their drivers join: they split the partitions, and neither fails",
        story="The coordinator does what it should: it divides the partitions between two members. Each query takes its half for the whole topic; a warning in Spark's log is all that is said.",
        is_deprecated=True,
        is_shared=True,
        expects=Expects(joins=True, whole=False, split=True),
    ),
    Scenario(
        name="shared-group-by-default",
        title="The same with failOnDataLoss as it is by default",
        story="The query that was there first sees partitions go away and takes them for lost data.",
        is_deprecated=True,
        is_shared=True,
        fails_on_loss=True,
        expects=Expects(joins=True, whole=False, fails=True),
    ),
)  # fmt: skip


def chosen(named: Iterable[str]) -> Sequence[Scenario]:
    """Return the scenarios that names, globs and `all` mean, each once; raise `WrongUsage` for what means none."""
    found: dict[str, Scenario] = {}
    for name in named:
        meant = [scenario for scenario in SCENARIOS if name == "all" or fnmatchcase(scenario.name, name)]
        if not meant:
            raise WrongUsage(
                f"no scenario of Spark is called {name!r}{nearest(name, [scenario.name for scenario in SCENARIOS])}; see groupproof chaos spark --list"
            )
        found |= {scenario.name: scenario for scenario in meant}
    return tuple(found.values())
