"""`groupproof list`: prints the names that commands and options accept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

__all__ = ["command"]

Row = Mapping[str, Any]


@click.command(name="list", short_help="List cases, requirements, profiles and other names.")
@click.argument("kind", type=click.Choice(["cases", "requirements", "profiles", "clients", "subjects", "incidents"]), default="cases")
@click.option("--only", metavar="PATTERN", multiple=True, help="Show only matches of an id or name, a prefix or a glob; repeatable.")
@click.option("--skip", metavar="PATTERN", multiple=True, help="Exclude matches; repeatable.")
@click.option("--side", type=click.Choice(["client", "coordinator"]), help="Show cases or subjects of one side.  [default: both]")
@click.option("--level", type=click.Choice(["must", "should", "info"]), default="info", show_default=True, help="The lowest level to show.")
@click.option(
    "--coverage",
    is_flag=True,
    help="Instead, print how many requirements have a witness among the tests, how many a case judges in a subject, and why the others are not judged.",
)
@click.option("--outdated", is_flag=True, help="Show the subjects that have a newer release in the package registry; this asks the registry.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    kind: str, only: tuple[str, ...], skip: tuple[str, ...], level: str, *, side: str | None, coverage: bool, outdated: bool, as_json: bool
) -> int:
    """List cases (the default), requirements, profiles, registered clients, subjects or incidents.

    The list says where a case judges a requirement: in a client, in a coordinator, or in neither (-).
    """
    if coverage:
        from groupproof.harness.commands.work.coverage_table import print_coverage

        print_coverage(as_json=as_json)
        return 0
    if side is not None and kind not in _SIDED:
        raise click.UsageError(f"{kind} have no side; --side is for {' and '.join(_SIDED)}")
    if outdated and kind != "subjects":
        raise click.UsageError(f"{kind} have no registry; --outdated is for subjects")
    listed = "outdated" if outdated else kind
    rows = [row for row in _ROWS[listed](only, skip, level) if side is None or row["side"] == side]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return 0
    _print(rows, _COLUMNS[listed])
    click.echo(f"{len(rows)} {kind}" + (" have a newer release, or were not asked for" if outdated else ""), err=True)
    return 0


def _cases(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    from groupproof.harness.cases.catalogue import every_case
    from groupproof.harness.model.selection import select

    chosen = select(every_case(), only=only, skip=skip, level=level)
    return [
        {
            "id": case.id,
            "side": case.side,
            "level": case.level.value,
            "title": case.title,
            "requirements": list(case.requirements),
            "needs": sorted(case.needs),
            "preview": case.preview,
        }
        for case in chosen
    ]


def _requirements(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    from groupproof.harness.model.selection import LEVELS
    from groupproof.protocol.rules.coverage import SIDES, judged, listed
    from groupproof.protocol.rules.requirements import requirements

    def cases(of: Mapping[str, Mapping[str, Sequence[str]]], requirement: str) -> list[str]:
        return [case for side in SIDES for case in of[side].get(requirement, ())]

    rows: list[Row] = [
        {
            "id": requirement.id,
            "level": requirement.level.value,
            "judged": " and ".join(side for side in SIDES if requirement.id in judged()[side]) or "-",
            "text": requirement.text,
            "profiles": list(requirement.profiles),
            "cases": cases(judged(), requirement.id),
            "listed_by": cases(listed(), requirement.id),
        }
        for requirement in requirements()
        if requirement.level in LEVELS[level]
    ]
    return _filtered(rows, "id", only, skip)


def _profiles(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    from groupproof.protocol.rules.profiles import NEWEST, known_profiles, profile
    from groupproof.protocol.rules.verification import verification

    rows: list[Row] = []
    for name in known_profiles():
        with_broker = verification(name)
        rows.append(
            {
                "name": name,
                "release": ".".join(map(str, profile(name).release)),
                "state": "read in the sources" if with_broker is None else f"verified with {with_broker.release}",
                "verified": None
                if with_broker is None
                else {"release": with_broker.release, "date": f"{with_broker.date}", "steps": with_broker.steps},
                "title": "the default" if name == NEWEST else "",
            }
        )
    return _filtered(rows, "name", only, skip)


def _clients(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    """Return the registered clients, with the missing programs of their toolchains."""
    from groupproof.clients.registry.registered_clients import registered
    from groupproof.clients.registry.toolchains.by_language import tools_of

    rows: list[Row] = []
    for client in registered():
        absent = [tool.program for tool in tools_of(client) if tool.path() is None]
        row = {"name": client.name, "release": client.release, "language": client.language, "title": client.title, "absent": absent}
        rows.append({**row, "state": f"needs {' and '.join(absent)}" if absent else "ready", "releases": list(client.releases)})
    return _filtered(rows, "name", only, skip)


def _subjects(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    from groupproof.clients.registry.registered_clients import registered

    rows: list[Row] = [
        {
            "name": client.name,
            "release": client.release,
            "title": client.title,
            "language": client.language,
            "side": "client",
            "aliases": list(client.aliases),
            "releases": list(client.releases),
        }
        for client in registered()
    ]
    return _filtered([*rows, *_coordinators()], "name", only, skip)


def _incidents(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS

    rows: list[Row] = [{"name": incident.name, "title": incident.happened, "url": incident.url} for incident in INCIDENTS.values()]
    return _filtered(rows, "name", only, skip)


def _outdated(only: tuple[str, ...], skip: tuple[str, ...], level: str) -> list[Row]:
    from groupproof.harness.commands.work.outdated import outdated, packages

    chosen = {row["name"] for row in _filtered([{"name": subject.name} for subject in packages()], "name", only, skip)}
    return list(outdated(chosen))


def _coordinators() -> list[Row]:
    """Return the coordinators that are known by name, with their default releases."""
    from groupproof.harness.subjects.brokers.apache.broker_releases import releases
    from groupproof.harness.subjects.brokers.broker_providers import ALIASES, NAMES, subject_named

    releases_of = {"apache-kafka": list(releases().names)}
    rows: list[Row] = []
    for name in NAMES:
        found = subject_named(name)
        rows.append(
            {
                "name": name,
                "release": found.release or found.version or "",
                "title": f"judged by {found.profile}",
                "language": None,
                "side": "coordinator",
                "aliases": [alias for alias, meant in ALIASES.items() if meant == name],
                "releases": releases_of.get(name, []),
            }
        )
    return rows


def _filtered(rows: Iterable[Row], key: str, only: tuple[str, ...], skip: tuple[str, ...]) -> list[Row]:
    """Return the rows that match the patterns; raise `WrongUsage` for a pattern that matches none."""
    from fnmatch import fnmatchcase

    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.selection import nearest

    def matches(pattern: str, row: Row) -> bool:
        return row[key].startswith(pattern) or fnmatchcase(row[key], pattern)

    kept = list(rows)
    for pattern in (*only, *skip):
        if not any(matches(pattern, row) for row in kept):
            raise WrongUsage(f"{pattern!r} matches nothing{nearest(pattern, (row[key] for row in kept))}")
    kept = [row for row in kept if not only or any(matches(pattern, row) for pattern in only)]
    return [row for row in kept if not any(matches(pattern, row) for pattern in skip)]


def _print(rows: Iterable[Row], columns: tuple[str, ...]) -> None:
    """Print rows as columns: cut to the width of a terminal, in full elsewhere, for `grep`."""
    import shutil
    import sys

    texts = [[_text(row[column]) for column in columns] for row in rows]
    widths = [max((len(text[index]) for text in texts), default=0) for index in range(len(columns))]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for text in texts:
        line = "  ".join(cell.ljust(wide) for cell, wide in zip(text, widths, strict=True)).rstrip()
        click.echo(line if width is None or len(line) <= width else line[: width - 1] + "…")


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


_ROWS: dict[str, Callable[[tuple[str, ...], tuple[str, ...], str], list[Row]]] = {
    "cases": _cases,
    "requirements": _requirements,
    "profiles": _profiles,
    "clients": _clients,
    "subjects": _subjects,
    "incidents": _incidents,
    "outdated": _outdated,
}
_SIDED = ("cases", "subjects")
_COLUMNS = {
    "cases": ("id", "side", "level", "title"),
    "requirements": ("id", "level", "judged", "text"),
    "profiles": ("name", "release", "state", "title"),
    "clients": ("name", "release", "language", "state", "title"),
    "subjects": ("name", "side", "release", "title"),
    "incidents": ("name", "title"),
    "outdated": ("name", "side", "release", "state"),
}
