"""The cases as pytest items: one collector beside the files, one item per case, with the name that `groupproof list` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest

from groupproof.harness.commands.pytest_plugin.outcome_text import ItemOutcome, Kind
from groupproof.harness.model.case import Case

__all__ = ["NODE", "CaseItem", "Cases"]

NODE: Final = "groupproof"
"""The part before `::` in the items' node ids."""

OutcomeOf = Callable[[Case], ItemOutcome]


class Cases(pytest.Collector):
    """The cases of the session."""

    cases: tuple[Case, ...]
    outcome_of: OutcomeOf

    @classmethod
    def made(cls, session: pytest.Session, cases: Iterable[Case], outcome_of: OutcomeOf) -> Cases:
        collector: Cases = cls.from_parent(session, name=NODE, nodeid=NODE)
        collector.cases, collector.outcome_of = tuple(cases), outcome_of
        # A test explorer lists them under the file that requests them.
        collector.path = session.config.inipath or session.config.rootpath
        return collector

    def collect(self) -> Iterable[CaseItem]:
        for case in self.cases:
            yield CaseItem.made(self, case)


class CaseItem(pytest.Item):
    """One case; it reports the result of the background run."""

    case: Case
    outcome_of: OutcomeOf

    @classmethod
    def made(cls, parent: Cases, case: Case) -> CaseItem:
        item: CaseItem = cls.from_parent(parent, name=case.id)
        item.case, item.outcome_of = case, parent.outcome_of
        item.extra_keyword_matches.update(case.requirements)
        item.add_marker(pytest.mark.groupproof(side=case.side, level=case.level.value.lower()))
        return item

    def setup(self) -> None:
        """Wait for the case. A case without a result is an error and no failure."""
        self._outcome = self.outcome_of(self.case)
        if self._outcome.kind is Kind.ERROR:
            pytest.fail(self._outcome.text, pytrace=False)

    def runtest(self) -> None:
        outcome = self._outcome
        if outcome.kind is Kind.FAILED:
            pytest.fail(outcome.text, pytrace=False)
        if outcome.kind is Kind.SKIPPED:
            pytest.skip(outcome.text)
        if outcome.kind is Kind.EXPECTED:
            pytest.xfail(outcome.text)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
