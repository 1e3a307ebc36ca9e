"""`groupproof diff A B` runs the same schedules against two coordinators, or two clients, and shows the first difference of each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.options import seed_of

if TYPE_CHECKING:
    from groupproof.harness.running.fuzzing.histories.coordinator_diff import ScriptComparison
    from groupproof.harness.subjects.brokers.cluster import BrokerSubject

__all__ = ["command"]

DIVERGE = 1
JOBS = 40
WIDTH = 110


@click.command(name="diff", short_help="Compare two coordinators, or two clients, by the same schedules.")
@click.argument("first")
@click.argument("second")
@click.option("--only", metavar="PATTERN", multiple=True, help="Select cases by case or requirement id, prefix or glob; repeatable.")
@click.option("--skip", metavar="PATTERN", multiple=True, help="Exclude cases, in the same way; repeatable.")
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Also compare with generated histories of about N requests.",
)
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same generated histories.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="How many schedules run side by side.  [default: 40; for clients their own limit]"
)
@click.option(
    "--profile", metavar="P", help="The release whose rules groupproof uses.  [default: the release of the other subject; for clients the newest]"
)
@click.option(
    "--properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The client.properties to connect to HOST:PORT (TLS, SASL), as for Kafka's own clients.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the divergences in full as JSON on stdout, and nothing else there.")
def command(first: str, second: str, **options: Any) -> int:
    """Send the coordinator cases to FIRST and SECOND, as `certify coordinator` takes them, and compare what they answer.

    Ids are replaced by names in the order of their appearance, and times are left out. 1 says that some schedule is not answered alike.

    Two clients, as `certify client` takes them, are compared by what the client cases come to: verdict, goodbye, and how their groups moved.
    """
    return _diff_clients(first, second, **options) if _are_clients(first, second) else _diff(first, second, **options)


def _are_clients(*specs: str) -> bool:
    """Return whether the subjects are clients. The reference fits both sides; so does an unknown name. Raise `WrongUsage` for one of each."""
    from groupproof.clients.registry.registered_clients import names
    from groupproof.harness.model.errors import WrongUsage
    from groupproof.harness.subjects.brokers.broker_providers import ALIASES, NAMES

    called = [spec.partition("@")[0] for spec in specs]
    clients = [spec for spec, name in zip(specs, called, strict=True) if name in names() and name not in NAMES]
    coordinators = [spec for spec, name in zip(specs, called, strict=True) if ":" in spec or (name in {*NAMES, *ALIASES} and name not in names())]
    if clients and coordinators:
        raise WrongUsage(f"{clients[0]} is a client and {coordinators[0]} a coordinator; name two of one side")
    return bool(clients)


def _diff_clients(
    first: str, second: str, *, only: tuple[str, ...], skip: tuple[str, ...], steps: int, seed: int, jobs: int | None, profile: str | None,
    properties: Path | None, as_json: bool,
) -> int:  # fmt: skip
    from rich.console import Console

    from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
    from groupproof.harness.commands.base.options import NEWEST_PROFILE
    from groupproof.harness.commands.work.client_diff import ClientDiff
    from groupproof.harness.model.selection import select
    from groupproof.harness.subjects.client_registry import candidate

    if steps or properties is not None:
        raise click.UsageError("--steps and --properties are for coordinators")
    console = Console(stderr=True)

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    rules = profile or NEWEST_PROFILE
    cases = select(cases_of("client", DIALECT_CAPABILITIES, rules), only=only, skip=skip)
    one, other = (candidate(name, (), profile=rules, seed=seed, jobs=jobs, say=say) for name in (first, second))
    return ClientDiff((one, other), cases, profile=rules, seed=seed, say=say).go(console, as_json=as_json)


def _diff(
    first: str, second: str, *, only: tuple[str, ...], skip: tuple[str, ...], steps: int, seed: int, jobs: int | None, profile: str | None,
    properties: Path | None, as_json: bool,
) -> int:  # fmt: skip
    from rich.console import Console

    from groupproof.harness.cases.catalogue import cases_of
    from groupproof.harness.commands.fuzz import need_hypothesis
    from groupproof.harness.model.selection import select
    from groupproof.harness.running.fuzzing.histories.coordinator_diff import Comparison

    if steps:
        need_hypothesis()
    console = Console(stderr=True)

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    subjects = _subjects((first, second), profile, properties, say)
    comparison = Comparison(subjects, select(cases_of("coordinator"), only=only, skip=skip), steps=steps, seed=seed, jobs=jobs or JOBS, say=say)
    comparison.go()
    compared = sorted(comparison.compared, key=lambda result: result.case.id)
    if as_json:
        click.echo(json.dumps([_json(result) for result in compared if result.contrast is not None], indent=1, default=str))
    else:
        _print(compared, subjects)
    troubles = [result.trouble for result in compared if result.trouble is not None]
    for trouble in dict.fromkeys(map(str, troubles)):
        say(trouble)
    if any(result.contrast is not None for result in compared):
        return DIVERGE
    return max((error.exit_code for error in troubles), default=0)


def _subjects(specs: tuple[str, str], profile: str | None, properties: Path | None, say: Any) -> tuple[BrokerSubject, BrokerSubject]:
    """Return both subjects; the reference plays the release of the other one, unless `profile` names another."""
    from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named
    from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
    from groupproof.harness.subjects.client_registry import check_profile_name

    if profile is not None:
        check_profile_name(profile)

    def named(spec: str) -> BrokerSubject:
        found = subject_named(spec, properties=properties if ":" in spec else None, profile=profile, say=say)
        meet(found, say)
        return found

    one, other = named(specs[0]), named(specs[1])
    if profile is None and isinstance(one, ReferenceBrokers):
        one = replace(one, profile=other.profile)
    if profile is None and isinstance(other, ReferenceBrokers):
        other = replace(other, profile=one.profile)
    return one, other


def _print(compared: list[ScriptComparison], subjects: tuple[BrokerSubject, BrokerSubject]) -> None:
    width = max(len(comparison.spec) for comparison in subjects)
    for result in compared:
        if result.contrast is not None:
            click.echo(f"{result.case.id}: {result.contrast.label}")
            click.echo(f"  {subjects[0].spec:<{width}}  {result.contrast.first[:WIDTH]}")
            click.echo(f"  {subjects[1].spec:<{width}}  {result.contrast.second[:WIDTH]}")
    diverge = sum(comparison.contrast is not None for comparison in compared)
    failed = sum(comparison.trouble is not None for comparison in compared)
    rest = f", {failed} not run" if failed else ""
    click.echo(f"{subjects[0].spec} and {subjects[1].spec}: {diverge} of {len(compared)} schedules diverge{rest}")


def _json(compared: ScriptComparison) -> dict[str, Any]:
    assert compared.contrast is not None
    first, second = compared.contrast.bodies
    return {"case": compared.case.id, "exchange": compared.contrast.label, "first": first, "second": second}
