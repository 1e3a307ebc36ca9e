"""The run plan of a pytest session: its options, resolved with the catalogue and the registries. It is the same in every process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groupproof.clients.registry.registered_clients import UnknownClient, WrongPairing, check_profile, resolve
from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
from groupproof.harness.commands.base.certification import as_folder
from groupproof.harness.commands.base.options import NEWEST_PROFILE
from groupproof.harness.commands.pytest_plugin.pytest_options import PytestOptions
from groupproof.harness.judging.summary.expectations import Expectations, load
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.selection import select
from groupproof.harness.reports.output_folder import check_output
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.broker_providers import subject_named
from groupproof.harness.subjects.client_registry import check_profile_name

__all__ = ["RunPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What to run; `cases` are those that can become items, before pytest's own selection."""

    options: PytestOptions
    cases: tuple[Case, ...]
    expectations: Expectations

    @classmethod
    def of(cls, options: PytestOptions, patterns: Sequence[str] = ()) -> RunPlan:
        """Return the run plan, with the cases that `patterns` name if there are any. Raise `WrongUsage` for an error that is known before the run."""
        if options.profile is not None:
            check_profile_name(options.profile)
        _check_subject(options)
        if options.output is not None:
            check_output(options.output)
        catalogue = cases_of(options.side, DIALECT_CAPABILITIES, options.profile or NEWEST_PROFILE)
        cases = select(catalogue, only=patterns or options.only, skip=options.skip, level=options.level)
        if patterns and options.only:
            wanted = {case.id for case in select(catalogue, only=options.only)}
            cases = [case for case in cases if case.id in wanted]
        failures = tuple(failure for path in options.expect for failure in load(path).failures)
        return cls(options=options, cases=tuple(cases), expectations=Expectations(failures=failures))

    @property
    def profile(self) -> str:
        """Return the profile by which a client is judged."""
        return self.options.profile or NEWEST_PROFILE

    def run_config(self, cases: Sequence[Case], *, profile: str, jobs: int, shipped: Path | None) -> RunConfig:
        """Return the configuration of a run of `cases`; `shipped` are the subject's known failures if the user names no others."""
        options = self.options
        return RunConfig(
            cases=cases,
            profile=profile,
            level=options.level,
            seed=options.seed,
            jobs=jobs,
            command=["pytest", *sys.argv[1:]],
            timeout_s=options.timeout_s,
            fail_on=options.fail_on,
            expectations=self.expectations if options.expect or shipped is None else load(shipped),
        )

    def output(self, subject: SubjectInfo) -> Path:
        """Return the report's folder."""
        return self.options.output or Path("reports") / as_folder(f"{subject.name}-{subject.version}" if subject.version else str(subject.spec))


def _check_subject(options: PytestOptions) -> None:
    if options.side == "coordinator":
        subject_named(options.named, profile=options.profile)
    elif not options.program:
        try:
            check_profile(resolve(options.named), options.profile or NEWEST_PROFILE)
        except (UnknownClient, WrongPairing) as error:
            raise WrongUsage(f"{error}; a program that speaks the shim contract is written with its arguments: 'python shim.py'") from error
