"""`groupproof chaos spark`: runs Spark's own Kafka source against a coordinator, and shows each query's reads.

It is a command of its own beside `chaos run`, because a streaming query is no client that a shim could drive. It has no callbacks and commits
nothing, and whether it joins at all is a question of the test. The trace of its requests is judged, beside the rows that it read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from groupproof.harness.commands.base.options import NEWEST_PROFILE, seed_of

if TYPE_CHECKING:
    from groupproof.chaos.spark.streaming.streaming_run import StreamingResult
    from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario
    from groupproof.chaos.spark.streaming.streaming_verdict import ScenarioOutcome
    from groupproof.harness.subjects.brokers.cluster import BrokerSubject

__all__ = ["command"]

_TOPIC: Final = "t"
_NOT_AS_EXPECTED: Final = 1


@click.command(name="spark", short_help="Spark's own Kafka source before a coordinator: who read what.")
@click.argument("names", nargs=-1, metavar="[SCENARIO|GLOB|all]...")
@click.option(
    "--coordinator",
    default="groupproof",
    show_default=True,
    metavar="SUBJECT|HOST:PORT",
    help="The coordinator that it reads from, as in `certify coordinator`.",
)
@click.option(
    "--properties",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The client.properties to connect to running brokers.",
)
@click.option("--partitions", type=click.IntRange(2, 64), default=4, show_default=True, metavar="N", help="How many partitions the topic has.")
@click.option("--rate", type=click.IntRange(1, 10_000), default=5, show_default=True, metavar="R", help="Records for each partition in 0.4 s.")
@click.option("--fault", "faults", metavar="FILE|WORDS", multiple=True, help="A fault on frames, as for groupproof tap; repeatable.")
@click.option("--master", "cluster", default="local[*]", show_default=True, metavar="URL", help="Spark's master.")
@click.option(
    "--profile", metavar="P", default=NEWEST_PROFILE, show_default=True, help="The broker release whose rules the reference coordinator uses."
)
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The seed of the member ids.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", default=Path("reports", "spark"), show_default=True, help="The folder for the report."
)
@click.option("--list", "lists", is_flag=True, help="List the scenarios, and do nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout, and nothing else there.")
def command(*, names: tuple[str, ...], lists: bool, as_json: bool, **options: Any) -> int:
    """Run streaming queries on Spark's Kafka source, have things happen to them, and tell who read what.

    Exit code 0: everything was as the scenarios expect it; 1: something was not.
    """
    if lists:
        return _listed()
    if not names:
        raise click.UsageError("name scenarios (see groupproof chaos spark --list), or all of them with: all")
    return _Call(as_json=as_json, **options).run(names)


def _listed() -> int:
    from groupproof.chaos.spark.streaming.streaming_scenarios import scenarios

    width = max(len(candidate.name) for candidate in scenarios())
    for scenario in scenarios():
        click.echo(f"{scenario.name:{width}}  {scenario.title}")
    return 0


class _Call:
    """One call of the command."""

    def __init__(self, *, as_json: bool, **options: Any) -> None:
        self._as_json, self._options = as_json, options

    def run(self, names: Sequence[str]) -> int:
        import json

        from groupproof.chaos.spark.session import session
        from groupproof.chaos.spark.streaming.streaming_report import write_streaming_report
        from groupproof.chaos.spark.streaming.streaming_scenarios import chosen
        from groupproof.clients.registry.install_cache import default_cache
        from groupproof.harness.reports.output_folder import check_output
        from groupproof.harness.running.extras import need
        from groupproof.harness.subjects.client_registry import check_profile_name
        from groupproof.harness.subjects.spark_connector import connector_jars
        from groupproof.harness.subjects.tap.fault_syntax import faults_of

        need("groupproof chaos spark", "pyspark", "pyarrow", "pandas")
        options = self._options
        scenarios = chosen(names)
        check_profile_name(options["profile"])
        faults_of(options["faults"])
        brokers = self._brokers()
        check_output(options["output"])
        jars = connector_jars(default_cache(), self._say)
        spark = session("groupproof chaos spark", master=options["cluster"], jars=jars)
        try:
            outcomes = [self._one(spark, scenario, brokers) for scenario in scenarios]
        finally:
            spark.stop()
        value = write_streaming_report(options["output"], self._head(brokers), outcomes, partitions=options["partitions"])
        if self._as_json:
            click.echo(json.dumps(value, ensure_ascii=False, indent=1))
        self._say(f"report: {options['output'] / 'report.html'}")
        return 0 if all(outcome.holds for _, outcome in outcomes) else _NOT_AS_EXPECTED

    def _say(self, line: str) -> None:
        click.echo(line, err=self._as_json)

    def _brokers(self) -> BrokerSubject | None:
        from groupproof.harness.subjects.brokers.broker_providers import ALIASES, meet, subject_named

        spec = self._options["coordinator"]
        if ALIASES.get(spec, spec) == "groupproof":
            return None
        found = subject_named(spec, properties=self._options["properties"], say=self._say)
        meet(found, self._say)
        return found

    def _one(self, spark: Any, scenario: Scenario, brokers: BrokerSubject | None) -> tuple[StreamingResult, ScenarioOutcome]:
        from groupproof.chaos.spark.streaming.streaming_report import judged
        from groupproof.chaos.spark.streaming.streaming_scenario_run import played

        options = self._options
        folder = options["output"].absolute() / scenario.name
        result = played(
            spark, scenario, brokers, folder=folder, profile=options["profile"], seed=options["seed"], topic=_TOPIC, partitions=options["partitions"],
            rate=options["rate"], words=options["faults"],
        )  # fmt: skip
        outcome = judged(result, folder)
        self._say(f"{outcome.verdict.value:7} {scenario.name}  {outcome.seconds:.0f} s")
        for check in outcome.checks:
            self._say(f"  {'' if check.holds else 'NOT SO: '}{check.says} {check.observed}")
        return result, outcome

    def _head(self, brokers: BrokerSubject | None) -> dict[str, Any]:
        from datetime import UTC, datetime
        from importlib import metadata

        from groupproof.harness.subjects.spark_connector import connector
        from groupproof.protocol.kit_release import release

        coordinator = f"the reference coordinator ({self._options['profile']})" if brokers is None else f"{brokers.spec}"
        return {
            "coordinator": coordinator, "pyspark": metadata.version("pyspark"), "connector": str(connector()), "groupproof": release(),
            "seed": self._options["seed"], "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip
