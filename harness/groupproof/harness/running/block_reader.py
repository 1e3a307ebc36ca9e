"""A trace read in blocks: most rows are passed over where the checkers want none of them, and what comes out is what comes out row by row.

Rows that are of no steady exchange are made observations and dealt to their groups, as all rows are elsewhere. Between two of them a group has a stretch of steady
exchanges, of which it is asked whether it can be passed over (`GroupChecker.pass_over`); where it cannot, it is fed row by row, and asked again after that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np

from groupproof.harness.judging.checkers.fleet import Key
from groupproof.harness.judging.checkers.live_group import GroupChecker
from groupproof.harness.running.block_stretches import SEAT_ROWS_MIN, STRETCH_ROWS_MIN, BlockStretches, GroupRows
from groupproof.harness.running.steady_exchanges import Exchanges, Places, SteadyExchanges
from groupproof.harness.running.trace_reader import HEAD_ROWS, RunKey, TraceReader, is_whole, tells_whole
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_blocks import RowShape, TraceBlock

__all__ = ["BlockReader", "GroupBlocks", "OutOfOrder"]


class OutOfOrder(Exception):
    """A row came after one with a higher `seq`: the trace is to be read in another way."""


class BlockReader(TraceReader):
    """Takes the blocks of one trace in their order; raise `OutOfOrder`."""

    def __init__(self, cases: Collection[str], *, mins: tuple[int, int] = (STRETCH_ROWS_MIN, SEAT_ROWS_MIN), head_rows: int = HEAD_ROWS) -> None:
        super().__init__(cases, head_rows=head_rows)
        self._mins = mins
        self._newest = -1
        self._place = 0
        self._groups: dict[Key, GroupRows] = {}

    def take_blocks(self, blocks: Iterable[TraceBlock]) -> None:
        """Take all blocks of the trace."""
        for block in blocks:
            self._block(block)
        self._finish()
        for group in self._groups.values():
            for _, obs in group.fed:
                group.checker.feed(obs)

    def _block(self, block: TraceBlock) -> None:
        if not len(block.seq):
            return
        if block.seq[0] < self._newest or (np.diff(block.seq) < 0).any():
            raise OutOfOrder
        steady = SteadyExchanges(block, self._may(block), np.concatenate([twins_in(block, self._newest), *self._heads_in(block)]))
        self._newest = int(block.seq[-1])
        exchanges = steady.exchanges.where(self._are_known(steady))
        for place, obs in rows_beside(block, exchanges):
            self._place = place
            self._add(obs)
        stretches = BlockStretches(block, steady, exchanges, mins=self._mins)
        stretches.deal(self._groups, self.fleet.checker_of)
        for group in self._groups.values():
            stretches.feed(group)
        self._groups.clear()

    # Which rows ----------------------------------------------------------------------------------------------------------------------

    def _heads_in(self, block: TraceBlock) -> Iterator[Places]:
        """Yield the rows of new runs by which it is known what they are; all of them where it is not known yet, or where they are judged whole."""
        runs: dict[RunKey, list[int]] = {}
        is_of_kit = np.array([shape.who == "kit" for shape in block.shapes], np.bool_)
        for place, shape in enumerate(block.shapes):
            runs.setdefault((shape.run, shape.case), []).append(place)
        for key, shapes in runs.items():
            if key not in self._live and not self._is_whole(key):
                lacks = self._head_rows - len(self._heads.get(key, ()))
                rows = np.flatnonzero(np.isin(block.shape, shapes))
                head = rows[:lacks]
                tells = any(tells_whole(obs) for obs in block.observations(head[is_of_kit[block.shape[head]]]))
                yield rows if len(head) < lacks or tells else head

    def _is_whole(self, key: RunKey) -> bool:
        return key in self.whole or is_whole(key[1], self._cases)

    def _may(self, block: TraceBlock) -> Callable[[RowShape], bool]:
        """Return what tells of a shape whether its rows may be passed over: those of a run that is judged whole may not, nor those of a connection that ends."""
        stays = stays_open(block)
        return lambda shape: not self._is_whole((shape.run, shape.case)) and stays(shape)

    def _are_known(self, steady: SteadyExchanges) -> Places:
        """Tell of the exchanges whether their group was spoken of on their connection before: the first of others are fed, so that it is."""
        is_known = np.ones(len(steady.exchanges), np.bool_)
        seats, first = np.unique(steady.exchanges.seat, return_index=True)
        for seat, place in zip(seats.tolist(), first.tolist(), strict=True):
            key, shape = steady.seats[seat]
            is_known[place] = self.fleet.knows(key, shape.connection)
        return np.flatnonzero(is_known)

    # Groups --------------------------------------------------------------------------------------------------------------------------

    def _feed(self, obs: Observation) -> None:
        for key, checker in self.fleet.deal(obs):
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = GroupRows(checker)
            group.fed.append((self._place, obs))


class GroupBlocks:
    """Takes the blocks of one group, those of links and nodes that touch it among them, in the order of `seq`."""

    def __init__(self, checker: GroupChecker, *, mins: tuple[int, int] = (STRETCH_ROWS_MIN, SEAT_ROWS_MIN)) -> None:
        self._checker, self._mins, self._newest = checker, mins, -1

    def take(self, block: TraceBlock) -> None:
        if len(block.seq) < self._mins[0]:
            for obs in block.observations(np.arange(len(block.seq))):
                self._checker.feed(obs)
        else:
            steady = SteadyExchanges(block, stays_open(block), twins_in(block, self._newest))
            group = GroupRows(self._checker, list(rows_beside(block, steady.exchanges)))
            stretches = BlockStretches(block, steady, steady.exchanges, mins=self._mins)
            stretches.deal({key: group for key, _ in steady.seats}, lambda _: self._checker)
            stretches.feed(group)
        self._newest = int(block.seq[-1]) if len(block.seq) else self._newest


def twins_in(block: TraceBlock, newest: int) -> Places:
    """Return the rows that may be there twice: each is compared with the one that was fed before it."""
    twins = np.flatnonzero(np.diff(block.seq) == 0)
    return np.concatenate([twins, twins + 1, np.flatnonzero(block.seq[:1] == newest)])


def stays_open(block: TraceBlock) -> Callable[[RowShape], bool]:
    """Return what tells of a shape whether its connection goes on: of one that something befalls in the block all rows are fed."""
    linked = {(shape.run, shape.case, shape.connection) for shape in block.shapes if shape.who == "link"}
    return lambda shape: (shape.run, shape.case, shape.connection) not in linked


def rows_beside(block: TraceBlock, exchanges: Exchanges) -> Iterator[tuple[int, Observation]]:
    """Yield the rows that are of none of these exchanges, with their places."""
    is_beside = np.ones(len(block.seq), np.bool_)
    is_beside[exchanges.rows()] = False
    places = np.flatnonzero(is_beside)
    yield from zip(places.tolist(), block.observations(places), strict=True)
