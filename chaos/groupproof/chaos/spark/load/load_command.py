"""`groupproof load`: runs Spark consumers as members, and writes a trace as Parquet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from groupproof.harness.commands.base.options import NEWEST_PROFILE, seed_of

if TYPE_CHECKING:
    from groupproof.chaos.spark.load.load_run import LoadResult
    from groupproof.chaos.spark.members.load_order import ClientChoice, LoadOrder
    from groupproof.harness.subjects.brokers.cluster import BrokerSubject

__all__ = ["command", "conf_of", "span_of"]

_MEMBERS_A_PARTITION: Final = 10
_INTERRUPTED, _PARTLY = 130, 2
_KINDS: Final = {"groupproof": "reference", "confluent-kafka": "librdkafka", "kafka-python": "kafka-python"}
_ALIASES: Final = {"reference": "groupproof", "librdkafka": "confluent-kafka"}
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def span_of(value: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", value)
    if found is None or float(found[1]) <= 0:
        raise click.BadParameter(f"{value!r} is no span of time; write 90, 90s, 10m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def _topic(value: str) -> tuple[str, int]:
    name, _, partitions = value.partition(":")
    if not name or (partitions and not (partitions.isdigit() and int(partitions))):
        raise click.BadParameter(f"{value!r} is no topic; write NAME or NAME:PARTITIONS")
    return name, int(partitions or 0)


def _setting(value: str) -> tuple[str, str]:
    name, equals, setting = value.partition("=")
    if not equals:
        raise click.BadParameter(f"{value!r} is no setting; write NAME=VALUE, such as session_timeout_ms=10000")
    return name.strip().replace(".", "_"), setting.strip()


def conf_of(value: str) -> tuple[str, str]:
    name, equals, setting = value.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.BadParameter(f"{value!r} is no setting of Spark; write spark.NAME=VALUE")
    return name, setting


@click.command(name="load", short_help="Spark consumers as members; writes a trace as Parquet.")
@click.option("--members", type=click.IntRange(1, 1_000_000), default=100, show_default=True, metavar="N", help="The total number of members.")
@click.option("--groups", type=click.IntRange(1, 100_000), default=1, show_default=True, metavar="G", help="How many groups they form.")
@click.option(
    "--topics",
    type=_topic,
    metavar="NAME[:N]",
    multiple=True,
    help="A topic and its partitions; repeatable.  [default: t, a partition for ten members]",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    default=0.2,
    show_default=True,
    metavar="R",
    help="How often per second each member commits its position.",
)
@click.option("--duration", type=span_of, default="60s", show_default=True, metavar="SPAN", help="The duration of the churn plan: 90s, 10m.")
@click.option(
    "--churn",
    default="steady",
    show_default=True,
    metavar="PLAN",
    help="What happens to the members: the name of a churn plan, or a file FILE.toml; --list shows the names.",
)
@click.option(
    "--client", default="reference", show_default=True, metavar="SUBJECT", help="reference, librdkafka or kafka-python, with an optional release."
)
@click.option("--dialect", metavar="NAME", help="The dialect of the members: consumer is KIP-848's protocol.  [default: the classic one]")
@click.option("--coordinator", default="groupproof", show_default=True, metavar="SUBJECT|HOST:PORT", help="As for certify coordinator.")
@click.option(
    "--properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The client.properties to connect to HOST:PORT (TLS, SASL), as for Kafka's own clients.",
)
@click.option(
    "--master",
    "cluster",
    default="local[*,4]",
    show_default=True,
    metavar="URL",
    help="Spark's master; local[N,F] starts a lost task again up to F times.",
)
@click.option("--tasks", type=click.IntRange(1, 4095), metavar="T", help="How many tasks share the members.  [default: as many as run at once]")
@click.option("--conf", "confs", type=conf_of, metavar="spark.NAME=VALUE", multiple=True, help="A setting of Spark; repeatable.")
@click.option(
    "--set",
    "settings",
    type=_setting,
    metavar="NAME=VALUE",
    multiple=True,
    help="A setting of the members, such as session_timeout_ms=10000; repeatable.",
)
@click.option("--fault", "faults", metavar="FILE|WORDS", multiple=True, help="A fault on frames from the start, as for groupproof tap; repeatable.")
@click.option(
    "--profile", metavar="P", default=NEWEST_PROFILE, show_default=True, help="The broker release whose rules the reference coordinator uses."
)
@click.option("--group-prefix", default="load", show_default=True, metavar="P", help="The prefix of the group ids.")
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The seed of the churn, the members and the member ids.")
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="HOST",
    help="The address at which tasks connect to this process, for a cluster of several machines.",
)
@click.option(
    "--output",
    metavar="DIR|URI",
    default=str(Path("reports", "load")),
    show_default=True,
    help="Where to write the trace: a folder, or a URI that pyarrow supports (s3://BUCKET/FOLDER, gs://, abfs://, hdfs://).",
)
@click.option("--list", "lists", is_flag=True, help="List the churn plans, and do nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, and nothing else there.")
def command(*, lists: bool, as_json: bool, **options: Any) -> int:
    """Let many consumers join groups, from as many Spark tasks as there are slots, and write what they see as Parquet while it runs.

    What is sealed stays readable whatever dies. Said again with the same options, a load that was cut short goes on where it stood.
    """
    if lists:
        return _listed()
    from rich.console import Console

    return _Call(Console(stderr=as_json), as_json=as_json, **options).run()


def _listed() -> int:
    from groupproof.chaos.spark.members.churn_file import shipped

    width = max(len(plan.name) for plan in shipped())
    for churn in shipped():
        click.echo(f"{churn.name:{width}}  {churn.title}")
    return 0


class _Call:
    """One call of the command."""

    def __init__(self, console: Any, *, as_json: bool, **options: Any) -> None:
        self._console, self._as_json, self._options = console, as_json, options

    def run(self) -> int:
        from groupproof.chaos.spark.load.load_progress import watched
        from groupproof.chaos.spark.load.load_run import Load
        from groupproof.chaos.spark.load.resume import LoadSession
        from groupproof.chaos.spark.load.spark_job import SparkJob
        from groupproof.chaos.spark.members.churn_file import churn_named
        from groupproof.harness.running.extras import need
        from groupproof.harness.subjects.client_registry import check_profile_name

        need("groupproof load", "pyspark", "pyarrow")
        options = self._options
        check_profile_name(options["profile"])
        churn = churn_named(options["churn"])
        client = self._client(churn)
        settings = self._settings(client, churn)
        brokers = self._brokers()
        job = SparkJob(options["cluster"], **dict(options["confs"]))
        job.open()
        tasks = options["tasks"] or min(job.slots, options["members"])
        order = self._order(client, settings, tasks)
        session = LoadSession.open(options["output"], order)
        self._say(f"{order.members} members in {order.groups} groups, {churn.name} for {order.duration_s:g} s, {tasks} tasks on {options['cluster']}")
        if session.is_resumed:
            self._say(f"going on {session.skip_s:.1f} s into the plan, as {session.run}")
        try:
            with watched(self._console) as display:
                load = Load(
                    order=order, churn=churn, session=session, client=client, brokers=brokers, profile=options["profile"], job=job, display=display,
                    bind=options["bind"],
                )  # fmt: skip
                loaded = load.run()
        except BaseException as error:
            session.failed(" ".join(str(error).split()) or type(error).__name__)
            raise
        finally:
            job.close()
        return self._ended(session, order, loaded)

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _client(self, churn: Any) -> ClientChoice:
        from groupproof.chaos.spark.members.load_dialect import DIALECTS
        from groupproof.chaos.spark.members.load_order import ClientChoice
        from groupproof.chaos.spark.members.thread_host import UNPLAYABLE
        from groupproof.harness.model.errors import WrongUsage
        from groupproof.harness.subjects.client_registry import installed

        named, _, release = self._options["client"].partition("@")
        name = _ALIASES.get(named, named)
        if name not in _KINDS:
            raise WrongUsage(f"the client of the members is reference, librdkafka or kafka-python, not {named!r}")
        if _KINDS[name] == "reference":
            return ClientChoice(kind="reference")
        if _KINDS[name] == "kafka-python" and self._dialect() != DIALECTS[0]:
            raise WrongUsage(f"kafka-python does not speak the dialect {self._dialect()}; take --client librdkafka, or reference")
        if lacking := sorted(action.value for action in churn.actions & UNPLAYABLE):
            raise WrongUsage(f"{named} can't be made to {' or '.join(lacking)}, as {churn.name} wants; take --client reference")
        registered, launch = installed(f"{name}@{release}" if release else name, self._say)
        return ClientChoice(kind=_KINDS[name], release=str(registered.release), site=launch.env["PYTHONPATH"])

    def _dialect(self) -> str:
        from groupproof.chaos.spark.members.load_dialect import DIALECTS
        from groupproof.harness.model.errors import WrongUsage

        dialect: str = self._options["dialect"] or DIALECTS[0]
        if dialect not in DIALECTS:
            raise WrongUsage(f"members of a load speak {' or '.join(DIALECTS)}, not {dialect!r}")
        return dialect

    def _brokers(self) -> BrokerSubject | None:
        from groupproof.harness.subjects.brokers.broker_providers import ALIASES, meet, subject_named

        spec = self._options["coordinator"]
        if ALIASES.get(spec, spec) == "groupproof":
            return None
        found = subject_named(spec, properties=self._options["properties"], say=self._say)
        meet(found, self._say)
        return found

    def _settings(self, client: ClientChoice, churn: Any) -> dict[str, Any]:
        from groupproof.chaos.spark.members.checked_settings import lacking_settings
        from groupproof.chaos.spark.members.churn_file import check_member
        from groupproof.harness.model.errors import WrongUsage

        settings = check_member("--set", dict(self._options["settings"]))
        if lacking := lacking_settings(client.kind, self._dialect(), {**churn.member, **settings}):
            raise WrongUsage(f"{client.kind} members have no setting {' or '.join(lacking)} in the dialect {self._dialect()}")
        return settings

    def _order(self, client: ClientChoice, settings: Mapping[str, Any], tasks: int) -> LoadOrder:
        from groupproof.chaos.spark.members.load_order import LoadOrder
        from groupproof.harness.subjects.tap.fault_syntax import faults_of

        options = self._options
        partitions = max(1, options["members"] // options["groups"] // _MEMBERS_A_PARTITION)
        faults_of(options["faults"])
        return LoadOrder(
            members=options["members"], groups=options["groups"], rate=options["rate"], duration_s=options["duration"], churn=options["churn"],
            topics={name: count or partitions for name, count in options["topics"] or [("t", 0)]}, client=f"{client.kind} {client.release}".strip(),
            coordinator=options["coordinator"], seed=options["seed"], tasks=tasks, group_prefix=options["group_prefix"], settings=settings,
            faults=tuple(options["faults"]), dialect=self._dialect(),
        )  # fmt: skip

    def _ended(self, session: Any, order: LoadOrder, loaded: LoadResult) -> int:
        import json

        from groupproof.chaos.spark.load.load_summary import summary_lines, summed_up

        if loaded.trouble is not None:
            session.failed(loaded.end)  # the error may be a full disk
            raise loaded.trouble
        summary = summed_up(session.folder, order, loaded)
        session.ended(loaded.end, summary)
        if self._as_json:
            click.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        for line in summary_lines(summary):
            self._say(line)
        if loaded.interrupted:
            return _INTERRUPTED
        return _PARTLY if loaded.last.tasks_lost or not summary["rebalances"]["members"] else 0
