"""The tree of commands. Each command is one module, imported when it is called or when its help is asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping

import click

__all__ = ["Group", "root"]

_HERE = "groupproof.harness.cli"


class Group(click.Group):
    """A group whose commands are named by module and attribute, in full where they are not this package's own; a wrong name is answered with the nearest right ones."""

    def __init__(self, name: str, commands_at: Mapping[str, str], help_: str) -> None:
        super().__init__(name, help=help_)
        self._at = dict(commands_at)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        where = self._at.get(cmd_name)
        if where is None:
            return None
        module, _, attribute = where.partition(":")
        full = module if "." in module else f"{_HERE}.{module}"
        command: click.Command = getattr(importlib.import_module(full), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._at and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self._at, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(self._at)}"
            raise click.UsageError(f"no command is called {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        from groupproof.harness.version import release

        click.echo(f"groupproof {release()}")
        ctx.exit()


root = Group(
    "groupproof",
    {
        "certify": "certify:group",
        "diff": "diff:command",
        "fuzz": "fuzz:group",
        "replay": "replay:command",
        "simulate": "simulate:command",
        "chaos": "groupproof.chaos.commands:group",
        "serve": "serve:command",
        "datalink": "datalink:group",
        "tap": "tap:command",
        "load": "groupproof.chaos.spark.load_command:command",
        "compare": "groupproof.chaos.compare_command:command",
        "analyze": "groupproof.chaos.spark.analysis.command:command",
        "trace": "trace:group",
        "list": "listing:command",
        "explain": "explaining:command",
        "expect": "expect:group",
        "shim": "shim:group",
        "report": "report:command",
        "summary": "summarising:command",
        "verify": "verify:command",
        "doctor": "doctor:command",
    },
    "Prove that a client keeps Kafka's group-membership protocol.",
)
root.params.append(click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."))
