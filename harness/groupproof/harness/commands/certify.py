"""`groupproof certify client` runs a client against the reference coordinator; `certify coordinator` sends scripts to a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.command_tree import Group
from groupproof.harness.commands.base.options import ProgramCommand, RunOptions, broker_options, program_of, run_options

if TYPE_CHECKING:
    from groupproof.harness.commands.base.progress import ProgressDisplay
    from groupproof.harness.running.runs.whole_run import CertifyRun
    from groupproof.harness.subjects.shims.contract_lines import Hello

__all__ = ["client", "coordinator", "group"]

group = Group(
    "certify",
    {"client": "groupproof.harness.commands.certify:client", "coordinator": "groupproof.harness.commands.certify:coordinator"},
    "Certify a client or a coordinator.",
)


@click.command(cls=ProgramCommand)
@click.argument("subject", required=False)
@run_options
@click.pass_context
def client(ctx: click.Context, /, subject: str | None, **options: Any) -> int:
    """Run the client cases against SUBJECT, a registered client with an optional release, or against a PROGRAM that speaks the shim contract.

    SUBJECT is one that `groupproof list subjects` names: kafka-python, kafka-python@2.2.3, java@3.1.1, or groupproof, the reference itself.
    """
    program = program_of(ctx)
    if (subject is None) == (not program):
        raise click.UsageError("name either a registered client (kafka-python@2.2.3) or a program behind -- (certify client -- python shim.py)", ctx)
    return _certify_client(subject, program, RunOptions(**options))


def _certify_client(subject: str | None, program: tuple[str, ...], options: RunOptions) -> int:
    from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
    from groupproof.harness.commands.base.certification import Certification
    from groupproof.harness.running.hold import Hold
    from groupproof.harness.running.runs.client_run import ClientRun
    from groupproof.harness.subjects.client_registry import candidate, default_profile, kind_of

    kind = kind_of(subject)
    cases = cases_of("client", (kind,) if kind else DIALECT_CAPABILITIES)
    certification = Certification(options, "client", cases)
    profile = options.profile or default_profile(subject)
    found = candidate(
        subject,
        program,
        profile=profile,
        seed=options.seed,
        shim_level=None if options.shim_level is None else int(options.shim_level),
        jobs=1 if options.hold else options.jobs,
        say=certification.say,
    )
    certification.known_from(found.expectations)
    if options.hold is not None and found.subject.is_virtual:
        raise click.UsageError("--hold waits for a debugger at a shim's process; the reference runs inside groupproof, in virtual time")
    config = certification.run_config(profile=profile, jobs=found.jobs, hold=Hold(certification.say) if options.hold else None)

    def on_hello(hello: Hello) -> None:
        name, release = (found.name, found.release) if found.release else (hello.client, hello.version)
        certification.settle_output(f"{name}-{release}")

    return certification.run(lambda display: ClientRun(found, config, say=display.report, on_hello=on_hello, catalogue=cases))


@click.command()
@click.argument("subject")
@broker_options
def coordinator(subject: str, **options: Any) -> int:
    """Run the coordinator cases against SUBJECT: a registered coordinator with an optional release, or HOST:PORT of any broker.

    SUBJECT is one that `groupproof list subjects` names: apache-kafka, apache-kafka@1.1.0, kfake, or groupproof, the reference itself.
    """
    return _certify_coordinator(subject, RunOptions(**options))


def _certify_coordinator(named: str, options: RunOptions) -> int:
    from groupproof.harness.commands.base.certification import Certification
    from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun, expectations_of
    from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named
    from groupproof.harness.subjects.brokers.reference_brokers import as_variant
    from groupproof.harness.subjects.client_registry import check_profile_name

    certification = Certification(options, "coordinator")
    if options.profile is not None:
        check_profile_name(options.profile)
    found = subject_named(named, properties=options.properties, profile=options.profile, say=certification.say, by_hand=options.by_hand)
    if options.variant is not None:
        found = as_variant(found, options.variant)
    meet(found, certification.say, options.group_prefix)
    certification.known_from(expectations_of(found.name))
    version = found.release or found.version
    certification.settle_output(f"{found.name}-{version}" if version else found.spec)
    config = certification.run_config(profile=options.profile or found.profile, jobs=options.jobs or JOBS)

    def start_run(display: ProgressDisplay) -> CertifyRun:
        return CoordinatorRun(found, config, say=display.report, prefix=options.group_prefix)

    return certification.run(start_run)
