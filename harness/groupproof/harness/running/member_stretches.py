"""Describes a stretch of steady exchanges member by member, as the checkers ask for it: its requests by API, and its commits by partition.

The numbers of all members are put in order at once. A member gets views of them, and no list, because most checkers read only the ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupproof.harness.judging.checkers.steady import BURST, CommittedOffsets, Steady, SteadyRequests
from groupproof.harness.running.steady_exchanges import Exchanges, Places, SteadyExchanges
from groupproof.protocol.trace_blocks import TraceBlock, slices_from
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["MemberStretches", "runs_of"]

_COMMITS: Final = frozenset({Api.OFFSET_COMMIT.title})
"""The requests whose offsets a checker may need."""

Committed = Mapping[TopicPartition, CommittedOffsets]


class MemberStretches:
    """The members in the exchanges of a block; raise `NoBlocks` where what they commit cannot be read."""

    def __init__(self, block: TraceBlock, steady: SteadyExchanges, exchanges: Exchanges) -> None:
        self._block, self._steady = block, steady
        self._at_ms = block.at_ns / 1e6
        self._commits = np.array([number for number, api in enumerate(steady.apis) if api in _COMMITS], np.int64)
        self._places = np.sort(exchanges.request[np.isin(exchanges.api, self._commits)])
        self._offsets = block.offsets(self._places)
        self._first = self._offsets.row.searchsorted(np.arange(len(self._places) + 1))

    def members(self, exchanges: Exchanges, under_way: Mapping[int, set[int]], *, end_ms: float) -> list[Steady]:
        """Return the members of a stretch that ends at `end_ms`. `under_way` has the APIs of exchanges that cross one of its ends, by requester."""
        asked = self._asked(exchanges)
        return [
            self._member(requester, asked.get(requester, {}), frozenset(self._steady.apis[api] for api in under_way.get(requester, ())), end_ms)
            for requester in dict.fromkeys((*asked, *under_way))
        ]

    def _member(self, requester: int, asked: dict[str, SteadyRequests], under_way: frozenset[str], end_ms: float) -> Steady:
        shape = self._steady.requesters[requester][1]
        assert shape.connection is not None
        assert shape.generation is not None
        last = max((requests.answer_places[-1] for requests in asked.values()), default=None)
        return Steady(
            client=shape.client or "", wire_client=shape.client or "", member=shape.member or "", connection=shape.connection,
            generation=shape.generation, instance=shape.instance, node=shape.node, apis=under_way.union(asked), end_ms=end_ms,
            last_ms=end_ms if last is None else float(self._at_ms[last]), asked=asked,
        )  # fmt: skip

    def _asked(self, exchanges: Exchanges) -> dict[int, dict[str, SteadyRequests]]:
        """Return the exchanges of each requester by API."""
        whole = exchanges.where(np.argsort(exchanges.requester * len(self._steady.apis) + exchanges.api, kind="stable"))
        request, response = whole.request, whole.response
        columns = [column.data for column in (
            request, response, self._block.seq[request], self._block.seq[response], self._at_ms[request], self._block.correlation[request],
        )]  # fmt: skip
        committed, found = self._committed(whole), dict[int, dict[str, SteadyRequests]]()
        runs = list(runs_of(whole.requester * len(self._steady.apis) + whole.api))
        for (begin, end), burst_ms in zip(runs, _bursts(self._at_ms[request], runs), strict=True):
            requester, api = int(whole.requester[begin]), int(whole.api[begin])
            places, answers, seqs, answer_seqs, at_ms, correlations = (column[begin:end] for column in columns)
            found.setdefault(requester, {})[self._steady.apis[api]] = SteadyRequests(
                places=places, answer_places=answers, seqs=seqs, answer_seqs=answer_seqs, at_ms=at_ms, correlations=correlations,
                burst_ms=burst_ms, committed=committed.get(requester, {}) if self._steady.apis[api] in _COMMITS else {},
            )  # fmt: skip
        return found

    def _committed(self, exchanges: Exchanges) -> dict[int, dict[TopicPartition, CommittedOffsets]]:
        """Return what each requester commits, by partition."""
        commits = exchanges.where(np.isin(exchanges.api, self._commits))
        named = self._places.searchsorted(commits.request)
        first, counts = self._first[named], self._first[named + 1] - self._first[named]
        request, entry = np.repeat(np.arange(len(commits)), counts), slices_from(first, counts)
        key = commits.requester[request] * len(self._offsets.partitions) + self._offsets.partition[entry]
        order = np.argsort(key, kind="stable")
        key, entry, request = key[order], entry[order], request[order]
        offsets, seqs = self._offsets.offset[entry], self._block.seq[commits.request[request]]
        falls = np.flatnonzero((np.diff(offsets) <= 0) & (np.diff(key) == 0))
        views = offsets.data, seqs.data
        found: dict[int, dict[TopicPartition, CommittedOffsets]] = {}
        for begin, end in runs_of(key):
            partition = self._offsets.partitions[int(self._offsets.partition[entry[begin]])]
            is_rising = int(falls.searchsorted(begin)) == int(falls.searchsorted(end - 1))
            found.setdefault(int(commits.requester[request[begin]]), {})[partition] = CommittedOffsets(
                offsets=views[0][begin:end], seqs=views[1][begin:end], is_rising=is_rising,
                highest=int(offsets[end - 1]) if is_rising else int(offsets[begin:end].max()),
            )  # fmt: skip
        return found


def _bursts(at_ms: NDArray[np.float64], runs: Sequence[tuple[int, int]]) -> list[float]:
    """Return for each run of requests the shortest time between one and that which is `BURST` requests later, infinity if there is none."""
    begins = np.array([begin for begin, _ in runs], np.int64)
    later_ms = np.full(len(at_ms), inf)
    later_ms[:-BURST] = at_ms[BURST:] - at_ms[:-BURST]
    for _, end in runs:
        later_ms[max(0, end - BURST) : end] = inf
    found: list[float] = np.minimum.reduceat(later_ms, begins).tolist() if runs else []
    return found


def runs_of(values: Places) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of each run of equal values."""
    edges = np.flatnonzero(np.diff(values)) + 1
    ends = [0, *edges.tolist(), len(values)] if len(values) else []
    yield from pairwise(ends)
