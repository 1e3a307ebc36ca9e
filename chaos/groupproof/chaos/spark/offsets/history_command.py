"""`groupproof history`: reports the history of all groups of a cluster, from its offsets topic, by Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from groupproof.chaos.spark.load.load_command import conf_of, span_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from groupproof.chaos.spark.offsets.history_page import HistorySummary
    from groupproof.chaos.spark.offsets.partition_files import PartitionFiles
    from groupproof.chaos.spark.offsets.record_fold import Fact
    from groupproof.chaos.spark.offsets.record_tables import HistoryOrder
    from groupproof.chaos.spark.offsets.topic_reader import TopicReader
    from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic

__all__ = ["PAGE", "SUMMARY", "command"]

SUMMARY, PAGE = "history.json", "history.html"

_NOTHING: Final = 2
_LOOK_S: Final = 1
_SAID_CHARS: Final = 300
_FOLLOWING_TASKS: Final = "2"
"""A batch of a second has few rows, and each task has a fixed cost."""


@click.command(name="history", short_help="What all groups of a cluster went through, by Spark.")
@click.argument("sources", metavar="HOST:PORT[,…]|DIR...", nargs=-1, required=True)
@click.option(
    "--properties", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="The client.properties to connect to the cluster (TLS, SASL), as for Kafka's own clients.",
)  # fmt: skip
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("reports", "history"),
    show_default=True,
    help="The folder for the results.",
)
@click.option("--follow", is_flag=True, help="Follow the topic as it grows, and print storms and flapping members at once; Ctrl-C ends it.")
@click.option("--for", "span_s", type=span_of, metavar="SPAN", help="With --follow: end after this time.")
@click.option("--admin", is_flag=True, help="Also ask a broker for the session timeout of the consumer protocol (DescribeConfigs).")
@click.option(
    "--source", "reader", type=click.Choice(["wire", "spark"]), default="wire", show_default=True,
    help="How the topic of a cluster is read: by groupproof's own wire code, or by Spark's Kafka source, in several tasks at once. Spark's source also asks for a group's coordinator and offsets.",
)  # fmt: skip
@click.option("--master", "cluster", default="local[*]", show_default=True, metavar="URL", help="Where Spark runs.")
@click.option("--conf", "confs", type=conf_of, metavar="spark.NAME=VALUE", multiple=True, help="A setting of Spark; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, and nothing else there.")
def command(
    *, sources: tuple[str, ...], properties: Path | None, output: Path, follow: bool, span_s: float | None, admin: bool, reader: str,
    cluster: str, confs: tuple[tuple[str, str], ...], as_json: bool,
) -> int:  # fmt: skip
    """Tell what all groups went through: rebalances with their likely causes, storms, members that flap, time without an owner, commits that stood still.

    Of a cluster the records of __consumer_offsets are kept in DIR/records as Parquet; said again, only what came since is read. DIRs are such folders of before, of one cluster,
    or copies of brokers' log folders with segments of the topic.
    DIR gets history.html, history.json, and the facts as Parquet. Nothing is asked of the cluster but ApiVersions, Metadata, ListOffsets and Fetch, and what --admin allows;
    no group is joined, and nothing is written.

    0 says that there was something to tell, 2 that the topic tells of no group.
    """
    from groupproof.harness.reports.output_folder import check_folder
    from groupproof.harness.running.extras import need

    need("groupproof history", "pyspark", "pyarrow", "pandas")
    with check_folder(output):
        output.mkdir(parents=True, exist_ok=True)
    call = _Call(output=output, cluster=cluster, conf=dict(confs), as_json=as_json, is_admin=admin)
    if all(Path(source).is_dir() for source in sources):
        summary = call.of_folders([Path(source) for source in sources])
    else:
        cluster_call = call.of_cluster if reader == "wire" else call.by_spark
        summary = cluster_call(",".join(sources), properties, follows=follow, span_s=span_s)
    return call.ended(summary)


class _Call:
    """One call of the command."""

    def __init__(self, *, output: Path, cluster: str, conf: dict[str, Any], as_json: bool, is_admin: bool) -> None:
        self._output, self._cluster, self._conf, self._as_json, self._is_admin = output, cluster, conf, as_json, is_admin

    def _say(self, line: str) -> None:
        click.echo(line, err=self._as_json)

    def of_folders(self, folders: list[Path]) -> HistorySummary:
        """Report on the kept records, or on segments."""
        from groupproof.chaos.spark.offsets.partition_files import kept_files, segment_files
        from groupproof.chaos.spark.offsets.record_tables import RECORDS, HistoryOrder, topic_names
        from groupproof.chaos.spark.session import session
        from groupproof.harness.model.errors import WrongUsage

        segments = segment_files(folders)
        paths = [folder / RECORDS if (folder / RECORDS).is_dir() else folder for folder in folders]
        if not segments and (empty := [str(path) for path in paths if not any(path.glob("partition=*/*.parquet"))]):
            raise WrongUsage(f"{', '.join(empty)} holds neither records that groupproof history kept nor segments of the topic")
        spark = session("groupproof history", master=self._cluster, is_long=True, **self._conf)
        order = HistoryOrder(folder=self._output, names=topic_names(folders))
        return self._summarise(spark, order, segments or kept_files(spark, paths), ", ".join(map(str, folders)))

    def of_cluster(self, address: str, properties: Path | None, *, follows: bool, span_s: float | None) -> HistorySummary:
        """Read the topic by groupproof's own wire, or follow it; then report on the kept records."""
        import trio

        from groupproof.chaos.spark.offsets.kept_records import KeptRecords
        from groupproof.chaos.spark.offsets.partition_files import kept_files
        from groupproof.chaos.spark.offsets.record_feed import RecordFeed
        from groupproof.chaos.spark.offsets.record_tables import RECORDS, check_reader
        from groupproof.chaos.spark.offsets.topic_reader import TopicReader
        from groupproof.chaos.spark.session import session

        records = self._output / RECORDS
        check_reader(records, is_spark=False)
        order, topic = self._ask(address, properties)
        reader = TopicReader(topic, KeptRecords(records), RecordFeed(self._output) if follows else None)
        reader.begin()
        order = replace(order, begins=reader.begins()).keep_names()
        if not follows:
            trio.run(reader.read_to_end)
            self._say(f"{reader.records:,} records read")
        spark = session("groupproof history", master=self._cluster, is_long=True, **_deep(self._cluster), **self._conf)
        try:
            if follows:
                self._follow_feed(spark, order, reader, span_s)
            return self._summarise(spark, order, kept_files(spark, [records]), f"__consumer_offsets of {address}")
        finally:
            spark.stop()

    def by_spark(self, address: str, properties: Path | None, *, follows: bool, span_s: float | None) -> HistorySummary:
        """Do the same with Spark's own Kafka source."""
        from groupproof.chaos.spark.offsets.partition_files import kept_files
        from groupproof.chaos.spark.offsets.record_tables import RECORDS, check_reader, keep_records, topic_source, watch_facts
        from groupproof.chaos.spark.session import session
        from groupproof.clients.registry.install_cache import default_cache
        from groupproof.harness.subjects.spark_connector import connector_jars

        check_reader(self._output / RECORDS, is_spark=True)
        order = self._ask(address, properties)[0].keep_names()
        jars = connector_jars(default_cache(), self._say)
        spark = session("groupproof history", master=self._cluster, jars=jars, is_long=True, **_deep(self._cluster), **self._conf)
        try:
            if follows:
                spark.conf.set("spark.sql.shuffle.partitions", _FOLLOWING_TASKS)
                self._wait_for(watch_facts(topic_source(spark, order), order, self._say_alert), span_s)
            keep_records(topic_source(spark, order), order).awaitTermination()
            return self._summarise(spark, order, kept_files(spark, [order.folder / RECORDS]), f"__consumer_offsets of {address}")
        finally:
            spark.stop()

    def _ask(self, address: str, properties: Path | None) -> tuple[HistoryOrder, LiveTopic]:
        """Ask the cluster for its topics and the begin of the offsets topic; raise `BrokenEnvironment` where it does not answer."""
        import trio

        from groupproof.chaos.spark.offsets.record_tables import HistoryOrder
        from groupproof.chaos.spark.offsets.topic_reader import meet_topic
        from groupproof.harness.judging.topic_history.topic_history import CONSUMER_SESSION_MS
        from groupproof.harness.subjects.brokers.broker_providers import addressed
        from groupproof.harness.subjects.networks.client_properties import parse_properties
        from groupproof.harness.subjects.networks.secure_connection import Connector
        from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic

        addresses, security = addressed(address, properties)
        topic = LiveTopic(Connector.of(security).connect, addresses, is_committed=True)

        names, session_ms = trio.run(partial(meet_topic, topic, is_admin=self._is_admin))
        kafka = parse_properties(properties.read_text("utf-8")) if properties is not None else {}
        order = HistoryOrder(
            folder=self._output, bootstrap=address, kafka=kafka, names=names, begins=dict(topic.positions),
            consumer_session_ms=session_ms or CONSUMER_SESSION_MS,
        )  # fmt: skip
        return order, topic

    def _follow_feed(self, spark: SparkSession, order: HistoryOrder, reader: TopicReader, span_s: float | None) -> None:
        from groupproof.chaos.spark.offsets.record_tables import feed_source, watch_facts
        from groupproof.chaos.spark.offsets.topic_reader import FollowedTopic

        assert reader.feed is not None
        spark.conf.set("spark.sql.shuffle.partitions", _FOLLOWING_TASKS)
        with FollowedTopic(reader) as followed:
            query = watch_facts(feed_source(spark, reader.feed.folder), order, self._say_alert)
            self._wait_for(query, span_s, lambda: followed.error)
        if followed.error is not None:
            raise followed.error

    def _wait_for(self, query: StreamingQuery, span_s: float | None, error_of: Callable[[], Exception | None] = lambda: None) -> None:
        """Wait until the time is over, the user interrupts, the query fails, or `error_of` returns an error."""
        from groupproof.chaos.spark.checkers.trace_watch import stopped
        from groupproof.harness.model.errors import BrokenEnvironment

        deadline = None if span_s is None else time.monotonic() + span_s
        try:
            while query.isActive and error_of() is None and (deadline is None or time.monotonic() < deadline):
                query.awaitTermination(_LOOK_S)
        except KeyboardInterrupt:
            self._say("the page is of what came until now")
        finally:
            stopped(query)
        if (error := query.exception()) is not None:
            raise BrokenEnvironment(f"the query that follows the topic has ended: {' '.join(str(error).split())[:_SAID_CHARS]}")

    def _say_alert(self, fact: Fact) -> None:
        import json

        from groupproof.chaos.spark.offsets.record_fold import ALERTS, STORMING

        if fact.kind in ALERTS:
            body = json.loads(fact.text)
            words = (
                f"{body['rebalances']} rebalances" if fact.kind == STORMING else f"{body['member']} at {body['host']} was lost {body['times']} times"
            )
            self._say(f"ALERT {fact.kind} in group {fact.group}: {words}")

    def _summarise(self, spark: SparkSession, order: HistoryOrder, parts: Sequence[PartitionFiles], source: str) -> HistorySummary:
        from groupproof.chaos.spark.offsets.history_page import summary_of
        from groupproof.chaos.spark.offsets.record_fold import Fact
        from groupproof.chaos.spark.offsets.record_tables import FACTS, facts_of

        spark.conf.set("spark.sql.shuffle.partitions", str(2 * spark.sparkContext.defaultParallelism))
        target = str((self._output / f"all-{FACTS}").absolute())
        facts_of(spark, parts, order).coalesce(1).write.mode("overwrite").parquet(target)
        facts: DataFrame = spark.read.parquet(target)
        return summary_of((Fact(*row) for row in facts.collect()), source=source)

    def ended(self, summary: HistorySummary) -> int:
        import json

        from groupproof.chaos.spark.offsets.history_page import page_of
        from groupproof.harness.reports.output_folder import check_folder, write_text

        value = summary.to_json()
        with check_folder(self._output):
            write_text(self._output / SUMMARY, json.dumps(value, ensure_ascii=False, indent=1))
            write_text(self._output / PAGE, page_of(summary))
        if self._as_json:
            click.echo(json.dumps(value, ensure_ascii=False, indent=1))
        causes = ", ".join(f"{count} {cause}" for cause, count in value["causes"].items())
        self._say(f"{value['records']:,} records, {value['groups']} groups, {value['rebalances']} rebalances{': ' if causes else ''}{causes}")
        self._say(f"{len(value['storms'])} storms; history: {self._output / PAGE}")
        return 0 if value["groups"] else _NOTHING


def _deep(cluster: str) -> dict[str, Any]:
    """Return a setting for Spark's interruptions: it searches pages of messages by a regular expression that needs a deep stack."""
    from groupproof.chaos.spark.session import settings_for

    return {"spark.driver.extraJavaOptions": f"{settings_for(cluster, is_long=True)['spark.driver.extraJavaOptions']} -Xss32m"}
