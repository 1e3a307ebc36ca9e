"""What certifying has in common for both sides: the selection of cases, the known failures, and the report with its folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groupproof.harness.commands.base.certificate_option import check_bundling, pack_outcome
from groupproof.harness.commands.base.options import RunOptions

if TYPE_CHECKING:
    from rich.console import Console

    from groupproof.harness.commands.base.progress import ProgressDisplay
    from groupproof.harness.judging.summary.baseline import Baseline, RunScope
    from groupproof.harness.judging.summary.expectations import Expectations
    from groupproof.harness.judging.summary.shards import Share
    from groupproof.harness.model.case import Case
    from groupproof.harness.running.hold import Hold
    from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig, RunOutcome

__all__ = ["Certification", "as_folder"]


@dataclass(slots=True)
class Certification:
    """One certification, from the options to the exit code; `catalogue` are all cases, by default those of the side.

    Raise `RunError` at construction for an error that is known before the run.
    """

    options: RunOptions
    side: str
    catalogue: Sequence[Case] | None = None
    console: Console = field(init=False)
    cases: Sequence[Case] = field(init=False)
    _baseline: Baseline | None = field(init=False)
    _selected: Sequence[Case] = field(init=False)
    _known_in: Sequence[Path] = field(init=False)
    _expectations: list[Expectations] = field(init=False)
    _output: Path | None = field(init=False)
    _display: ProgressDisplay | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)
        self._baseline = self._read_baseline()
        self._selected = self._select()
        self.cases = self._share()
        self._known_in = self.options.expect
        self._expectations = [_loaded(path) for path in self._known_in]
        self._output = self.options.output
        if self._output is not None:
            _check(self._output)
        check_bundling(self.options)

    def _read_baseline(self) -> Baseline | None:
        from groupproof.harness.judging.summary.baseline import Baseline
        from groupproof.harness.model.errors import WrongUsage
        from groupproof.harness.model.report_json import read_report

        path = self.options.baseline
        if path is None:
            return None
        baseline = Baseline.of(read_report(path), str(path))
        if baseline.side != self.side:
            raise WrongUsage(f"{path} is the report of a {baseline.side}, and has nothing about a {self.side}; name one of the same side")
        return baseline

    def _share(self) -> Sequence[Case]:
        """Return the cases of this shard; all selected cases without a shard."""
        from groupproof.harness.judging.summary.shards import share_of
        from groupproof.harness.running.runs.case_durations import durations_in, shipped_durations

        options = self.options
        if self._shard is None:
            return self._selected
        seconds = shipped_durations(self.side) if options.durations is None else durations_in(options.durations)
        return share_of(self._selected, self._shard, seconds)

    @property
    def _shard(self) -> Share | None:
        """The shard to run; None for the whole run."""
        share = self.options.shard
        return None if share is None or share.of == 1 or self.options.hold is not None else share

    def _wanted(self) -> RunScope:
        from groupproof.harness.cases.catalogue import cases_of
        from groupproof.harness.judging.summary.baseline import RunScope

        options, catalogue = self.options, cases_of(self.side) if self.catalogue is None else self.catalogue
        return RunScope(
            only=options.only,
            skip=options.skip,
            level=options.level,
            existing=frozenset(case.id for case in catalogue),
            selected=frozenset(case.id for case in self.cases),
        )

    def _select(self) -> list[Case]:
        from groupproof.harness.cases.catalogue import cases_of
        from groupproof.harness.model.selection import select

        options, catalogue = self.options, cases_of(self.side) if self.catalogue is None else self.catalogue
        if options.hold is not None:
            return select(catalogue, only=(options.hold,))
        return select(catalogue, only=options.only, skip=options.skip, level=options.level)

    def known_from(self, shipped: Path | None) -> None:
        """Use the known failures that ship with the subject, unless the user named others."""
        if not self.options.expect and shipped is not None:
            self._known_in, self._expectations = (shipped,), [_loaded(shipped)]

    def say(self, line: str) -> None:
        """Print a line, above the progress display."""
        if self._display is not None:
            self._display.line(line)
        else:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def run_config(self, *, profile: str, jobs: int, hold: Hold | None = None) -> RunConfig:
        """Return the run's configuration."""
        from groupproof.harness.judging.summary.expectations import Expectations
        from groupproof.harness.running.runs.whole_run import RunConfig

        options = self.options
        return RunConfig(
            cases=self.cases,
            profile=profile,
            level=options.level,
            seed=options.seed,
            jobs=jobs,
            command=["groupproof", *sys.argv[1:]],
            timeout_s=options.timeout,
            bind=options.bind,
            advertise=options.advertise,
            fail_on=options.fail_on,
            expectations=Expectations(failures=tuple(failure for expectation in self._expectations for failure in expectation.failures)),
            hold=hold,
            shard=self._shard,
            elsewhere=frozenset(case.id for case in self._selected) - {case.id for case in self.cases},
            baseline=self._baseline,
            wanted=self._wanted(),
        )

    def settle_output(self, name: str) -> None:
        """Choose the report folder of subject `name`, and check before the run that it can be written."""
        if self._output is None:
            self._output = Path("reports") / as_folder(name)
        _check(self._output)

    @property
    def output(self) -> Path:
        """The report folder, after `settle_output`."""
        assert self._output is not None
        return self._output

    def run(self, start_run: Callable[[ProgressDisplay], CertifyRun]) -> int:
        """Run, write the report, and return the exit code."""
        from groupproof.harness.commands.base.progress import watched

        with watched(self.console, len(self.cases)) as self._display:
            outcome = start_run(self._display).go()
        self._display = None
        return self._report(outcome)

    def _report(self, outcome: RunOutcome) -> int:
        import json

        from rich.console import Console

        from groupproof.harness.commands.base.run_end import print_summary
        from groupproof.harness.reports.report_writer import write_report

        assert self._output is not None
        write_report(outcome.summary, self._output)
        for note in outcome.notes:
            self.say(f"warning: {note}")
        if self.options.as_json:
            click.echo(json.dumps(outcome.summary.to_json(str(self._output)), ensure_ascii=False, indent=1))
            print_summary(self.console, outcome, self._output)
        else:
            print_summary(Console(highlight=False), outcome, self._output)
        if line := pack_outcome(self.options, outcome, self._output, self._known_in):
            self.say(line)
        return outcome.exit_code


def as_folder(name: str) -> str:
    """Return a name that is valid for a folder; a shim's client name is free text."""
    return "".join(text if text.isalnum() or text in "._-+" else "_" for text in name).strip(".") or "subject"


def _loaded(path: Path) -> Any:
    from groupproof.harness.judging.summary.expectations import load

    return load(path)


def _check(output: Path) -> None:
    from groupproof.harness.reports.output_folder import check_output

    check_output(output)
