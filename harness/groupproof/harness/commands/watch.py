"""`groupproof watch`: shows all groups of a cluster, live, from its offsets topic alone; or from segments and recordings of that topic."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from groupproof.harness.commands.simulate import duration_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from groupproof.harness.commands.work.topic_watch import TopicWatch
    from groupproof.protocol.trace import Observation

__all__ = ["command"]

SCHEMA: Final = "groupproof.watch/1"
_NOT_STABLE: Final = 1
_NO_SUCH_GROUP: Final = 2
_INTERRUPTED: Final = 130
_WIDE: Final = 180
"""The width of lines, in characters, where there is no terminal."""


@click.command(name="watch", short_help="All groups of a cluster, from its offsets topic.")
@click.argument("sources", metavar="HOST:PORT[,…]|FILE...", nargs=-1, required=True)
@click.option(
    "--properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The client.properties to connect to the cluster (TLS, SASL), as for Kafka's own clients.",
)
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Show only this group, with its history; repeatable.")
@click.option("--window", type=duration_of, metavar="TIME", default="1h", show_default=True, help="Show the rebalances of this last period.")
@click.option("--once", is_flag=True, help="Show the present state, and end.")
@click.option("--interval", type=duration_of, metavar="TIME", default="2s", show_default=True, help="How often to refresh.")
@click.option(
    "--until-stable",
    metavar="GROUP",
    help="Exit with 0 as soon as this group is stable, with 1 if it is not stable in time, with 2 if there is no such group.",
)
@click.option("--within", type=duration_of, metavar="TIME", default="60s", show_default=True, help="How long --until-stable waits.")
@click.option("--prometheus", type=click.IntRange(1, 65535), metavar="PORT", help="Serve metrics on this port.")
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="HOST", help="Where --prometheus listens.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write every record to this trace file (NDJSON), to watch it again or analyse it.",
)
@click.option(
    "--admin",
    is_flag=True,
    help="Also ask brokers for the states of groups and the session timeout (ListGroups, DescribeConfigs); only for a cluster.",
)
@click.option(
    "--svg", type=click.Path(path_type=Path), metavar="FILE", help="Show the present state, also write it to this file as a picture, and end."
)
@click.option("--json", "as_json", is_flag=True, help="Print the present state as JSON on stdout, and nothing else there.")
def command(
    *, sources: tuple[str, ...], properties: Path | None, groups: tuple[str, ...], window: int, once: bool, interval: int, until_stable: str | None,
    within: int, prometheus: int | None, bind: str, record: Path | None, admin: bool, svg: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Show the state of every group, its rebalances with their likely causes, members that come and go, partitions without an owner, commits that stand still.

    Nothing is asked of the cluster but ApiVersions, Metadata, ListOffsets and Fetch, and what --admin allows; no group is joined, and nothing is written. FILEs are segments of
    __consumer_offsets that were copied from a broker's disk, folders of them, and what --record wrote. A cause is marked as certain only where the records leave no other.
    """
    from groupproof.harness.commands.work.topic_watch import TopicWatch

    watch = TopicWatch(window_ms=window)
    options = _Options(
        groups=groups, once=once or as_json or svg is not None, interval_s=interval / 1_000, until_stable=until_stable, within_s=within / 1_000, prometheus=prometheus,
        bind=bind, as_json=as_json, is_admin=admin, svg=svg, source=" ".join(sources),
    )  # fmt: skip
    with _recording(record) as listener:
        if all(Path(source).exists() for source in sources):
            from groupproof.harness.commands.work.topic_watch import read_files

            read_files([Path(source) for source in sources], watch, listener)
            return _show(watch, options)
        return _watch_cluster(",".join(sources), properties, watch, options, listener)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    groups: tuple[str, ...]
    once: bool
    interval_s: float
    until_stable: str | None
    within_s: float
    prometheus: int | None
    bind: str
    as_json: bool
    is_admin: bool
    svg: Path | None
    source: str


@contextmanager
def _recording(path: Path | None) -> Iterator[Callable[[Observation], None] | None]:
    """Yield a function that writes observations to the file, one a line; None without a path."""
    if path is None:
        yield None
        return
    from groupproof.harness.model.errors import BrokenEnvironment
    from groupproof.protocol.trace import write_trace

    try:
        with path.open("w", encoding="utf-8", buffering=1 << 20) as file:
            yield lambda obs: file.writelines(f"{line}\n" for line in write_trace((obs,)))
    except OSError as error:
        raise BrokenEnvironment(f"{path} can't be written: {error.strerror or error}") from error


def _watch_cluster(
    address: str, properties: Path | None, watch: TopicWatch, options: _Options, listener: Callable[[Observation], None] | None
) -> int:
    import trio

    from groupproof.harness.commands.work.topic_watch import serve_metrics, watch_live
    from groupproof.harness.subjects.brokers.broker_providers import addressed
    from groupproof.harness.subjects.networks.secure_connection import Connector
    from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic

    addresses, security = addressed(address, properties)
    topic = LiveTopic(Connector.of(security).connect, addresses)
    display = _Display(watch, options)
    serve = None
    if options.prometheus is not None:
        serve = partial(serve_metrics, options.bind, options.prometheus, display.metrics)

    async def main() -> bool:
        return await watch_live(
            topic,
            watch,
            once=options.once and options.until_stable is None,
            on_tick=display.tick,
            interval_s=display.interval_s,
            record=listener,
            serve=serve,
            is_admin=options.is_admin,
        )

    with display:
        was_finished = trio.run(main)
    if options.until_stable is not None:
        return _stable_code(watch, options.until_stable, is_over=was_finished)
    if options.once:
        return _show(watch, options)
    return 0 if was_finished else _INTERRUPTED


def _stable_code(watch: TopicWatch, group: str, *, is_over: bool) -> int:
    from groupproof.harness.commands.work.topic_watch import QUIET_MS

    quiet_ms = watch.quiet_ms(group)
    if group not in watch.history.groups:
        click.echo(f"groupproof: the topic knows no group {group!r}", err=True)
        return _NO_SUCH_GROUP
    if quiet_ms is not None and quiet_ms >= QUIET_MS:
        click.echo(f"{group} is stable: generation {watch.history.groups[group].generation} since {quiet_ms / 1_000:.0f} s")
        return 0
    click.echo(f"groupproof: {group} is not stable: {watch.history.groups[group].state}", err=True)
    return _NOT_STABLE if is_over else _INTERRUPTED


def _show(watch: TopicWatch, options: _Options) -> int:
    """Print the groups: as JSON, as the history of the named groups, or as a table of all."""
    from rich.console import Console

    from groupproof.harness.reports.texts.watch_text import NO_REQUESTS, history_of, table_of

    healths = watch.healths(options.groups)
    if missing := set(options.groups) - watch.history.groups.keys():
        raise click.UsageError(f"there is no group {', '.join(sorted(missing))}; {_near(watch, missing)}")
    if options.as_json:
        click.echo(json.dumps(_document(watch, options), ensure_ascii=False))
        return 0
    view: RenderableType
    if options.groups:
        view = "\n".join([*(line for health in healths for line in history_of(health)), NO_REQUESTS])
        click.echo(view)
    else:
        view = table_of(healths, _title(watch))
        Console(width=None if Console().is_terminal else _WIDE).print(view)
    if options.svg is not None:
        _draw(view, options, options.svg)
    return 0


def _draw(view: RenderableType, options: _Options, file: Path) -> None:
    from groupproof.harness.reports.output_folder import check_folder, write_text
    from groupproof.harness.reports.pictures.terminal_svg import terminal_svg

    words = [options.source, *(f"--group {group}" for group in options.groups)]
    with check_folder(file.parent):
        write_text(file, terminal_svg(view, f"groupproof watch {' '.join(words)}"))


def _near(watch: TopicWatch, missing: set[str]) -> str:
    near = [name for wanted in sorted(missing) for name in difflib.get_close_matches(wanted, watch.history.groups, n=3)]
    return f"did you mean {' or '.join(near)}?" if near else f"there are {len(watch.history.groups)} others"


def _document(watch: TopicWatch, options: _Options) -> dict[str, Any]:
    from groupproof.protocol.schemas import validate

    document = {
        "schema": SCHEMA, "now_ms": watch.now_ms, "window_ms": watch.window_ms, "topic": {**watch.tally.to_json(), "behind": watch.behind},
        "groups": [health.to_json() for health in watch.healths(options.groups)],
    }  # fmt: skip
    validate("watch", document)
    return document


def _title(watch: TopicWatch) -> str:
    tally = watch.tally
    unreadable = f", {tally.unreadable.total()} unreadable ({', '.join(tally.unreadable)})" if tally.unreadable else ""
    behind = f", {watch.behind} behind" if watch.behind else ""
    problem = f"; {watch.problem}" if watch.problem else ""
    return f"{len(watch.history.groups)} groups, {tally.read:,} records{unreadable}{behind}; the last {watch.window_ms // 60_000} min{problem}"


class _Display:
    """The display of a watched cluster: a page on a terminal; otherwise a line for each new rebalance."""

    def __init__(self, watch: TopicWatch, options: _Options) -> None:
        from rich.console import Console
        from rich.live import Live

        self._watch, self._options = watch, options
        self._is_silent = options.once or options.until_stable is not None
        self._console = Console()
        self._live = Live(console=self._console, screen=True, auto_refresh=False) if self._console.is_terminal and not self._is_silent else None
        self._printed_to: dict[str, int] = {}
        self._began = time.monotonic()
        self.interval_s = min(options.interval_s, 0.5) if options.until_stable is not None else options.interval_s

    def __enter__(self) -> _Display:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)

    def tick(self) -> bool:
        """Show news; return whether to continue."""
        if self._options.until_stable is not None:
            return self._goes_on(self._options.until_stable)
        if self._live is not None:
            self._live.update(self._page(), refresh=True)
        elif not self._is_silent:
            self._print_new()
        return True

    def metrics(self) -> str:
        from groupproof.harness.reports.texts.watch_text import metrics_of

        return metrics_of(self._watch.healths(), self._watch.tally, self._watch.behind)

    def _goes_on(self, group: str) -> bool:
        from groupproof.harness.commands.work.topic_watch import QUIET_MS

        quiet_ms = self._watch.quiet_ms(group)
        return (quiet_ms is None or quiet_ms < QUIET_MS) and time.monotonic() - self._began < self._options.within_s

    def _page(self) -> RenderableType:
        from groupproof.harness.reports.texts.watch_text import history_of, table_of

        healths = self._watch.healths(self._options.groups)
        if not self._options.groups:
            return table_of(healths, _title(self._watch))
        return "\n".join(line for health in healths for line in history_of(health))

    def _print_new(self) -> None:
        from groupproof.harness.reports.texts.watch_text import rebalance_line

        for health in self._watch.healths(self._options.groups):
            rebalances = health.group.rebalances
            newest = rebalances[-1].number if rebalances else 0
            for rebalance in rebalances:
                if rebalance.number > self._printed_to.get(health.group.group, 0):
                    click.echo(rebalance_line(rebalance))
            self._printed_to[health.group.group] = newest
