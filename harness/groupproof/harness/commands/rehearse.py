"""`groupproof rehearse`: runs an application's own settings through restarts, losses and pauses in virtual time, and finds cheaper settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from groupproof.harness.commands.base.options import NEWEST_PROFILE, seed_of
from groupproof.harness.commands.simulate import duration_of

if TYPE_CHECKING:
    from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
    from groupproof.harness.simulation.rehearsal.setting_advice import Advice, Rehearsal

__all__ = ["command"]

SCHEMA: Final = "groupproof.rehearsal/1"
_TOO_LONG: Final = 1


@click.command(name="rehearse", short_help="Your own settings through restarts, losses and pauses.")
@click.argument("file", metavar="FILE", required=False, type=click.Path(path_type=Path))
@click.option("--incident", metavar="NAME", help="Rehearse a public incident instead, as it was and with its remedy; `list incidents` has the names.")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Run only this exercise; repeatable.")
@click.option("--profile", metavar="P", default=NEWEST_PROFILE, show_default=True, help="The broker release whose rules to use.")
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same figures.")
@click.option("--advice/--no-advice", "advises", default=True, show_default=True, help="Try other settings, and print those that measure better.")
@click.option("--unowned-max", type=duration_of, metavar="TIME", help="Exit with 1 if a partition has no owner for longer than this in an exercise.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON on stdout, and nothing else there.")
def command(
    file: Path | None, incident: str | None, only: tuple[str, ...], profile: str, seed: int, *, advises: bool, unowned_max: int | None, as_json: bool
) -> int:  # fmt: skip
    """Let a group with the consumer settings of FILE, a Java properties file, go through exercises in virtual time.

    For each exercise it says how long partitions had no owner (the worst one, and the sum), how many rebalances there were, and how many records were read again.
    Then it tries other settings. What it prints measured better, and both figures are there. FILE may have the broker's settings too, and the
    rehearsal's own, which begin with rehearse: rehearse.members, rehearse.partitions, rehearse.processing.ms and others.
    """
    from groupproof.harness.reports.texts.rehearsal_text import advice_lines, exercise_lines, heading
    from groupproof.harness.simulation.rehearsal.exercises import EXERCISES
    from groupproof.harness.simulation.rehearsal.setting_advice import Rehearsal

    if incident is not None:
        return _incident(incident, seed, as_json=as_json)
    if file is None:
        raise click.UsageError("which settings? Name a properties file, or an incident with --incident")
    settings = _settings(file, profile)
    rehearsal = Rehearsal(settings, _selected(only, list(EXERCISES)), seed)
    click.echo(heading(settings, seed), err=as_json)
    if settings.ignored:
        click.echo(f"without effect here: {', '.join(settings.ignored)}", err=True)
    for line in exercise_lines(rehearsal):
        click.echo(line, err=as_json)
    found = list(rehearsal.advice()) if advises else []
    if advises:
        click.echo("\nWhat to change:", err=as_json)
        for line in advice_lines(found):
            click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps(_document(rehearsal, found), ensure_ascii=False, indent=1))
    return _exit_code(rehearsal, unowned_max)


def _incident(name: str, seed: int, *, as_json: bool) -> int:
    """Show an incident; return 1 if it also happens with its remedy, or does not happen without."""
    from groupproof.harness.model.selection import nearest
    from groupproof.harness.reports.texts.incident_text import incident_lines, incident_to_json
    from groupproof.harness.simulation.rehearsal.incident_run import run_incident
    from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS

    if name not in INCIDENTS:
        raise click.UsageError(f"no incident is called {name!r}{nearest(name, INCIDENTS)}; `groupproof list incidents` has them all")
    run, remedied = run_incident(INCIDENTS[name], seed), run_incident(INCIDENTS[name], seed, with_remedy=True)
    for line in incident_lines(run, remedied):
        click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps(incident_to_json(run, remedied), ensure_ascii=False, indent=1))
    return 0 if run.occurs and not remedied.occurs else _TOO_LONG


def _settings(file: Path, profile: str) -> RehearsedSettings:
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.simulation.rehearsal.rehearsed_settings import BadSetting, settings_of
    from groupproof.harness.subjects.client_registry import check_profile_name
    from groupproof.harness.subjects.networks.client_properties import parse_properties

    check_profile_name(profile)
    try:
        return settings_of(parse_properties(file.read_text("utf-8")), profile)
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"can't read {file}: {getattr(error, 'strerror', None) or error}") from error
    except BadSetting as error:
        raise WrongUsage(f"{file}: {error}") from error


def _selected(only: tuple[str, ...], names: Sequence[str]) -> list[str]:
    from groupproof.harness.model.selection import nearest

    unknown = next((name for name in only if name not in names), None)
    if unknown is not None:
        raise click.UsageError(f"no exercise is called {unknown!r}{nearest(unknown, names)}; there are {', '.join(names)}")
    return [name for name in names if name in only or not only]


def _document(rehearsal: Rehearsal, found: list[Advice]) -> dict[str, object]:
    from groupproof.protocol.schemas import validate

    settings = rehearsal.settings
    document = {
        "schema": SCHEMA, "profile": settings.profile, "seed": rehearsal.seed, "settings": {**settings.values, **settings.broker}, "without_effect": list(settings.ignored),
        "exercises": [
            {"exercise": exercise.name, "says": exercise.says, "as_set": exercise.is_as_set(settings), **rehearsal.cost(exercise).to_json()}
            for exercise in rehearsal.exercises
        ],
        "advice": [advice.to_json() for advice in found],
    }  # fmt: skip
    validate("rehearsal", document)
    return document


def _exit_code(rehearsal: Rehearsal, unowned_max_ms: int | None) -> int:
    """Return 1 where an exercise with the user's settings leaves a partition without an owner for longer than `unowned_max_ms`."""
    worst_ms = max(
        (rehearsal.cost(exercise).unowned_worst_ms for exercise in rehearsal.exercises if exercise.is_as_set(rehearsal.settings)), default=0
    )
    return _TOO_LONG if unowned_max_ms is not None and worst_ms > unowned_max_ms else 0
