from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.harness.running.still_group import Still
from tests.harness.running.test_block_reader import columns

from groupproof.harness.judging.checkers.live_group import GroupChecker
from groupproof.harness.judging.checkers.steady import Stretch
from groupproof.harness.running.block_stretches import BlockStretches, GroupRows
from groupproof.harness.running.steady_exchanges import SteadyExchanges
from groupproof.protocol.trace import Observation

KEY = ("", "", "g")


class Asked(GroupChecker):
    """Notes what it is fed, and says of stretches what it is to say."""

    def __init__(self, answers: Sequence[bool]) -> None:
        super().__init__(*KEY)
        self.answers, self.passed, self.rows = iter(answers), list[int](), list[int]()

    def feed(self, obs: Observation) -> list[object]:  # type: ignore[override]  # nothing is found here
        self.rows.append(obs.seq)
        return []

    def pass_over(self, stretch: Stretch) -> bool:
        if next(self.answers):
            self.passed.append(stretch.rows)
            self.rows += [obs.seq for _, obs in stretch.fed]
            return True
        return False

    def last_was(self, obs: Observation, *, is_newest: bool) -> None:
        self.rows.append(obs.seq)


def gone_through(mins: tuple[int, int], answers: Sequence[bool]) -> Asked:
    story = Still()
    story.trace.clear()
    story.beats("m0", 20, 100)
    (block,) = columns(story.trace, 1_000)
    steady = SteadyExchanges(block, lambda _: True, np.zeros(0, np.int64))
    checker = Asked(answers)
    groups: dict[tuple[str, str, str], GroupRows] = {}
    stretches = BlockStretches(block, steady, steady.exchanges, mins=mins)
    stretches.deal(groups, lambda _: checker)
    for group in groups.values():
        stretches.feed(group)
    return checker


def test_a_stretch_that_can_be_passed_over_is_fed_nowhere_but_at_its_end() -> None:
    checker = gone_through((1, 1), [True])

    assert (checker.passed, checker.rows) == ([40], [39])


def test_of_a_stretch_that_is_wanted_twice_as_many_rows_are_fed_before_it_is_asked_again() -> None:
    checker = gone_through((4, 1), [False, False, True])

    assert checker.passed == [28]
    assert checker.rows == [*range(12), 39]


@pytest.mark.parametrize("mins", [(41, 1), (1, 41)])
def test_a_short_stretch_is_fed_row_by_row(mins: tuple[int, int]) -> None:
    checker = gone_through(mins, [])

    assert checker.rows == list(range(40))
