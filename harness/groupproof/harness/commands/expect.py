"""`groupproof expect update`: writes the expectations file from a run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from groupproof.harness.commands.base.command_tree import Group

__all__ = ["group", "update"]

group = Group("expect", {"update": "groupproof.harness.commands.expect:update"}, "Keep the file of known failures.")


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--file", type=click.Path(path_type=Path), metavar="FILE", help="The expectations file.  [default: that of the registered client or coordinator]"
)
@click.option("--reason", metavar="TEXT", help="The reason of the new known failures.  [default: the observation of each failure]")
@click.option("--url", metavar="URL", help="A page about the new failures.")
@click.option("--findings", metavar="PATH", help="The same, as a page in the repository.")
@click.option("--releases", metavar="SPEC", help="The releases of the new known failures, such as >=2.0,<3.0.  [default: the run's release]")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
def update(*, report: Path, file: Path | None, reason: str | None, url: str | None, findings: str | None, releases: str | None, dry_run: bool) -> int:
    """Bring the known failures up to date with the run in REPORT, a folder that certify wrote.

    Entries that the run contradicts are mended or taken out, and what failed without being known is added; comments stay.
    """
    from groupproof.harness.judging.summary.expectations_file import KnownReason, read_report, write
    from groupproof.harness.judging.summary.expectations_file import update as updated

    if url and findings:
        raise click.UsageError("give either --url or --findings")
    run = read_report(report)
    file = file or _shipped(run["subject"]["name"], run["subject"]["side"])
    reading = KnownReason(reason=reason, source_name="findings" if findings else "url", source=findings or url, releases=releases)
    done = updated(file, run, reading)
    for change in done.changes:
        click.echo(change)
    if not done.changes:
        click.echo(f"{file} is up to date")
    elif not dry_run:
        write(file, done.text)
        click.echo(f"wrote {file}")
    return 0


def _shipped(name: str, side: str) -> Path:
    """Return the file that ships with a registered subject."""
    from groupproof.clients.registry.registered_clients import UnknownClient, resolve
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.running.runs.coordinator_run import expectations_of

    with suppress(UnknownClient):
        file = expectations_of(name) if side == "coordinator" else resolve(name).expectations
        if file is not None:
            return file
    raise WrongUsage(f"{name} is not registered, so no file ships for it; give yours with --file")
