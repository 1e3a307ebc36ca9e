"""`groupproof chaos list` and `groupproof chaos run`: fault scenarios, shipped or the user's own, against the reference pair or a real one."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.command_tree import Group
from groupproof.harness.commands.base.options import NEWEST_PROFILE, ProgramCommand, RunOptions, common_options, program_of, with_options

if TYPE_CHECKING:
    from groupproof.chaos.scenarios.scenario import Scenario
    from groupproof.harness.commands.base.progress import ProgressDisplay
    from groupproof.harness.model.case import Case
    from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig
    from groupproof.harness.subjects.brokers.cluster import BrokerSubject
    from groupproof.harness.subjects.client_registry import Candidate
    from groupproof.harness.subjects.shims.contract_lines import Hello

__all__ = ["group", "list_scenarios", "run_scenarios"]

_HERE = "groupproof.chaos.commands"
_MEMBERS = 3
_WITHOUT_LOG = frozenset({"kfake", "librdkafka-mock"})

group = Group(
    "chaos",
    {
        "list": f"{_HERE}:list_scenarios",
        "run": f"{_HERE}:run_scenarios",
        "spark": "groupproof.chaos.spark.streaming.streaming_command:command",
        "datalink": "groupproof.chaos.relatives.datalink_command:command",
    },
    "Fault scenarios: list them, or run them.",
)


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_scenarios(*, as_json: bool) -> int:
    """List the shipped scenarios: what breaks, and the requirements that are at stake."""
    from groupproof.chaos.scenarios.shipped_scenarios import shipped

    if as_json:
        click.echo(json.dumps([_row(shipped_scenario) for shipped_scenario in shipped()], ensure_ascii=False, indent=1))
        return 0
    width = max(len(shipped_scenario.name) for shipped_scenario in shipped())
    for scenario in shipped():
        click.echo(f"{scenario.name:{width}}  {scenario.title}  ({', '.join(scenario.requirements)})")
    click.echo(f"{len(shipped())} scenarios; run one with: groupproof chaos run NAME", err=True)
    click.echo("of other groups: groupproof chaos datalink, groupproof chaos spark, groupproof compare (ZooKeeper)", err=True)
    return 0


def _row(scenario: Scenario) -> dict[str, Any]:
    fields = ("title", "story", "members", "partitions")
    return {
        "name": scenario.name,
        "case": scenario.case_id,
        **{name: getattr(scenario, name) for name in fields},
        "requirements": list(scenario.requirements),
        "expects": [expectation.says for expectation in scenario.expect],
    }


_COMMON = common_options(
    profile=f"The broker release that the reference coordinator plays.  [default: {NEWEST_PROFILE}]", jobs="by the client's weight", subject="client"
)
_OWN: Sequence[Callable[[Any], Any]] = (
    click.option("--client", metavar="SUBJECT", help="The client, as in `certify client`.  [default: the reference member]"),
    click.option("--coordinator", metavar="SUBJECT", help="The coordinator, as in `certify coordinator`.  [default: the reference coordinator]"),
    click.option("--reference", is_flag=True, help="The reference pair in virtual time, which is also the default."),
    click.option(
        "--shim-level", type=click.Choice(["0", "1"]), help="The shim level of the program behind --, as in `certify client`.  [default: 1]"
    ),
    click.option("--members", type=click.IntRange(min=2), metavar="N", help="How many members a group has.  [default: the scenario's number]"),
    click.option("--faults", type=click.Choice(["swarm"]), help="Draw a random plan from the seed instead, with some kinds of faults."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    return with_options(command, (*_OWN, *_COMMON))


@click.command("run", cls=ProgramCommand)
@click.argument("names", nargs=-1, metavar="[NAME|GLOB|all|FILE.toml]...")
@_options
@click.pass_context
def run_scenarios(
    ctx: click.Context, /, names: tuple[str, ...], client: str | None, coordinator: str | None, *, reference: bool, members: int | None,
    faults: str | None, **options: Any,
) -> int:  # fmt: skip
    """Run scenarios: safety while it breaks, then the healing, then the group has to settle within a bound.

    Without --client, --coordinator and a PROGRAM it is the reference pair in virtual time; else everything goes over the wire, in real time.
    A PROGRAM behind -- is a client of one's own, which speaks the shim contract.
    """
    program = program_of(ctx)
    if client and program:
        raise click.UsageError("name the client either by --client or by a program behind --, not by both", ctx)
    if reference and (client or coordinator or program):
        raise click.UsageError("--reference is the reference pair in virtual time; leave --client, --coordinator and a program behind -- out", ctx)
    if bool(names) == (faults is not None):
        raise click.UsageError("name scenarios (see groupproof chaos list), or all of them with: all; or have one drawn with --faults swarm", ctx)
    return _Chaos(RunOptions(**options), client, program, coordinator, members).run(names)


class _Chaos:
    """One call of `chaos run`."""

    def __init__(self, options: RunOptions, client: str | None, program: tuple[str, ...], coordinator: str | None, members: int | None) -> None:
        self._options = options
        self._client = client
        self._program = program
        self._coordinator = coordinator
        self._members = members
        self._is_virtual = not (client or program or coordinator)

    def run(self, names: tuple[str, ...]) -> int:
        from groupproof.chaos.chaos_run import ChaosRun
        from groupproof.chaos.scenarios.scenario import RunMode
        from groupproof.chaos.scenarios.scenario_json import case_of_scenario
        from groupproof.chaos.shrink_scenario import SmallerScenario
        from groupproof.harness.commands.base.certification import Certification

        scenarios = self._scenarios(names)
        mode = RunMode.VIRTUAL if self._is_virtual else RunMode.WIRE
        cases = [case_of_scenario(scenario, mode=mode, members=self._members) for scenario in scenarios]
        certification = Certification(self._options, "client", cases)
        brokers = self._brokers(certification.say)
        found = self._candidate(certification.say, brokers)
        certification.say(self._chosen(found, brokers))
        certification.known_from(found.expectations)
        if found.release is not None:
            certification.settle_output(f"chaos-{found.name}-{found.release}")
        config = certification.run_config(profile=self._profile(brokers), jobs=self._jobs(found))
        unsupported = {} if brokers is None else {scenario.case_id: why for scenario in scenarios if (why := _unsupported_reason(scenario, brokers))}
        for case, why in unsupported.items():
            certification.say(f"{case} is left out: {why}")
        drawn = None if names else SmallerScenario(scenario=scenarios[0], members=self._members or scenarios[0].members)
        runs: list[ChaosRun] = []

        def on_hello(hello: Hello) -> None:
            if found.release is None:
                certification.settle_output(f"chaos-{hello.client}-{hello.version}")

        def start_run(display: ProgressDisplay) -> CertifyRun:
            note = certification.say
            runs.append(ChaosRun(found, brokers, config, say=display.report, on_hello=on_hello, note=note, unsupported=unsupported, drawn=drawn))
            return runs[0]

        code = certification.run(start_run)
        if runs[0].shrunk is not None:
            _keep(runs[0].shrunk, config, found, brokers, certification.output / "shrunk.json")
        return code

    def _scenarios(self, names: tuple[str, ...]) -> Sequence[Scenario]:
        from groupproof.chaos.scenarios.random_scenarios import drawn
        from groupproof.chaos.scenarios.shipped_scenarios import chosen

        return chosen(names) if names else (drawn(self._options.seed, members=self._members or _MEMBERS),)

    def _brokers(self, say: Callable[[str], None]) -> BrokerSubject | None:
        from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named

        if self._is_virtual:
            return None
        found = subject_named(self._coordinator or "groupproof", profile=self._options.profile, say=say)
        meet(found, say)
        return found

    def _candidate(self, say: Callable[[str], None], brokers: BrokerSubject | None) -> Candidate:
        from groupproof.harness.subjects.client_registry import candidate, reference_subject

        options, level = self._options, self._options.shim_level
        found = candidate(
            None if self._program else self._client or "groupproof",
            self._program,
            profile=self._profile(brokers),
            seed=options.seed,
            shim_level=None if level is None else int(level),
            jobs=options.jobs,
            say=say,
        )
        if found.subject.is_virtual and not self._is_virtual:
            return replace(found, subject=reference_subject(is_virtual=False))
        return found

    def _profile(self, brokers: BrokerSubject | None) -> str:
        return self._options.profile or (NEWEST_PROFILE if brokers is None else brokers.profile)

    def _jobs(self, found: Candidate) -> int:
        return self._options.jobs or (found.jobs if self._is_virtual else min(found.jobs, 2 * (os.cpu_count() or 1)))

    def _chosen(self, found: Candidate, brokers: BrokerSubject | None) -> str:
        if brokers is None:
            return "the reference member before the reference coordinator, in virtual time"
        client = shlex.join(self._program) if self._program else f"{found.name} {found.release or ''}".rstrip()
        return f"{client} before {brokers.spec}, over the wire"


def _unsupported_reason(scenario: Scenario, brokers: BrokerSubject) -> str:
    """Return why a scenario cannot run over the wire with these brokers; empty where it can."""
    if scenario.only_virtual:
        return f"It runs in virtual time alone: {scenario.only_virtual}."
    faults = [fault.how for phase in scenario.phases for fault in phase.faults]
    actions = [action.how for phase in scenario.phases for action in phase.actions]
    loses = any(how.get("state") == "lost" for how in (*faults, *actions))
    return f"{brokers.name} keeps its groups in no log that they could be lost from." if loses and brokers.name in _WITHOUT_LOG else ""


def _keep(case: Case, config: RunConfig, found: Candidate, brokers: BrokerSubject | None, file: Path) -> None:
    """Write the smallest failing plan as a schedule, and print the replay command."""
    from groupproof.harness.model.case import plan_of
    from groupproof.harness.model.verdicts import Verdict
    from groupproof.harness.reports.output_folder import write_text
    from groupproof.harness.running.schedule_file import Schedule, schedule_to_json

    subject = found.spec if isinstance(found.spec, str) else tuple(found.spec)
    coordinator = None if brokers is None else brokers.spec
    schedule = Schedule(
        case=case.id, seed=config.seed, subject=subject, profile=config.profile, plan=plan_of(case), verdict=Verdict.FAILED, coordinator=coordinator,
        origin=case.origin,
    )  # fmt: skip
    write_text(file, json.dumps(schedule_to_json(schedule), ensure_ascii=False, indent=1) + "\n")
    click.echo(f"shrunk: groupproof replay {shlex.quote(str(file))}", err=True)
