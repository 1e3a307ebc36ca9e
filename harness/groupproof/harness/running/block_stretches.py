"""Finds each group's stretches of steady exchanges in a block, and feeds them to its checkers. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

import numpy as np

from groupproof.harness.judging.checkers.fleet import Key
from groupproof.harness.judging.checkers.live_group import GroupChecker
from groupproof.harness.judging.checkers.steady import Stretch
from groupproof.harness.running.member_stretches import MemberStretches, runs_of
from groupproof.harness.running.steady_exchanges import Exchanges, Flags, Places, SteadyExchanges
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_blocks import TraceBlock

__all__ = ["REQUESTER_ROWS_MIN", "STRETCH_ROWS_MIN", "BlockStretches", "GroupRows", "StretchRows"]

STRETCH_ROWS_MIN: Final = 48
REQUESTER_ROWS_MIN: Final = 4
"""The minimum rows of a stretch, and rows per requester in it. A shorter stretch is fed row by row: asking the checkers would cost as much."""
_PLACE_BITS: Final = 40
"""The bits of a place in a block. The number of the group stands above them."""

Fed = tuple[int, Observation]
_PLACE: Final = itemgetter(0)


@dataclass(slots=True, eq=False)
class StretchRows:
    """The exchanges of one group between two places. `under_way` has the APIs of exchanges that cross an end of the stretch, by requester."""

    begin: int
    end: int
    exchanges: Exchanges
    under_way: dict[int, set[int]]


@dataclass(slots=True, eq=False)
class GroupRows:
    """A group's part of a block: the rows to feed, with their places, and the stretches between them."""

    checker: GroupChecker
    fed: list[Fed] = field(default_factory=list)
    stretches: list[StretchRows] = field(default_factory=list)


class BlockStretches:
    """Splits the exchanges of a block into stretches and rows to feed, by group, and feeds a group both in their order."""

    def __init__(self, block: TraceBlock, steady: SteadyExchanges, exchanges: Exchanges, *, mins: tuple[int, int]) -> None:
        self._block, self._steady, self._exchanges, self._mins = block, steady, exchanges, mins
        self._at_ms = block.at_ns / 1e6
        keys = dict.fromkeys(key for key, _ in steady.requesters)
        self._keys = list(keys)
        numbers = {key: number for number, key in enumerate(keys)}
        self._group_of_requester = np.array([numbers[key] for key, _ in steady.requesters], np.int64)
        self._member_stretches = MemberStretches(block, steady, exchanges)

    # Dealing

    def deal(self, groups: dict[Key, GroupRows], checker_of: Callable[[Key], GroupChecker]) -> None:
        """Add each group's stretches to `groups`, which has the groups with rows to feed. Exchanges outside a long stretch become such rows."""
        exchanges = self._exchanges
        if not len(exchanges):
            return
        for requester in np.unique(exchanges.requester).tolist():
            key = self._steady.requesters[requester][0]
            if key not in groups:
                groups[key] = GroupRows(checker_of(key))
        ends, group_of_end, place_of_end = self._ends(groups)
        first, last = (
            ends.searchsorted(self._ranked(rows, exchanges.requester), side="right") - 1 for rows in (exchanges.request, exchanges.response)
        )
        within, beyond = np.flatnonzero(first == last), np.flatnonzero(first != last)
        order = within[np.argsort(first[within], kind="stable")]
        inside, stretch = exchanges.where(order), first[order]
        is_long = self._are_long(inside, stretch)
        for some in (inside.where(~is_long), exchanges.where(beyond)):
            self._feed_also(groups, some)
        under_way = self._under_way(exchanges, beyond, first, last)
        inside, stretch = inside.where(is_long), stretch[is_long]
        for begin, end in runs_of(stretch):
            number = int(stretch[begin])
            rows = groups[self._keys[int(group_of_end[number])]]
            until = int(place_of_end[number + 1]) if number + 1 < len(ends) and group_of_end[number + 1] == group_of_end[number] else len(self._at_ms)
            rows.stretches.append(StretchRows(int(place_of_end[number]), until, inside.where(slice(begin, end)), under_way.get(number, {})))

    def _ends(self, groups: dict[Key, GroupRows]) -> tuple[Places, Places, Places]:
        """Return the stretches' starts, before the block and at each row to feed, as sorted keys of group and place; and the groups and places."""
        places = [[-1, *dict.fromkeys(place for place, _ in groups[key].fed)] if key in groups else [-1] for key in self._keys]
        group = np.repeat(np.arange(len(places)), [len(some) for some in places])
        place = np.concatenate([np.array(some, np.int64) for some in places])
        return (group << _PLACE_BITS) + place + 1, group, place

    def _ranked(self, places: Places, requesters: Places) -> Places:
        return (self._group_of_requester[requesters] << _PLACE_BITS) + places + 1

    def _are_long(self, inside: Exchanges, stretch: Places) -> Flags:
        """Return for each exchange whether its stretch is long enough to ask the checkers."""
        number = np.cumsum(np.append(False, np.diff(stretch) != 0)) if len(stretch) else stretch
        is_requester_first = np.append(True, (np.diff(stretch) != 0) | (np.diff(inside.requester) != 0))[: len(stretch)]
        rows = np.bincount(number, weights=2 + (inside.processed >= 0))
        requesters = np.bincount(number, weights=is_requester_first)
        return ((rows >= self._mins[0]) & (rows >= self._mins[1] * requesters))[number]

    def _feed_also(self, groups: dict[Key, GroupRows], exchanges: Exchanges) -> None:
        """Add the rows of exchanges to the rows to feed, at their places."""
        changed: dict[Key, GroupRows] = {}
        for place, obs in self._rows_of(exchanges):
            key = self._steady.group_at(place)
            changed[key] = groups[key]
            groups[key].fed.append((place, obs))
        for rows in changed.values():
            rows.fed.sort(key=_PLACE)

    def _rows_of(self, exchanges: Exchanges) -> list[Fed]:
        """Return the rows of exchanges in their order."""
        places = exchanges.rows()
        return list(zip(places.tolist(), self._block.observations(places), strict=True))

    def _under_way(self, exchanges: Exchanges, beyond: Places, first: Places, last: Places) -> dict[int, dict[int, set[int]]]:
        found: dict[int, dict[int, set[int]]] = {}
        some = exchanges.where(beyond)
        for ends in (first[beyond], last[beyond]):
            for number, requester, api in zip(ends.tolist(), some.requester.tolist(), some.api.tolist(), strict=True):
                found.setdefault(number, {}).setdefault(requester, set()).add(api)
        return found

    # Feeding

    def feed(self, group: GroupRows) -> None:
        """Feed a group its rows and stretches of the block."""
        coming, last = iter(group.fed), -1
        ahead: Fed | None = next(coming, None)
        for stretch in group.stretches:
            within: list[Fed] = []
            while ahead is not None and ahead[0] < stretch.end:
                if ahead[0] <= stretch.begin:
                    group.checker.feed(ahead[1])
                else:
                    within.append(ahead)
                ahead = next(coming, None)
            self._pass(group.checker, stretch, within)
            last = int(stretch.exchanges.response.max())
        while ahead is not None:
            group.checker.feed(ahead[1])
            ahead = next(coming, None)
        if last > max((place for place, obs in group.fed if obs.group is not None), default=-1):
            group.checker.last_was(self._block.observations(np.array([last]))[0], is_newest=last > max((place for place, _ in group.fed), default=-1))

    def _pass(self, checker: GroupChecker, stretch: StretchRows, within: list[Fed]) -> None:
        """Pass over a stretch. Where the group refuses, feed it some rows, which may be all it lacked, and ask again for the rest."""
        exchanges, some = stretch.exchanges, max(1, self._mins[0])
        while len(exchanges) and not self._is_passed(checker, stretch, exchanges, within):
            places = exchanges.rows()
            until = int(places[some]) if some < len(places) else stretch.end
            goes = exchanges.request < until
            within = sorted([*within, *self._rows_of(exchanges.where(goes))], key=_PLACE)
            for requester, api in zip(exchanges.requester[goes].tolist(), exchanges.api[goes].tolist(), strict=True):
                stretch.under_way.setdefault(requester, set()).add(api)
            rest = bisect_left(within, until, key=_PLACE)
            for _, obs in within[:rest]:
                checker.feed(obs)
            exchanges, some, within = exchanges.where(~goes), some * 2, within[rest:]
        if not len(exchanges):
            for _, obs in within:
                checker.feed(obs)

    def _is_passed(self, checker: GroupChecker, stretch: StretchRows, exchanges: Exchanges, within: list[Fed]) -> bool:
        ticks = np.sort(np.concatenate([exchanges.request, exchanges.response]))
        at_ms = self._at_ms[ticks]
        if (np.diff(at_ms) < 0).any():
            return False
        return checker.pass_over(
            Stretch(
                members=self._member_stretches.members(exchanges, stretch.under_way, end_ms=float(at_ms[-1])),
                rows=exchanges.row_count,
                places=ticks.data,
                at_ms=at_ms.data,
                fed=within,
                read=lambda places: self._block.observations(np.array(places, np.int64)),
            )
        )
