"""`groupproof trace import FILE…`: converts a broker's log, a client's log or a capture to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

__all__ = ["PORT_OPTION", "command"]

PORT_OPTION: Final = click.option(
    "--port", "ports", type=click.IntRange(1, 65535), multiple=True, default=(9092,), show_default=True, metavar="N",
    help="A port of the brokers in the capture; repeatable.",
)  # fmt: skip


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="The file for the trace.  [default: standard output]")
@PORT_OPTION
def command(files: tuple[Path, ...], output: Path | None, ports: tuple[int, ...]) -> int:
    """Turn FILEs into one trace, in the order of time.

    Read are the server logs and request logs of Kafka's brokers, 1.1 to 4.1, the logs of Java consumers, and captures of packets (pcap and pcapng, as
    tcpdump and Wireshark write them), each plain or compressed by gzip; and segments of the offsets topic.
    """
    from groupproof.harness.reports.output_folder import write_text
    from groupproof.harness.running.importing.import_files import import_files
    from groupproof.protocol.trace import write_trace

    trace = import_files(files, ports=ports)
    text = "".join(f"{line}\n" for line in write_trace(trace))
    if output is None:
        click.echo(text, nl=False)
        return 0
    write_text(output, text)
    click.echo(f"{len(trace)} observations of {len({obs.group for obs in trace if obs.group})} groups in {output}", err=True)
    return 0
