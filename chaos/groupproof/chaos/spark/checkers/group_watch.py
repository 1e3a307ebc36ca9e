"""The state of a task that watches groups while their trace is written: the checkers, and the waiting observations. Pure.

Several writers seal their observations at their own pace, so these come slightly out of order. They wait until the watermark has passed them. It
stays `delay_ns` behind the newest instant. Then they go to the checkers in the order of `seq`. Later ones are counted as late, and not judged.
The watermark belongs to this trace, not to Spark's whole query: clocks of runs begin at 0, and a run that begins later is not late.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from groupproof.harness.judging.checkers.fleet import Fleet, touches_all, touches_connection
from groupproof.harness.judging.checkers.live_group import GroupResult
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation

__all__ = ["Alert", "WatchedGroups", "buckets_of"]

_NONE: Final = -1


def buckets_of(obs: Observation, buckets: int) -> range:
    """Return an observation's buckets: its group's for a group; all for a link or a node that may concern any group, otherwise none."""
    if obs.group is not None:
        at = crc32(f"{obs.run}\0{obs.group}".encode()) % buckets
        return range(at, at + 1)
    return range(buckets if touches_all(obs) or touches_connection(obs) else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A broken invariant or rule of a group, with its time; `is_proof` says that once is enough, otherwise it must occur repeatedly."""

    run: str
    group: str
    at_ns: int
    seq: int
    verdict: str
    requirement: str
    expected: str
    observed: str
    is_proof: bool


@dataclass(slots=True)
class WatchedGroups:
    """The groups of one bucket of one run. It is kept between batches, and can be pickled between them.

    `rows` counts the accepted observations, `late` the late ones. Only the first bucket counts observations of links and nodes, which go to every
    bucket.
    """

    delay_ns: int
    bucket: int = 0
    rows: int = 0
    late: int = 0
    _folded: int = 0
    _fleet: Fleet = field(default_factory=Fleet)
    _waiting: list[tuple[int, int, Observation]] = field(default_factory=list)
    _newest_ns: int = _NONE
    _released: int = _NONE

    def take(self, coming: Iterable[Observation]) -> list[Alert]:
        """Add new observations, in any order; return the alerts from those that the watermark has passed now."""
        for obs in coming:
            counts = obs.group is not None or self.bucket == 0
            if obs.seq < self._released:
                self.late += counts
                continue
            self.rows += counts
            self._folded += 1
            self._newest_ns = max(self._newest_ns, obs.at_ns)
            heapq.heappush(self._waiting, (obs.seq, self._folded, obs))
        return list(self._released_until(self.watermark_ns))

    def rest(self) -> list[Alert]:
        """Return the alerts from all waiting observations, because no more seem to come."""
        return list(self._released_until(self._newest_ns))

    def results(self) -> list[GroupResult]:
        """Return each group's results so far, as if nothing followed."""
        fleet: Fleet = pickle.loads(pickle.dumps(self._fleet))
        return list(fleet.results())

    @property
    def watermark_ns(self) -> int:
        return self._newest_ns - self.delay_ns

    @property
    def folded(self) -> int:
        """Return the number of accepted observations, those of links and nodes included."""
        return self._folded

    @property
    def waiting(self) -> int:
        """Return the number of observations that wait for the watermark."""
        return len(self._waiting)

    def _released_until(self, instant_ns: int) -> Iterator[Alert]:
        while self._waiting and self._waiting[0][2].at_ns <= instant_ns:
            self._released, _, obs = heapq.heappop(self._waiting)
            for group, finding in self._fleet.found(obs):
                yield _alert(obs, group, finding)


def _alert(obs: Observation, group: str, finding: Finding) -> Alert:
    return Alert(
        run=obs.run, group=group, at_ns=obs.at_ns, seq=obs.seq if finding.seq is None else finding.seq, verdict=finding.verdict.value,
        requirement=finding.requirement, expected=finding.expected, observed=finding.observed, is_proof=finding.proof is Proof.SAFETY,
    )  # fmt: skip
