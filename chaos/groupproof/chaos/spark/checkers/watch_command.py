"""`groupproof trace watch`: judges a trace while it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from groupproof.chaos.spark.load.load_command import span_of

if TYPE_CHECKING:
    from groupproof.chaos.spark.checkers.group_watch import Alert
    from groupproof.chaos.spark.checkers.trace_watch import Watcher
    from groupproof.harness.model.errors import RunError

__all__ = ["Quiet", "command"]

_SAY_S: Final = 5.0
_LOOK_S: Final = 0.5
_INTERRUPTED: Final = 130
_SAID_CHARS: Final = 400


@click.command(name="watch", short_help="Judge a trace while it is written, by a streaming query of Spark.")
@click.argument("path", metavar="TRACE", type=click.Path(path_type=Path))
@click.option("--delay", type=span_of, default="5s", show_default=True, metavar="SPAN", help="How far observations may be out of order.")
@click.option("--idle", type=span_of, default="10s", show_default=True, metavar="SPAN", help="End when the trace has not grown for this time.")
@click.option("--master", "url", default="local[*]", show_default=True, metavar="URL", help="Where Spark runs.")
@click.option(
    "--buckets",
    type=click.IntRange(1, 10_000),
    default=8,
    show_default=True,
    metavar="N",
    help="Into how many parts the groups of a run are divided.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("reports", "watch"),
    show_default=True,
    help="The folder for alerts and state.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON on stdout, and nothing else there.")
def command(path: Path, *, delay: float, idle: float, url: str, buckets: int, output: Path, as_json: bool) -> int:
    """Judge the TRACE of a load, a tap or a server while it is written: the file, or the folder of one side.

    What breaks an invariant of groups is reported at once, and written to alerts.ndjson. When the trace grows no more, the verdicts are those of `groupproof trace check` on its
    groups. Said again with the same --output it goes on where it stood.
    """
    from groupproof.harness.running.extras import need

    need("groupproof trace watch", "pyspark", "pyarrow", "pandas")
    _wait_for(path, idle)
    from groupproof.chaos.spark.checkers.trace_watch import ALERTS, Watch, Watcher, started, stopped
    from groupproof.chaos.spark.session import session, settings_for
    from groupproof.harness.reports.output_folder import check_folder

    with check_folder(output):
        output.mkdir(parents=True, exist_ok=True)

    def say(line: str) -> None:
        click.echo(line, err=as_json)

    # Spark searches pages of messages for the end of its own interruption, by a regular expression that needs a deep stack.
    deep: dict[str, Any] = {"spark.driver.extraJavaOptions": f"{settings_for(url)['spark.driver.extraJavaOptions']} -Xss32m"}
    spark = session("groupproof trace watch", master=url, **deep)
    try:
        watcher = Watcher(output / ALERTS, lambda alert: say(_alert_text(alert)))
        if watcher.alerts:
            say(f"going on behind {watcher.alerts} alerts")
        watch = Watch(path=path.absolute(), delay_s=delay, idle_s=idle, buckets=buckets)
        query = started(spark, watch, watcher, (output / "checkpoint").absolute())
        try:
            _watch(query, watcher, idle, say)
        except KeyboardInterrupt:
            say(f"interrupted; {_figures(watcher)}; groupproof trace check judges the whole")
            return _INTERRUPTED
        finally:
            stopped(query)
        if (error := query.exception()) is not None:
            raise _trouble(str(error))
    finally:
        spark.stop()
    return _ended(watcher, say, as_json=as_json)


def _trouble(message: str) -> RunError:
    """Return the query's error by blame: an unreadable trace is reported in the task's words."""
    from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage

    if (found := re.search(r"WrongUsage: ([^\n]+)", message)) is not None:
        return WrongUsage(found[1])
    return BrokenEnvironment(f"the query that watches has ended: {' '.join(message.split())[:_SAID_CHARS]}")


def _wait_for(path: Path, within_s: float) -> None:
    """Return when a writer has begun the trace; raise `WrongUsage` where none does in time."""
    from groupproof.harness.model.errors import WrongUsage

    deadline = time.monotonic() + within_s
    while not path.exists():
        if time.monotonic() > deadline:
            raise WrongUsage(f"there is no trace at {path}, and none came within {within_s:g} s")
        time.sleep(_LOOK_S)


def _watch(query: Any, watcher: Watcher, idle_s: float, say: Callable[[str], None]) -> None:
    """Return when nothing has come for `idle_s` and everything is judged, or when the query has ended."""
    quiet, reported_s = Quiet(idle_s), time.monotonic()
    while query.isActive:
        query.awaitTermination(_LOOK_S)
        if quiet.since(query.recentProgress) and watcher.is_at_rest:
            return
        if time.monotonic() - reported_s > _SAY_S:
            say(_figures(watcher))
            reported_s = time.monotonic()


class Quiet:
    """Detects `idle_s` without rows, by the batches' own times: one long batch is no silence."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._busy_s = self._last_s = float("-inf")

    def since(self, batches: Iterable[Any]) -> bool:
        """Add the newest batches; return whether it is quiet."""
        for batch in batches:
            at_s = datetime.fromisoformat(batch["timestamp"]).timestamp()
            if batch["numInputRows"] or self._busy_s == float("-inf"):
                self._busy_s = max(self._busy_s, at_s)
            self._last_s = max(self._last_s, at_s)
        return self._last_s - self._busy_s >= self._idle_s


def _figures(watcher: Watcher) -> str:
    return f"{watcher.total('rows')} observations, {watcher.total('waiting')} waiting, {watcher.total('late')} late, {watcher.alerts} alerts"


def _alert_text(alert: Alert) -> str:
    kind = "ALERT" if alert.is_proof else "seen"
    return f"{kind} {alert.verdict} {alert.requirement} in group {alert.group} at {alert.at_ns / 1e9:.3f} s: {alert.observed}"


def _ended(watcher: Watcher, say: Callable[[str], None], *, as_json: bool) -> int:
    import json

    from groupproof.harness.judging.summary.grade import CaseCount, exit_code

    say(_figures(watcher))
    results = watcher.results()
    if as_json:
        click.echo(
            json.dumps(
                [{"id": result.case.id, "verdict": result.ruling.verdict.value, "observed": result.ruling.observed} for result in results], indent=1
            )
        )
    else:
        for item in results:
            say(f"{item.ruling.verdict.value} {item.case.id}  {item.ruling.observed}")
    counted = [CaseCount(case=result.case, verdict=result.ruling.verdict, goodbye=result.ruling.goodbye) for result in results]
    return exit_code(counted, "PASSED" if results else "NO_VERDICT")
