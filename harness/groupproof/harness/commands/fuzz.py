"""`groupproof fuzz coordinator SUBJECT`: runs random histories and judges them by the oracle; the first divergence becomes a small schedule file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.command_tree import Group
from groupproof.harness.commands.base.options import SET, seed_of

if TYPE_CHECKING:
    from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import FuzzFinding, Fuzzing
    from groupproof.harness.running.runs.whole_run import RunConfig
    from groupproof.harness.subjects.brokers.cluster import BrokerSubject

__all__ = ["coordinator", "group", "need_hypothesis"]

group = Group(
    "fuzz",
    {"client": "groupproof.harness.commands.fuzz_client:client", "coordinator": "groupproof.harness.commands.fuzz:coordinator"},
    "Try a client with generated plans, or a coordinator with generated histories.",
)

DIVERGED = 1
UNDECIDED = 2


@click.command()
@click.argument("subject")
@click.option("--profile", metavar="P", help="The broker release whose rules judge it.  [default: the subject's own]")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", default=1_000, show_default=True, help="How many requests the subject must answer.")
@click.option("--length", type=click.IntRange(min=2, max=200), metavar="N", default=25, show_default=True, help="How many requests a history has.")
@click.option(
    "--dialect",
    metavar="D",
    help="Draw only histories of this dialect, such as consumer, and some of all dialects.  [default: all dialects of the profile]",
)
@click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same histories.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", default=40, show_default=True, help="How many histories run side by side.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="The maximum time for a history.  [default: 120]")
@click.option("--goes-on", is_flag=True, help="Continue after a divergence, to find divergences from other rules.")
@click.option("--frames", is_flag=True, help="Also print the frames of a divergence.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for schedules and traces.  [default: fuzz/NAME]")
@click.option(
    "--properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The client.properties to connect to HOST:PORT (TLS, SASL), as for Kafka's own clients.",
)
@click.option("--group-prefix", default="groupproof-", show_default=True, metavar="P", help="The prefix of all groups and topics that are created.")
@SET
def coordinator(subject: str, **options: Any) -> int:
    """Send generated histories to SUBJECT, as `certify coordinator` takes it, and hold every answer against the release's rules.

    Each history is one group of a few members. 1 says that an answer diverged: the history is shrunk, and kept as a schedule for `groupproof replay`.
    """
    need_hypothesis()
    return _fuzz(subject, **options)


def need_hypothesis() -> None:
    """Raise `BrokenEnvironment` with the install command if Hypothesis, which draws the histories, is missing."""
    from groupproof.harness.running.extras import need

    need("fuzzing", "hypothesis")


def _fuzz(
    named: str, *, profile: str | None, steps: int, length: int, dialect: str | None, seed: int, jobs: int, timeout: float | None, goes_on: bool, frames: bool,
    output: Path | None, properties: Path | None, group_prefix: str, by_hand: tuple[str, ...],
) -> int:  # fmt: skip
    from rich.console import Console

    from groupproof.harness.commands.base.certification import as_folder
    from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import FuzzEffort, Fuzzing
    from groupproof.harness.running.runs.whole_run import RunConfig
    from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named
    from groupproof.harness.subjects.client_registry import check_profile_name

    console = Console(stderr=True)

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    if profile is not None:
        check_profile_name(profile)
    found = subject_named(named, properties=properties, profile=profile, say=say, by_hand=by_hand)
    meet(found, say, group_prefix)
    config = RunConfig(
        cases=(), profile=profile or found.profile, level="info", seed=seed, jobs=jobs, command=["groupproof", *sys.argv[1:]], timeout_s=timeout
    )
    if dialect is not None:
        _check_dialect(dialect, config.profile)
    folder = output or Path("fuzz") / as_folder(found.spec)

    def tell(diverged: FuzzFinding) -> None:
        _tell(diverged, config, found, folder, with_frames=frames)

    run = Fuzzing(found, config, FuzzEffort(steps=steps, length=length, goes_on=goes_on, dialect=dialect), say=say, found=tell, prefix=group_prefix)
    outcome = run.go()
    for (kind, rule), count in run.more.items():
        click.echo(f"{count} more histories diverged, not kept: {kind} than {rule} says")
    click.echo("answered: " + ", ".join(f"{count} {api}" for api, count in run.by_api.most_common()))
    click.echo(_summary(run, found, config))
    return _code(run, is_interrupted=outcome.summary.run.interrupted)


def _check_dialect(dialect: str, profile: str) -> None:
    """Raise `BadParameter` for a dialect without random histories for the profile."""
    from groupproof.harness.running.fuzzing.histories.history_registry import histories_on

    spoken = [part.dialect.name for part in histories_on(profile)]
    if dialect not in spoken:
        raise click.BadParameter(f"{dialect!r} is no dialect of {profile}; there are {', '.join(spoken)}", param_hint="--dialect")


def _tell(diverged: FuzzFinding, config: RunConfig, subject: BrokerSubject, output: Path, *, with_frames: bool) -> None:
    """Print a divergence and write its schedule and trace."""
    from groupproof.harness.model.case import script_of
    from groupproof.harness.running.fuzzing.histories.divergence import side_by_side
    from groupproof.harness.running.schedule_file import Schedule, schedule_to_json
    from groupproof.protocol.trace import write_trace

    ruling, case = diverged.ruling, diverged.case
    schedule = Schedule(
        case=case.id,
        seed=config.seed,
        subject=subject.spec,
        profile=config.profile,
        plan=script_of(case),
        verdict=ruling.verdict,
        fingerprint=ruling.fingerprint,
    )
    name = case.id.rpartition("/")[2]
    output.mkdir(parents=True, exist_ok=True)
    file = output / f"{name}.json"
    file.write_text(json.dumps(schedule_to_json(schedule), indent=1) + "\n", encoding="utf-8")
    (output / f"{name}.ndjson").write_text("".join(f"{line}\n" for line in write_trace(diverged.trace)), encoding="utf-8")
    click.echo(f"{ruling.verdict.value} {case.id} by {subject.spec}, under {config.profile}:")
    for line in side_by_side(diverged.divergence, diverged.trace, with_frames=with_frames):
        click.echo(line)
    fleeting = "  (it did not show again in this run)" if diverged.is_fleeting else ""
    click.echo(f"  replay: groupproof replay {file}{fleeting}")


def _summary(run: Fuzzing, subject: BrokerSubject, config: RunConfig) -> str:
    text = f"{subject.spec} under {config.profile}, seed {config.seed}: {run.answered} requests answered in {len(run.results)} histories"
    return f"{text}, {run.divergences} divergences, {len(run.undecided)} histories undecided"


def _code(run: Fuzzing, *, is_interrupted: bool) -> int:
    from groupproof.harness.commands.base.boundary import INTERRUPTED

    if run.diverged:
        return DIVERGED
    if is_interrupted:
        return INTERRUPTED
    troubles = [result.trouble for result in run.undecided if result.trouble is not None]
    return max((error.exit_code for error in troubles), default=UNDECIDED if run.undecided else 0)
