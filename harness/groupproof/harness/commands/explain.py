"""`groupproof explain ID`: prints one case, requirement, table cell, profile or subject in full, with its source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from groupproof.harness.model.case import Case, Judge
    from groupproof.harness.model.plan import Plan
    from groupproof.harness.model.script import Script

__all__ = ["command"]

_WIDTH = 110


@click.command(name="explain", short_help="Explain one of them in full, with its source.")
@click.argument("name", metavar="[ID]", required=False)
@click.option("--profile", "one", metavar="PROFILE", help="The release whose table to show; with --against: the profile to compare.")
@click.option("--against", "other", metavar="PROFILE", help="Print the differences of this profile.")
def command(name: str | None, one: str | None, other: str | None) -> int:
    """Explain one case, requirement, profile or subject: what it asks, where that was read, and what judges it.

    `SyncGroup/PreparingRebalance --profile P` shows a cell of a release's table: the coordinator's rules for that input in that state.

    `--profile A --against B` tells what two profiles do differently.
    """
    if name is None or other is not None:
        click.echo("\n".join(_contrast(one or name, other)))
        return 0
    from groupproof.harness.commands.work.table_cells import cell_lines

    for lines in (_case(name), _requirement(name), _profile(name), _subject(name)):
        if lines is not None:
            click.echo("\n".join(lines))
            return 0
    cell = cell_lines(name, one)
    if cell is None:
        raise _unknown(name)
    click.echo("\n".join(cell))
    return 0


def _contrast(one: str | None, other: str | None) -> list[str]:
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.protocol.rules.profiles import UnknownProfile, profile
    from groupproof.protocol.rules.release_contrast import contrast

    if one is None or other is None:
        raise WrongUsage("name what to explain, or two profiles: --profile A --against B")
    try:
        found = contrast(profile(one), profile(other))
    except UnknownProfile as unknown:
        raise WrongUsage(str(unknown)) from None
    if not found:
        return [f"{one} and {other} differ in nothing"]
    lines = [f"{one} against {other}; where two values stand, {one}'s comes first"]
    for difference in found.behaviour:
        lines += ["", *_wrapped(f"- {difference.says}", ""), *_wrapped("; ".join(difference.rules), "    ")]
    lines += _listed("Fields of answers", found.fields) + _listed("Default settings", found.settings)
    return lines + _listed("API versions", found.versions)


def _unknown(name: str) -> Exception:
    from groupproof.clients.registry.registered_clients import names
    from groupproof.harness.cases.catalogue import every_case
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.model.selection import nearest
    from groupproof.protocol.rules.profiles import known_profiles
    from groupproof.protocol.rules.requirements import requirements

    everything = [*(case.id for case in every_case()), *(requirement.id for requirement in requirements()), *known_profiles(), *names()]
    hint = nearest(name, everything) or nearest(name.upper(), everything)
    return WrongUsage(f"{name!r} is no case, requirement, profile, subject or input of the table{hint}; see groupproof list")


def _case(name: str) -> list[str] | None:
    from groupproof.harness.cases.catalogue import every_case

    found = next((case for case in every_case() if case.id == name), None)
    return None if found is None else list(_case_lines(found))


def _case_lines(case: Case) -> Iterator[str]:
    from groupproof.protocol.rules.requirements import by_id

    yield f"{case.id}  ({case.level.value}, a case of the {case.side} side{', preview' if case.preview else ''})"
    yield from _wrapped(case.title)
    yield ""
    yield "Requirements"
    for name in case.requirements:
        requirement = by_id(name)
        yield from _wrapped(f"{name} ({requirement.level.value}): {requirement.text}", "  ")
    yield from _listed(f"Needs of the {'shim' if case.side == 'client' else 'broker'}", sorted(case.needs))
    yield ""
    yield "Course"
    yield from _course_lines(case.plan)
    yield ""
    yield "Judged"
    for judge in case.judges:
        yield from _wrapped(_of_judge(judge), "  ")
    if case.side == "coordinator":
        yield from _wrapped("the oracle: each answer is the one that the rules of the profile give, and comes when they say", "  ")
    yield ""
    yield f"Run it: groupproof certify {case.side} SUBJECT --only {case.id}"


def _course_lines(course: Plan | Script) -> Iterator[str]:
    from groupproof.harness.reports.texts.schedule_text import course_in_words, ground_in_words, setting_in_words

    for line in dict.fromkeys([*setting_in_words(course), *ground_in_words(course)]):
        yield from _wrapped(line, "  ")
    for number, step in enumerate(course_in_words(course), 1):
        yield from _wrapped(f"{number}. {step}", "  ")


def _of_judge(judge: Judge) -> str:
    """Return a judge's name with the first sentence of its docstring; a judge from a factory has the factory's name."""
    judge = getattr(judge, "judge", judge)  # a waiting judge wraps the actual one
    name = getattr(judge, "__qualname__", type(judge).__name__).split(".<locals>")[0]
    docs = (judge.__doc__, getattr(_maker(judge, name), "__doc__", None))
    first = next((doc.strip().split("\n\n")[0] for doc in docs if doc), "")
    sentence = " ".join(first.split()).removeprefix("Judge that ")
    return f"{name.replace('_', ' ')}: {sentence}" if sentence else name.replace("_", " ")


def _maker(judge: Judge, name: str) -> object:
    import sys

    return getattr(sys.modules.get(judge.__module__), name, None)


def _requirement(name: str) -> list[str] | None:
    from groupproof.protocol.rules.requirements import UnknownRequirement, by_id

    try:
        found = by_id(name.upper())
    except UnknownRequirement:
        return None
    lines = [f"{found.id}  ({found.level.value}; {found.area}, {found.topic})", *_wrapped(found.text), ""]
    lines += _wrapped(f"Judged: {found.note}") if found.note else []
    lines += _wrapped(f"Level: {found.reason}") + _wrapped(f"Source: {found.source}")
    lines += _wrapped(f"Profiles: {', '.join(found.profiles)}") + _wrapped(f"Observed by {_observed(found.observe)}")
    lines += _wrapped(f"Measured: {found.measured}") if found.measured else []
    lines += _judging(found.id) + _listed("Rows of the coordinator's table", _rows_of(found.id))
    return lines + _listed("Tests that fail if it is not met", _witnesses_of(found.id))


def _observed(how: str) -> str:
    """Return the catalogue's marks in words, with the text after them, if any."""
    marks, _, text = how.partition(":")
    meanings = {"W": "the wire", "T": "the trace", "V": "virtual time", "L": "log lines", "F": "an injected fault"}
    by = " and ".join(meanings.get(mark, mark) for mark in marks.replace("+", " ").split())
    return f"{by}: {text.strip()}" if text else by


def _judging(requirement: str) -> list[str]:
    """Return the cases that list the requirement and judge it, the number of others that judge it, and the cases that only list it."""
    from groupproof.harness.cases.catalogue import every_case
    from groupproof.protocol.rules.coverage import SIDES, judged, unjudged

    speaking = {case for side in SIDES for case in judged()[side].get(requirement, ())}
    listing = {case.id: f"{case.id}  {case.title}" for case in every_case() if requirement in case.requirements}
    more = len(speaking - listing.keys())
    lines = [line for case, line in listing.items() if case in speaking] + ([f"{more} more, in passing"] if more else [])
    reasons = [f"none: {gap.why}" for gap in unjudged() if requirement in gap.ids]
    silent = [line for case, line in listing.items() if case not in speaking]
    return [*_listed("Cases that judge it", [*lines, *reasons]), *_listed("Cases that list it, whose findings cite another", silent)]


def _witnesses_of(requirement: str) -> list[str]:
    """Return the witnesses, or the reasons why there is none."""
    from groupproof.protocol.rules.coverage import gaps, witnesses

    return [*witnesses().get(requirement, ()), *(f"none: {gap.why}" for gap in gaps() if requirement in gap.ids)]


def _rows_of(requirement: str) -> list[str]:
    """Return the rows that cite a requirement, with the profiles of their tables."""
    from groupproof.protocol.rules.profiles import known_profiles, profile

    found: dict[str, list[str]] = {}
    for release in known_profiles():
        for rule, row in profile(release).named_rules():
            if row.requirement == requirement:
                found.setdefault(rule, []).append(release)
    return [f"{name}  ({', '.join(_runs(having, known_profiles()))})" for name, having in found.items()]


def _runs(having: Sequence[str], profiles: Sequence[str]) -> Iterator[str]:
    """Yield the profiles of `having`, with neighbours joined: `kafka-1.1 to kafka-2.2`."""
    from itertools import groupby

    for has, run in groupby(profiles, key=lambda profile: profile in having):
        names = list(run)
        if has:
            yield names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _profile(name: str) -> list[str] | None:
    from groupproof.protocol.rules.profiles import UnknownProfile, profile, relatives
    from groupproof.protocol.rules.verification import evidence_text

    try:
        found = profile(name)
    except UnknownProfile:
        return None
    kept_by = "DataLink's Manager keeps it" if name in relatives() else f"brokers of release {'.'.join(map(str, found.release))} keep it"
    lines = [f"{found.name}: the group protocol as {kept_by}"]
    lines += _wrapped(evidence_text(name))
    lines += _listed("API versions", [f"{api.title} {low}–{high}" for api, (low, high) in found.api_versions.items()])
    lines += _listed("Default settings", [f"{setting} = {value}" for setting, value in found.defaults.items()])
    return lines + (_listed("Readings of the design, as --reading", _readings()) if name in relatives() else [])


def _readings() -> list[str]:
    from groupproof.coordinator.planted.variants import READINGS

    return [f"{reading.name}: {reading.says}" for reading in READINGS]


def _subject(name: str) -> list[str] | None:
    from groupproof.clients.registry.registered_clients import UnknownClient, resolve
    from groupproof.clients.registry.toolchains.by_language import tools_of

    try:
        found = resolve(name)
    except UnknownClient:
        return None
    lines = [f"{found}: {found.title} ({found.language})"]
    lines += [found.homepage] if found.homepage else []
    lines += [f"Also called: {', '.join(found.aliases)}"] if found.aliases else []
    lines += [f"Shim: level {found.level}", f"Known failures: {found.expectations}"]
    tools = tools_of(found)
    lines += _wrapped(f"Needs: {', '.join(tool.program for tool in tools)}") if tools else []
    lines += [line for tool in tools if tool.path() is None for line in _wrapped(f"No {tool.program} here: {tool.remedy}")]
    return lines + (_wrapped(f"Releases: {', '.join(found.releases)}") if found.releases else [])


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    wrapped = [name for line in lines for name in _wrapped(line, "  ")]
    return ["", title, *wrapped] if wrapped else []


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + ("  " if indent else ""), break_on_hyphens=False)
