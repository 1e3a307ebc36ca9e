"""Finds the steady exchanges in a block of a trace: a request and its answer without error, of a member that names a generation or an epoch.

Checkers may need no row of them (`judging/checkers/steady.py`). This needs numpy from `groupproof[spark]`; only readers of blocks import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from groupproof.harness.judging.checkers.fleet import Key
from groupproof.harness.judging.checkers.listening_checker import SPEAKERS
from groupproof.harness.judging.checkers.tracking.reader_registry import epoch_apis, steady_apis
from groupproof.protocol.trace_blocks import NO_CORRELATION, RowShape, TraceBlock

__all__ = ["Exchanges", "Flags", "Places", "Requester", "SteadyExchanges"]

_REQUEST, _PROCESSED, _RESPONSE = 1, 2, 3
_ROLES: Final = {"request": _REQUEST, "processed": _PROCESSED, "response": _RESPONSE}
_NOTHING: Final = -1

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
Requester = tuple[Key, RowShape]
"""The requesting member: its group, and the fields that all its rows share."""


@dataclass(frozen=True, slots=True, eq=False)
class Exchanges:
    """Exchanges by requester, in their order: the places of their rows, their requesters and their APIs."""

    request: Places
    processed: Places
    response: Places
    requester: Places
    api: Places

    def where(self, which: Any) -> Exchanges:
        return Exchanges(self.request[which], self.processed[which], self.response[which], self.requester[which], self.api[which])

    def rows(self) -> Places:
        """Return the places of all rows, in order."""
        return np.sort(np.concatenate([self.request, self.processed[self.processed != _NOTHING], self.response]))

    @property
    def row_count(self) -> int:
        return 2 * len(self.request) + int(np.count_nonzero(self.processed != _NOTHING))

    def __len__(self) -> int:
        return len(self.request)


class SteadyExchanges:
    """The steady exchanges of a block, with requesters and APIs by number. `may` selects the shapes; rows in `barred` belong to no exchange."""

    def __init__(self, block: TraceBlock, may: Callable[[RowShape], bool], barred: Places) -> None:
        self._block = block
        requesters: dict[Requester, int] = {}
        apis: dict[str, int] = {}
        members: dict[RowShape, int] = {}
        self._role, self._requester, self._member, self._api = (np.full(len(block.shapes), _NOTHING, np.int64) for _ in range(4))
        for place, shape in enumerate(block.shapes):
            if (requester := _requester_of(shape)) is not None and may(shape):
                self._role[place] = _ROLES[shape.kind]
                self._requester[place] = requesters.setdefault(requester, len(requesters))
                self._member[place] = members.setdefault(requester[1]._replace(instance=None), len(members))
                self._api[place] = apis.setdefault(shape.api or "", len(apis))
        self.requesters, self.apis = list(requesters), list(apis)
        self.exchanges = self._found(barred)

    def group_at(self, place: int) -> Key:
        """Return the group of a row that belongs to an exchange."""
        return self.requesters[int(self._requester[self._block.shape[place]])][0]

    def _found(self, barred: Places) -> Exchanges:
        block = self._block
        member = self._member[block.shape]
        member[barred] = _NOTHING
        member[block.correlation == NO_CORRELATION] = _NOTHING
        rows = np.flatnonzero(member != _NOTHING)
        rows = rows[_by_member(member[rows], block.correlation[rows])]
        complete = self._complete(rows, member[rows])
        return _one_after_another(complete.where(self._say_nothing_new(complete)) if len(complete) else complete)

    def _say_nothing_new(self, found: Exchanges) -> Flags:
        """Return for each exchange whether its bodies say that nothing changed. A response counts only where its API may assign partitions."""
        says_nothing = np.ones(len(found), np.bool_)
        for number, api in enumerate(self.apis):
            some = np.flatnonzero(found.api == number)
            rows = [found.request[some], found.response[some]] if api in epoch_apis() else [found.request[some]]
            for places in rows:
                says_nothing[some] &= self._block.are_bare(places, steady_apis()[api])
            if api in epoch_apis():
                says_nothing[some] &= ~(self._block.name_partitions(rows[0]) | self._block.name_partitions(rows[1]))
        return says_nothing

    def _complete(self, rows: Places, member: Places) -> Exchanges:
        """Return the exchanges that have all rows of their correlation: the request, its answer and, if recorded, when the coordinator processed it.

        An answer need not name the instance, and no reader uses the answer's own. The request says which member the exchange belongs to.
        """
        role, api, number = self._role[self._block.shape[rows]], self._api[self._block.shape[rows]], self._block.correlation[rows]
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = (np.diff(member) != 0) | (np.diff(number) != 0)
        first = np.flatnonzero(is_first)
        length = np.diff(np.append(first, len(rows)))
        last = first + length - 1
        middle = np.minimum(first + 1, last)
        has_ends = (role[first] == _REQUEST) & (role[last] == _RESPONSE) & (api[first] == api[last]) & (api[first] == api[middle])
        is_triple = (length == 3) & (role[middle] == _PROCESSED)
        good = has_ends & ((length == 2) | is_triple)  # equal keys stay in the order of the rows
        processed = np.where(is_triple, rows[middle], _NOTHING)
        requester = self._requester[self._block.shape[rows[first][good]]]
        found = Exchanges(rows[first][good], processed[good], rows[last][good], requester, api[first][good])
        return found.where(np.argsort(requester, kind="stable"))


def _by_member(member: Places, correlation: Places) -> Places:
    """Return the order of rows by member and correlation. Members number their requests, so that their rows mostly are in order already."""
    order = member.astype(np.min_scalar_type(int(member.max(initial=0)))).argsort(kind="stable")  # numpy sorts short numbers much faster
    is_in_order = (np.diff(correlation[order]) >= 0) | (np.diff(member[order]) != 0)
    return order if is_in_order.all() else np.lexsort((correlation, member))


def _requester_of(shape: RowShape) -> Requester | None:
    """Return the requester of a row's possible steady exchange; None if it cannot be part of one. A member epoch becomes the generation, as in commits."""
    is_frame = shape.kind in _ROLES and shape.who not in SPEAKERS and shape.api in steady_apis() and not shape.error
    is_named = shape.client is not None and shape.connection is not None and bool(shape.member)
    if not is_frame or not is_named or shape.group is None:
        return None
    requester = shape._replace(kind="", api=None, error=None)
    if shape.api in epoch_apis():
        is_member = shape.generation is None and (shape.member_epoch or 0) > 0
        requester = requester._replace(generation=shape.member_epoch, member_epoch=None) if is_member else requester._replace(generation=None)
    return None if requester.generation is None or requester.generation < 0 else ((shape.run, shape.case, shape.group), requester)


def _one_after_another(found: Exchanges) -> Exchanges:
    """Leave out requests that a member sent before the answer to its previous one, and those previous requests too."""
    while len(found) > 1:
        overlaps = (found.requester[1:] == found.requester[:-1]) & (found.request[1:] < found.response[:-1])
        if not overlaps.any():
            break
        found = found.where(~(np.append(overlaps, False) | np.append(False, overlaps)))
    return found
