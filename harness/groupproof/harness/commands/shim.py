"""`groupproof shim check`: validates a shim strictly, for its author."""

from __future__ import annotations

from pathlib import Path

import click

from groupproof.harness.commands.base.command_tree import Group
from groupproof.harness.commands.base.options import NEWEST_PROFILE, ProgramCommand, program_of

__all__ = ["check", "group", "library"]

_BROKEN = 4

group = Group(
    "shim",
    {"check": "groupproof.harness.commands.shim:check", "library": "groupproof.harness.commands.shim:library"},
    "Help to write a shim.",
)


@click.command(cls=ProgramCommand)
@click.argument("subject", required=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder for the trace: the commands, the answers and the frames.",
)
@click.option(
    "--profile",
    metavar="P",
    help=f"The broker release that the reference coordinator plays; an old client needs an old one.  [default: {NEWEST_PROFILE}, or the newest that the client speaks to]",
)
@click.pass_context
def check(ctx: click.Context, /, subject: str | None, output: Path | None, profile: str | None) -> int:
    """Put the shim behind -- (or that of a registered SUBJECT) through every command, and name each problem in a line.

    Exits with 0 when there is none, and with 4 otherwise. What the shim's client does on the wire is for `certify client` to judge.
    """
    program = program_of(ctx)
    if (subject is None) == (not program):
        raise click.UsageError("write the shim's command line behind -- (shim check -- python shim.py)", ctx)
    from groupproof.harness.running.shim_check.shim_check import ShimCheck
    from groupproof.harness.subjects.client_registry import check_profile_name, default_profile, shim_of
    from groupproof.harness.subjects.shims.shim_process import Program

    if profile is not None:
        check_profile_name(profile)
    started = Program(argv=program) if subject is None else shim_of(subject, lambda line: click.echo(line, err=True))
    checked = ShimCheck(started, say=click.echo, profile=profile or default_profile(subject))
    problems = checked.run()
    if output is not None:
        click.echo(f"trace: {checked.write_trace(output)}")
    if not problems:
        click.echo("no problem found" if not checked.theirs else "no problem of the shim found; its client did not come as far as it should")
        return 0
    click.echo(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}")
    return _BROKEN


@click.command()
@click.argument("language", required=False)
def library(language: str | None) -> int:
    """Print the folder of the shim library for LANGUAGE, or all of them: npm install "$(groupproof shim library node)".

    What a shim has beside its client is there: commands and events, pausing, names of errors, and the cases as the language's own tests.
    """
    from groupproof.clients.registry.shim_libraries import LIBRARIES
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.selection import nearest

    if language is None:
        for name, folder in LIBRARIES.items():
            click.echo(f"{name:8}{folder}")
        return 0
    if language not in LIBRARIES:
        raise WrongUsage(f"no shim library is called {language!r}{nearest(language, LIBRARIES)}; there are {', '.join(LIBRARIES)}")
    click.echo(LIBRARIES[language])
    return 0
