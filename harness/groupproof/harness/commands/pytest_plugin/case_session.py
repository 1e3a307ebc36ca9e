"""One pytest session with cases: collects them, runs them with one queue per process, and reports once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from groupproof.harness.commands.pytest_plugin.case_queue import CaseQueue, SingleProcessQueue, WorkerQueue
from groupproof.harness.commands.pytest_plugin.items import NODE, CaseItem, Cases
from groupproof.harness.commands.pytest_plugin.outcome_text import ItemOutcome, item_outcome
from groupproof.harness.commands.pytest_plugin.pytest_options import options_of
from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
from groupproof.harness.commands.pytest_plugin.session_end import SessionEnd, closed
from groupproof.harness.commands.pytest_plugin.xdist_shares import SharedFolder
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import RunError

__all__ = ["CaseSession"]

_FOLDER: Final = "groupproof_folder"


@dataclass(slots=True, eq=False)
class CaseSession:
    """One process's part of the session. `folder` is where xdist workers meet; `worker` is this one's number and their count."""

    config: pytest.Config
    run_plan: RunPlan
    folder: Path | None = None
    worker: tuple[int, int] | None = None
    engine: CaseQueue | None = None
    closing: SessionEnd | None = None
    _cases: tuple[Case, ...] = ()

    @classmethod
    def of(cls, config: pytest.Config) -> CaseSession:
        """Return the session of a configuration; raise `UsageError` for wrong usage."""
        patterns = _pop_case_arguments(config)
        try:
            run_plan = RunPlan.of(options_of(config), patterns)
        except RunError as error:
            raise pytest.UsageError(f"groupproof: {error}") from error
        workerinput: dict[str, Any] | None = getattr(config, "workerinput", None)
        if workerinput is None:
            return cls(config, run_plan)
        folder, name = Path(workerinput[_FOLDER]), str(workerinput["workerid"])
        if config.getoption("dist", "no") == "each":
            folder = folder / name
            folder.mkdir()
            return cls(config, run_plan, folder, (0, 1))
        return cls(config, run_plan, folder, (int("".join(filter(str.isdigit, name)) or 0), int(workerinput["workercount"])))

    # Collecting

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the cases beside the files of the session."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            report.result = [*report.result, Cases.made(collector, self.run_plan.cases, self.outcome_of)]
        return report

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        selected = {item.case.id for item in session.items if isinstance(item, CaseItem)}
        self._cases = tuple(case for case in self.run_plan.cases if case.id in selected)

    # Running

    def outcome_of(self, case: Case) -> ItemOutcome:
        """Return the outcome of `case`, when it is known; the first call starts the run."""
        if self.engine is None:
            self.engine = self._engine()
        result = self.engine.wait(case)
        subject = self.engine.subject
        output = None if subject is None else self.run_plan.output(subject)
        return item_outcome(result, output, self.run_plan.options.fail_on, runs_xfail=bool(self.config.getoption("runxfail")))

    def _engine(self) -> CaseQueue:
        if self.folder is None or self.worker is None:
            return SingleProcessQueue(self.run_plan, self._cases)
        number, workers = self.worker
        return WorkerQueue(self.run_plan, self._cases, SharedFolder(self.folder), worker=number, workers=workers)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send an xdist worker the folder where workers meet."""
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="groupproof-pytest-"))
        node.workerinput[_FOLDER] = str(self.folder)

    # Reporting

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Stop running cases; the main process writes the report of all workers."""
        if self.engine is not None:
            self.engine.stop()
        if self.worker is not None:
            self._hand_over()
            return
        self.closing = closed(self.run_plan, self._cases, self.engine, self.folder)
        if self.closing is not None and self.closing.is_vacuous and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _hand_over(self) -> None:
        """Send the main process the selected cases, because it collects none itself."""
        assert self.folder is not None
        SharedFolder(self.folder).put("selected", [case.id for case in self._cases])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.closing is not None:
            self.closing.tell(terminalreporter)

    def pytest_unconfigure(self) -> None:
        """Clean up, however the session has ended."""
        if self.engine is not None:
            self.engine.stop()
        if self.worker is None and self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _pop_case_arguments(config: pytest.Config) -> list[str]:
    """Remove the cases' node ids from the arguments, because pytest would look for files, and return their names."""
    own = [argument for argument in config.args if argument.partition("::")[0] == NODE and not (config.invocation_params.dir / argument).exists()]
    if not own:
        return []
    config.args[:] = [argument for argument in config.args if argument not in own]
    named = [argument.partition("::")[2] for argument in own]
    return [] if "" in named else named
