"""`groupproof tap`: sits between any clients and any broker, records every frame, injects faults, and with `--judge` judges both sides."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from groupproof.harness.commands.work.tap_server import Tap, TapResult, TapServer

__all__ = ["command"]


@click.command(name="tap", short_help="Record and judge what passes to a broker, and inject faults.")
@click.option("--upstream", metavar="HOST:PORT[,…]", required=True, help="Some brokers behind the tap; the tap learns the others from these.")
@click.option(
    "--judge", is_flag=True, help="Judge the clients, and also the coordinator if the whole history was observed, and write a report on exit."
)
@click.option("--profile", metavar="P", help="The release of the upstream.  [default: the newest release that matches its ApiVersions]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port of the first broker; the others use the next ones.  [default: free ports]"
)
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="HOST", help="Where to listen.")
@click.option("--advertise", metavar="HOST", help="The host that clients connect to, when that differs (containers).")
@click.option(
    "--properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The client.properties to connect to the upstream (TLS, SASL), as for Kafka's own clients.",
)
@click.option(
    "--fault", "faults", metavar="FILE|WORDS", multiple=True, help="A fault: a JSON file, or words as in Heartbeat,nth=3,answer=27; repeatable."
)
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for trace and report.  [default: reports/tap]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout, and nothing else there.")
def command(
    *,
    upstream: str,
    judge: bool,
    profile: str | None,
    port: int,
    bind: str,
    advertise: str | None,
    properties: Path | None,
    faults: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> int:
    """Stand between any clients and any broker until Ctrl-C: clients connect to the printed address as if it were the broker's.

    Every frame goes on untouched but for the addresses of brokers in answers, so that clients keep coming through. What is seen is
    written to trace.ndjson in the output folder. With --judge, 1 says on exit that a side broke the protocol, 2 that none joined.
    """
    from groupproof.harness.commands.work.tap_server import Tap
    from groupproof.harness.reports.output_folder import check_output
    from groupproof.harness.subjects.brokers.broker_providers import addressed
    from groupproof.harness.subjects.tap.fault_syntax import faults_of

    if as_json and not judge:
        raise click.UsageError("--json is for the report of --judge; add it")
    if profile is not None:
        from groupproof.harness.subjects.client_registry import check_profile_name

        check_profile_name(profile)
    addresses, security = addressed(upstream, properties)
    output = output or Path("reports", "tap")
    check_output(output)
    tap = Tap(
        upstream=addresses, security=security, host=bind, port=port, advertise=advertise, profile=profile, faults=faults_of(faults), judged=judge,
        output=output,
    )  # fmt: skip
    tapped = tap.run(lambda now: _announce(now, upstream, judge=judge, quiet=as_json))
    return _print_result(tapped, tap, output, as_json=as_json)


def _announce(tapping: TapServer, upstream: str, *, judge: bool, quiet: bool) -> None:
    """Print the bootstrap addresses; a program that started this process reads the first line."""
    click.echo(f"bootstrap.servers={tapping.bootstrap}", err=quiet)
    click.echo(
        f"{len(tapping.upstream_info.brokers)} brokers of {tapping.upstream_info.profile} behind {upstream}; Ctrl-C ends it{' and judges' if judge else ''}",
        err=True,
    )


def _print_result(tapped: TapResult, tap: Tap, output: Path, *, as_json: bool) -> int:
    from groupproof.harness.commands.serve import report_watched
    from groupproof.harness.commands.work.judging_server import summed_up
    from groupproof.harness.commands.work.tap_server import TRACE

    for name, times in tapped.delivered.items():
        click.echo(f"fault {name}: {f'took effect {times} times' if times != 1 else 'took effect once'}", err=as_json)
    click.echo(f"trace: {output / TRACE}", err=as_json)
    if not tap.judged:
        return 0
    if tapped.served.is_cut:
        click.echo("groupproof: more was seen than is kept; only the first part was judged", err=True)
    for unjudged in tapped.unjudged:
        click.echo(str(unjudged), err=as_json)
    nobody = "no group could be judged" if tapped.unjudged else "nobody spoke of a group"
    return report_watched(summed_up(tapped.served, tapped, ["groupproof", *sys.argv[1:]]), output, as_json=as_json, nobody=nobody)
