"""`groupproof certify client`: put a client in front of the reference coordinator and rule on every case."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.cli.options import NEWEST_PROFILE, ProgramCommand, RunOptions, program_of, run_options
from groupproof.harness.cli.root import Group

if TYPE_CHECKING:
    from groupproof.harness.candidates import Candidate
    from groupproof.harness.case import Case
    from groupproof.harness.cli.running import Order, Outcome
    from groupproof.harness.contract_lines import Hello
    from groupproof.harness.expectations import Expectations

__all__ = ["client", "group"]

group = Group("certify", {"client": "certify:client"}, "Certify a client.")


@click.command(cls=ProgramCommand)
@click.argument("subject", required=False)
@run_options
@click.pass_context
def client(ctx: click.Context, /, subject: str | None, **given: Any) -> int:
    """Run the client cases against SUBJECT, a registered client with an optional release, or against a PROGRAM that speaks the shim contract.

    SUBJECT is one that `groupproof list subjects` names: kafka-python, kafka-python@2.2.3, java@3.1.1, or groupproof, the reference itself.
    """
    program = program_of(ctx)
    if (subject is None) == (not program):
        raise click.UsageError("name either a registered client (kafka-python@2.2.3) or a program behind -- (certify client -- python shim.py)", ctx)
    return _certify(subject, program, RunOptions(**given))


def _certify(subject: str | None, program: tuple[str, ...], options: RunOptions) -> int:
    from rich.console import Console

    from groupproof.harness.candidates import candidate

    console = Console(stderr=True)
    cases = _selected(options)
    expectations = [_loaded(path) for path in options.expect]
    if options.output is not None:
        _checked(options.output)
    found = candidate(
        subject,
        program,
        profile=options.profile or NEWEST_PROFILE,
        seed=options.seed,
        shim_level=None if options.shim_level is None else int(options.shim_level),
        jobs=1 if options.hold else options.jobs,
        say=lambda line: console.print(line, markup=False, highlight=False),
    )
    if not options.expect and found.expectations is not None:
        expectations = [_loaded(found.expectations)]
    return _Certification(found, options, cases, expectations, console).go()


def _selected(options: RunOptions) -> list[Case]:
    from groupproof.harness.selection import select
    from groupproof.harness.suites import CASES

    if options.hold is None:
        return select(CASES, only=options.only, skip=options.skip, level=options.level)
    return select(CASES, only=(options.hold,))


def _loaded(path: Path) -> Expectations:
    from groupproof.harness.expectations import load

    return load(path)


def _checked(output: Path) -> None:
    from groupproof.harness.report import check_output

    check_output(output)


class _Certification:
    """One certification, from the subject's hello to the exit code."""

    def __init__(self, found: Candidate, options: RunOptions, cases: Sequence[Case], expectations: Sequence[Expectations], console: Any) -> None:
        self._found = found
        self._options = options
        self._cases = cases
        self._expectations = expectations
        self._console = console
        self._output = options.output

    def go(self) -> int:
        from groupproof.harness.cli.running import Run
        from groupproof.harness.progress import watched

        if self._options.hold is not None and self._found.subject.is_virtual:
            raise click.UsageError("--hold waits for a debugger at a shim's process; the reference runs inside groupproof, in virtual time")
        with watched(self._console, len(self._cases)) as shown:
            outcome = Run(self._found, self._order(), say=shown.told, on_hello=self._greeted).go()
        return self._report(outcome)

    def _order(self) -> Order:
        from groupproof.harness.cli.running import Order
        from groupproof.harness.expectations import Expectations
        from groupproof.harness.hold import Hold

        options = self._options
        return Order(
            cases=self._cases,
            profile=options.profile or NEWEST_PROFILE,
            level=options.level,
            seed=options.seed,
            jobs=self._found.jobs,
            command=["groupproof", *sys.argv[1:]],
            timeout_s=options.timeout,
            bind=options.bind,
            advertise=options.advertise,
            fail_on=options.fail_on,
            expectations=Expectations(known=tuple(known for each in self._expectations for known in each.known)),
            hold=Hold(self._say) if options.hold else None,
        )

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _greeted(self, hello: Hello) -> None:
        """Settle where the report goes as soon as it is known who speaks, and whether it can go there, before an hour is spent."""
        if self._output is None:
            name, release = (self._found.name, self._found.release) if self._found.release else (hello.client, hello.version)
            self._output = Path("reports") / _as_folder(f"{name}-{release}")
        _checked(self._output)

    def _report(self, outcome: Outcome) -> int:
        import json

        from rich.console import Console

        from groupproof.harness.cli.summary import print_summary
        from groupproof.harness.report import write_report

        assert self._output is not None
        write_report(outcome.summary, self._output)
        if self._options.as_json:
            click.echo(json.dumps(outcome.summary.to_json(str(self._output)), ensure_ascii=False, indent=1))
            print_summary(self._console, outcome, self._output)
        else:
            print_summary(Console(highlight=False), outcome, self._output)
        return outcome.exit_code


def _as_folder(name: str) -> str:
    """Return a folder's name; what a shim calls its client is free text."""
    return "".join(each if each.isalnum() or each in "._-+" else "_" for each in name).strip(".") or "client"
