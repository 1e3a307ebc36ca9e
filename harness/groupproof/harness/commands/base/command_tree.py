"""The tree of commands. Each command is one module, imported when it is called or its help is shown."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Final, cast

import click

from groupproof.harness.running.plugins import COMMANDS, plugin, plugin_names

__all__ = ["PLUGIN", "Group", "root"]

PLUGIN: Final = ""
"""The place of a command that a higher package, or an optional wing, registers (`plugins`)."""


class Group(click.Group):
    """A group of commands that are named by module and attribute, or are plugins of the group `plugins`.

    Plugins without a place here come last; a plugin with a place that is not installed is not listed. An unknown name gets the nearest names.
    """

    def __init__(self, name: str, commands_at: Mapping[str, str], help_: str, *, plugins: str | None = None) -> None:
        super().__init__(name, help=help_)
        self._at = dict(commands_at)
        self._plugins = plugins

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = frozenset() if self._plugins is None else plugin_names(self._plugins)
        return [name for name, where in self._at.items() if where != PLUGIN or name in found] + sorted(found - self._at.keys())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        where = self._at.get(cmd_name, PLUGIN)
        if where == PLUGIN:
            is_plugin = self._plugins is not None and cmd_name in plugin_names(self._plugins)
            return cast(click.Command, plugin(str(self._plugins), cmd_name)) if is_plugin else None
        module, _, attribute = where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self._at.get(args[0], PLUGIN) == PLUGIN and not args[0].startswith("-"):
            names = self.list_commands(ctx)
            if args[0] not in names:
                near = difflib.get_close_matches(args[0], names, n=3, cutoff=0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}"
                raise click.UsageError(f"no command is called {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        from groupproof.protocol.kit_release import release

        click.echo(f"groupproof {release()}")
        ctx.exit()


root = Group(
    "groupproof",
    {
        "certify": "groupproof.harness.commands.certify:group",
        "diff": "groupproof.harness.commands.diff:command",
        "fuzz": "groupproof.harness.commands.fuzz:group",
        "replay": "groupproof.harness.commands.replay:command",
        "simulate": "groupproof.harness.commands.simulate:command",
        "rehearse": "groupproof.harness.commands.rehearse:command",
        "chaos": PLUGIN,
        "serve": "groupproof.harness.commands.serve:command",
        "datalink": PLUGIN,
        "tap": "groupproof.harness.commands.tap:command",
        "watch": "groupproof.harness.commands.watch:command",
        "load": PLUGIN,
        "compare": PLUGIN,
        "analyze": PLUGIN,
        "history": PLUGIN,
        "trace": "groupproof.harness.commands.trace:group",
        "list": "groupproof.harness.commands.list_names:command",
        "explain": "groupproof.harness.commands.explain:command",
        "expect": "groupproof.harness.commands.expect:group",
        "shim": "groupproof.harness.commands.shim:group",
        "museum": "groupproof.harness.commands.museum:command",
        "report": "groupproof.harness.commands.report:command",
        "summary": "groupproof.harness.commands.summary:command",
        "verify": "groupproof.harness.commands.verify:command",
        "doctor": "groupproof.harness.commands.doctor:command",
    },
    "Prove that a client keeps Kafka's group-membership protocol.",
    plugins=COMMANDS,
)
root.params.append(click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."))
