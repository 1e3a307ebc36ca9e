"""`groupproof doctor`: shows which parts of the environment are there, and how to get the missing ones."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

__all__ = ["command"]

_BROKEN = 4


@click.command(name="doctor", short_help="Say which parts of the environment are there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, as_json: bool) -> int:
    """Say which parts of the environment are there, what each is needed for, and how to get the missing ones.

    Exits with 4 only where nothing can be certified at all.
    """
    from groupproof.harness.commands.work.environment import examine

    parts = []
    for part in examine():
        parts.append(part)
        if not as_json:
            click.echo(f"{part.name:12}{part.found}" if part.found else f"{part.name:12}missing, needed for {part.needed_for}: {part.remedy}")
    if as_json:
        click.echo(json.dumps([asdict(part) for part in parts], ensure_ascii=False, indent=1))
    return _BROKEN if any(part.is_vital and not part.found for part in parts) else 0
