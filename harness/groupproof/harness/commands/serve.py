"""`groupproof serve`: serves the reference coordinator on ports; with `--judge` it judges every group that connected."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.options import NEWEST_PROFILE, seed_of

if TYPE_CHECKING:
    from groupproof.coordinator.broker.rights.authorizer import Denial
    from groupproof.coordinator.broker.served_cluster import ServingCluster
    from groupproof.coordinator.machine.topic_records import TopicRecords
    from groupproof.harness.commands.work.judging_server import Serve
    from groupproof.harness.judging.summary.run_summary import CaseReport, RunSummary

__all__ = ["command", "report_watched"]

_PARTITIONS = 2


def _topic(value: str) -> tuple[str, int]:
    name, colon, partitions = value.rpartition(":")
    if not colon:
        return value, _PARTITIONS
    if not name or not partitions.isdigit() or not int(partitions):
        raise click.BadParameter(f"{value!r} is no topic; write NAME or NAME:PARTITIONS")
    return name, int(partitions)


def _setting(value: str) -> tuple[str, str]:
    name, equals, setting = value.partition("=")
    if not equals:
        raise click.BadParameter(f"{value!r} is no setting; write NAME=VALUE, such as group.initial.rebalance.delay.ms=0")
    return name.strip(), setting.strip()


def _denial(value: str) -> Denial:
    from groupproof.coordinator.broker.rights.authorizer import Denial, NoDenial

    try:
        return Denial.of(value)
    except NoDenial as refusal:
        raise click.BadParameter(str(refusal)) from refusal


@click.command(name="serve", short_help="Serve the reference coordinator; judge what connects.")
@click.option("--judge", is_flag=True, help="Judge the clients that connect, group by group, and write a report on exit.")
@click.option("--profile", metavar="P", default=NEWEST_PROFILE, show_default=True, help="The broker release whose rules to use.")
@click.option("--reading", metavar="NAME", help="With a profile of DataLink: follow the text of its design at a point where the code differs.")
@click.option("--brokers", type=click.IntRange(1, 100), default=2, show_default=True, help="The number of brokers, each on its own port.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port of the first broker; the others use the next ones.  [default: free ports]"
)
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="HOST", help="Where to listen.")
@click.option("--advertise", metavar="HOST", help="The host that clients connect to, when that differs (containers).")
@click.option(
    "--topic",
    "topics",
    type=_topic,
    metavar="NAME[:N]",
    multiple=True,
    help="A topic and its partitions; repeatable.  [default: t:2, or those of --load]",
)
@click.option("--records", type=click.IntRange(min=0), default=20, show_default=True, help="How many records each partition holds.")
@click.option(
    "--load",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Start with the groups and commits of segments of __consumer_offsets that were copied from a broker's disk.",
)
@click.option("--set", "settings", type=_setting, metavar="NAME=VALUE", multiple=True, help="A broker setting by Kafka's own name; repeatable.")
@click.option(
    "--deny",
    "denials",
    type=_denial,
    metavar="'OPERATION RESOURCE NAME'",
    multiple=True,
    help="Deny an operation: READ, DESCRIBE or DELETE of a group, READ or DESCRIBE of a topic, such as 'READ group g'. With client=ID at its end it is denied "
    "only to this client; repeatable.",
)
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The seed of the member ids.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for the report.  [default: reports/serve]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout, and nothing else there.")
def command(*, judge: bool, output: Path | None, as_json: bool, **options: Any) -> int:
    """Serve the reference coordinator until Ctrl-C.

    With --judge any application can be put in front of it, unmodified; when it ends, 1 says that a group's members broke the protocol, 2
    that none joined. With --load a client meets its group as production has it: with its members, whose sessions begin anew, its epochs or
    its generation, and its commits; each topic has its records from the highest commit on.
    """
    from groupproof.harness.commands.work.judging_server import Serve, summed_up
    from groupproof.harness.reports.output_folder import check_output

    if not judge and (output or as_json):
        raise click.UsageError("--output and --json are for the report of --judge; add it")
    output = output or Path("reports", "serve")
    if judge:
        check_output(output)
    serving = _serving(Serve, judge=judge, **options)
    served = serving.run(lambda now: _announce(now, judge=judge, quiet=as_json))
    if not judge:
        return 0
    if served.is_cut:
        click.echo("groupproof: more was seen than is kept; only the first part was judged", err=True)
    return report_watched(summed_up(served, serving, ["groupproof", *sys.argv[1:]]), output, as_json=as_json)


def _serving(
    make: type[Serve],
    *,
    judge: bool,
    profile: str,
    reading: str | None,
    brokers: int,
    port: int,
    bind: str,
    topics: tuple[tuple[str, int], ...],
    settings: tuple[tuple[str, str], ...],
    load: Path | None,
    **rest: Any,
) -> Serve:
    from groupproof.harness.subjects.client_registry import check_profile_name, check_reading

    check_profile_name(profile)
    check_reading(reading, profile)
    ports = [port + index if port else 0 for index in range(brokers)]
    if ports[-1] > 65535:
        raise click.UsageError(f"{brokers} brokers from port {port} on would need port {ports[-1]}; choose a lower --port")
    named = {name: _number(value) for name, value in settings}
    stored = None if load is None else _loaded(load)
    made = dict(topics or ([("t", _PARTITIONS)] if stored is None else []))
    return make(host=bind, ports=ports, profile=profile, reading=reading, settings=named, topics=made, judged=judge, stored=stored, **rest)


def _loaded(folder: Path) -> TopicRecords:
    """Read the stored groups, and print their numbers."""
    from groupproof.harness.subjects.offsets_topic.stored_groups import read_stored_groups

    stored = read_stored_groups(folder)
    kinds = f"{len(stored.classic_groups)} groups of the classic protocol, {len(stored.consumer_groups)} of the consumer protocol"
    click.echo(f"loaded {kinds}, {stored.commits} committed offsets", err=True)
    if stored.left_out:
        click.echo(f"left out: {', '.join(f'{count} {name}' for name, count in sorted(stored.left_out.items()))}", err=True)
    return stored


def _number(value: str) -> int | str:
    return int(value) if value.lstrip("-").isdigit() else value


def _announce(serving: ServingCluster, *, judge: bool, quiet: bool) -> None:
    """Print the bootstrap addresses; a program that started this process reads the first line."""
    click.echo(f"bootstrap.servers={serving.bootstrap}", err=quiet)
    click.echo(f"Ctrl-C ends it{' and judges' if judge else ''}", err=True)


def report_watched(summary: RunSummary, output: Path, *, as_json: bool, nobody: str = "nobody spoke of a group") -> int:
    """Write the report of observed groups, print a line for each (`nobody` where there is none), and return the exit code."""
    from groupproof.harness.judging.summary.grade import exit_code
    from groupproof.harness.reports.report_writer import write_report

    write_report(summary, output)
    if as_json:
        click.echo(json.dumps(summary.to_json(str(output)), ensure_ascii=False, indent=1))
    for case in summary.cases:
        for line in _lines(case):
            click.echo(line, err=as_json)
    if not summary.results:
        click.echo(nobody, err=as_json)
    click.echo(f"report: {output / 'report.html'}", err=as_json)
    return exit_code(summary.counted, summary.grade)


def _lines(case: CaseReport) -> list[str]:
    ruling = case.result.ruling
    goodbye = f"; goodbye {ruling.goodbye.value}" + (f": {ruling.goodbye_reason}" if ruling.goodbye_reason else "")
    lines = [f"{case.verdict.value} {case.case.id}: {ruling.observed}{goodbye}"]
    wrong = [finding for finding in ruling.findings if finding.verdict.value in ("FAILED", "NON_STRICT")]
    return lines + [f"  {finding.verdict.value} {finding.requirement}: {finding.observed} {finding.detail}".rstrip() for finding in wrong]
