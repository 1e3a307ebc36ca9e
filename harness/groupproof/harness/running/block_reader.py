"""Reads a trace in blocks and skips most rows that the checkers do not need. The results are the same as row by row.

Rows outside steady exchanges become observations and go to their groups, as all rows do in `TraceReader`. The steady exchanges between two such
rows form a stretch of a group. The reader asks the group whether it can pass over the stretch (`GroupChecker.pass_over`). If not, it feeds some rows
and asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np

from groupproof.harness.judging.checkers.fleet import Key
from groupproof.harness.judging.checkers.live_group import GroupChecker
from groupproof.harness.running.block_stretches import REQUESTER_ROWS_MIN, STRETCH_ROWS_MIN, BlockStretches, GroupRows
from groupproof.harness.running.steady_exchanges import Exchanges, Places, SteadyExchanges
from groupproof.harness.running.trace_reader import HEAD_ROWS, RunKey, TraceReader, is_whole, tells_whole
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_blocks import RowShape, TraceBlock

__all__ = ["BlockReader", "GroupBlocks", "OutOfOrder"]


class OutOfOrder(Exception):
    """A row came after a row with a higher `seq`: the trace has to be read row by row."""


class BlockReader(TraceReader):
    """Reads the blocks of one trace in their order; raise `OutOfOrder`."""

    def __init__(self, cases: Collection[str], *, mins: tuple[int, int] = (STRETCH_ROWS_MIN, REQUESTER_ROWS_MIN), head_rows: int = HEAD_ROWS) -> None:
        super().__init__(cases, head_rows=head_rows)
        self._mins = mins
        self._newest = -1
        self._place = 0
        self._groups: dict[Key, GroupRows] = {}

    def take_blocks(self, blocks: Iterable[TraceBlock]) -> None:
        """Read all blocks of the trace."""
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
        """Yield the first rows of new runs, which show how the run is judged; all rows of a run that is too short to show it or is judged whole."""
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
        """Return the predicate of shapes whose rows may be passed over: not those of a run judged whole, nor of a connection with a link event."""
        stays = stays_open(block)
        return lambda shape: not self._is_whole((shape.run, shape.case)) and stays(shape)

    def _are_known(self, steady: SteadyExchanges) -> Places:
        """Return the exchanges whose group already has a row on their connection. Of the others the first is fed, so that the group gets one."""
        is_known = np.ones(len(steady.exchanges), np.bool_)
        requesters, first = np.unique(steady.exchanges.requester, return_index=True)
        for requester, place in zip(requesters.tolist(), first.tolist(), strict=True):
            key, shape = steady.requesters[requester]
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
    """Reads the blocks of one group in the order of `seq`. Rows of links and nodes that touch the group are among them."""

    def __init__(self, checker: GroupChecker, *, mins: tuple[int, int] = (STRETCH_ROWS_MIN, REQUESTER_ROWS_MIN)) -> None:
        self._checker, self._mins, self._newest = checker, mins, -1

    def take(self, block: TraceBlock) -> None:
        if len(block.seq) < self._mins[0]:
            for obs in block.observations(np.arange(len(block.seq))):
                self._checker.feed(obs)
        else:
            steady = SteadyExchanges(block, stays_open(block), twins_in(block, self._newest))
            group = GroupRows(self._checker, list(rows_beside(block, steady.exchanges)))
            stretches = BlockStretches(block, steady, steady.exchanges, mins=self._mins)
            stretches.deal({key: group for key, _ in steady.requesters}, lambda _: self._checker)
            stretches.feed(group)
        self._newest = int(block.seq[-1]) if len(block.seq) else self._newest


def twins_in(block: TraceBlock, newest: int) -> Places:
    """Return the rows that may be duplicates. Each is fed, because it has to be compared with the row before it."""
    twins = np.flatnonzero(np.diff(block.seq) == 0)
    return np.concatenate([twins, twins + 1, np.flatnonzero(block.seq[:1] == newest)])


def stays_open(block: TraceBlock) -> Callable[[RowShape], bool]:
    """Return the predicate of shapes whose connection has no link event in the block. All rows of the other connections are fed."""
    linked = {(shape.run, shape.case, shape.connection) for shape in block.shapes if shape.who == "link"}
    return lambda shape: (shape.run, shape.case, shape.connection) not in linked


def rows_beside(block: TraceBlock, exchanges: Exchanges) -> Iterator[tuple[int, Observation]]:
    """Yield the rows outside these exchanges, with their places."""
    is_beside = np.ones(len(block.seq), np.bool_)
    is_beside[exchanges.rows()] = False
    places = np.flatnonzero(is_beside)
    yield from zip(places.tolist(), block.observations(places), strict=True)
