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
    tell: OutcomeOf

    @classmethod
    def made(cls, session: pytest.Session, cases: Iterable[Case], tell: OutcomeOf) -> Cases:
        collector: Cases = cls.from_parent(session, name=NODE, nodeid=NODE)
        collector.cases, collector.tell = tuple(cases), tell
        # A test explorer lists them under the file that requests them.
        collector.path = session.config.inipath or session.config.rootpath
        return collector

    def collect(self) -> Iterable[CaseItem]:
        for case in self.cases:
            yield CaseItem.made(self, case)


class CaseItem(pytest.Item):
    """One case; it reports the result of the background run."""

    case: Case
    tell: OutcomeOf

    @classmethod
    def made(cls, parent: Cases, case: Case) -> CaseItem:
        item: CaseItem = cls.from_parent(parent, name=case.id)
        item.case, item.tell = case, parent.tell
        item.extra_keyword_matches.update(case.requirements)
        item.add_marker(pytest.mark.groupproof(side=case.side, level=case.level.value.lower()))
        return item

    def setup(self) -> None:
        """Wait for the case. A case without a result is an error and no failure."""
        self._saying = self.tell(self.case)
        if self._saying.kind is Kind.ERROR:
            pytest.fail(self._saying.text, pytrace=False)

    def runtest(self) -> None:
        saying = self._saying
        if saying.kind is Kind.FAILED:
            pytest.fail(saying.text, pytrace=False)
        if saying.kind is Kind.SKIPPED:
            pytest.skip(saying.text)
        if saying.kind is Kind.EXPECTED:
            pytest.xfail(saying.text)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
