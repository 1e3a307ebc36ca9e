"""Groups as `groupproof watch` shows them: a table of all, the history of one, a line for a rebalance, metrics for Prometheus. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.table import Table

from groupproof.harness.judging.topic_history.group_health import GroupHealth
from groupproof.harness.judging.topic_history.logged_groups import CLASSIC, LoggedRebalance
from groupproof.harness.reports.pictures.svg import time_label
from groupproof.protocol.wire.offsets_topic import Tally

__all__ = ["NO_REQUESTS", "history_of", "metrics_of", "rebalance_line", "table_of"]

NO_REQUESTS: Final = "The topic holds no requests: it does not say who sent a commit, when a classic group's join phase began, or why a member went."
"""What no reader of the topic can know."""

_SHOWN_MEMBERS_MAX: Final = 50


def table_of(groups: Sequence[GroupHealth], title: str) -> Table:
    """Return a table of the groups, the worst first."""
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column("group", no_wrap=True)
    for name in ("protocol", "state", "gen", "members", "rebalances", "last"):
        table.add_column(name, no_wrap=True)
    table.add_column("likely cause", ratio=1)
    table.add_column("problems", ratio=2)
    for health in sorted(groups, key=lambda health: (health.is_healthy, -len(health.recent), health.group.group)):
        group, last = health.group, health.recent[-1] if health.recent else None
        style = "" if health.is_healthy else "bold red" if health.in_storm else "yellow"
        table.add_row(
            group.group, group.protocol or "-", group.state, "-" if group.generation is None else str(group.generation), str(len(group.members)),
            str(len(health.recent)), _moment(last.at_ms) if last is not None else "-", _cause(last) if last is not None else "-",
            "; ".join(health.problems), style=style,
        )  # fmt: skip
    return table


def history_of(health: GroupHealth) -> Iterator[str]:
    """Yield the lines of one group: its members, its rebalances in order, its problems."""
    group = health.group
    since = "from its beginning" if group.is_whole else f"as far back as {_moment(group.begins_ms)}"
    word = "generation" if group.protocol == CLASSIC else "epoch"
    yield f"group {group.group}, {group.protocol or 'offsets only'}: {group.state}, {word} {group.generation}, {len(group.members)} members; {since}"
    for member in list(group.members.values())[:_SHOWN_MEMBERS_MAX]:
        named = f", instance {member.instance}" if member.instance is not None else ""
        yield f"  member   {member.client} at {member.host.lstrip('/')}{named}: {len(member.partitions)} partitions, there since {_moment(member.since_ms)}"
    for rebalance in health.recent:
        yield f"  {rebalance_line(rebalance)}"
    for restart in group.restarts:
        if not restart.had_rebalance:
            yield f"  {_moment(restart.at_ms)} static member {restart.instance} came back under a new member id, without a rebalance: certain"
    for problem in health.problems:
        yield f"  problem  {problem}"


def rebalance_line(rebalance: LoggedRebalance) -> str:
    """Return one rebalance as a line: time, generations, cause and its certainty, duration."""
    before = "?" if rebalance.before is None else str(rebalance.before)
    sure = "certain" if rebalance.is_certain else "likely"
    others = f", or {', '.join(rebalance.also)}" if rebalance.also and not rebalance.is_certain else ""
    missing = f"; {rebalance.missing} in between left no record" if rebalance.missing else ""
    return f"{_moment(rebalance.at_ms)} {rebalance.group} {before} → {rebalance.generation}: {rebalance.cause} ({rebalance.words}), {sure}{others}{_took(rebalance)}{missing}"


def metrics_of(groups: Sequence[GroupHealth], tally: Tally, behind: int) -> str:
    """Return the metrics for Prometheus. Names that begin with `kafka_` are those of kafka_exporter."""
    lines: list[str] = []

    def add(name: str, kind: str, values: Sequence[tuple[Mapping[str, str], float]]) -> None:
        lines.append(f"# TYPE {name} {kind}")
        lines.extend(
            f"{name}{_labels(labels)} {value:g}" if value != int(value) else f"{name}{_labels(labels)} {int(value)}" for labels, value in values
        )

    of = [({"consumergroup": health.group.group}, health) for health in groups]
    add("kafka_consumergroup_members", "gauge", [(labels, len(health.group.members)) for labels, health in of])
    add("kafka_consumergroup_current_offset", "gauge", [
        ({**labels, "topic": topic, "partition": str(partition)}, commit.offset)
        for labels, health in of for (topic, partition), commit in sorted(health.group.commits.items())
    ])  # fmt: skip
    add("groupproof_group_generation", "gauge", [(labels, health.group.generation or 0) for labels, health in of])
    add("groupproof_group_state", "gauge", [({**labels, "state": health.group.state}, 1) for labels, health in of])
    add("groupproof_group_rebalances", "gauge", [
        ({**labels, "cause": cause.value}, count) for labels, health in of for cause, count in sorted(health.causes.items())
    ])  # fmt: skip
    add("groupproof_group_last_rebalance_seconds", "gauge", [(labels, health.recent[-1].at_ms / 1_000) for labels, health in of if health.recent])
    add("groupproof_group_storm", "gauge", [(labels, int(health.in_storm)) for labels, health in of])
    add("groupproof_group_flapping_members", "gauge", [(labels, len(health.flapping)) for labels, health in of])
    add("groupproof_group_partitions_without_owner", "gauge", [(labels, len(health.without_owner)) for labels, health in of])
    add("groupproof_group_stalled_partitions", "gauge", [(labels, len(health.stalled)) for labels, health in of])
    add("groupproof_records_read_total", "counter", [({"record": name}, count) for name, count in sorted(tally.records.items())])
    add("groupproof_records_unreadable_total", "counter", [({"reason": reason}, count) for reason, count in sorted(tally.unreadable.items())])
    add("groupproof_records_behind", "gauge", [({}, behind)])
    return "\n".join(lines) + "\n"


def _cause(rebalance: LoggedRebalance) -> str:
    member = f" {rebalance.member.name}" if rebalance.member is not None else ""
    return f"{rebalance.cause}{member}{'' if rebalance.is_certain else '?'}"


def _took(rebalance: LoggedRebalance) -> str:
    lasted = rebalance.lasted_ms
    parts = [] if lasted is None else [f"{'sync phase' if rebalance.protocol == CLASSIC else 'settled after'} {time_label(lasted)}"]
    parts += [] if rebalance.halted_ms is None else [f"no commit for {time_label(rebalance.halted_ms)}"]
    return f"; {', '.join(parts)}" if parts else ""


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
