"""What a task keeps of the groups that it watches while their trace is written: the checkers' folds, and what waits for its turn. Pure.

Several writers seal what they see at their own pace, so that observations come a little out of order. They wait until the watermark has passed them, which stays
`delay_ns` behind the newest instant that was seen, and then go to the folds in the order of `seq`. What comes when its turn is over is late: counted, and not judged.
The watermark is this trace's own, not one of Spark's for the whole query: runs have clocks that begin at 0, and one that begins later is not late.
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
    """Return where an observation goes: that of a group to the bucket of its group, that of a link or a node to each, where it is any group's at all."""
    if obs.group is not None:
        at = crc32(f"{obs.run}\0{obs.group}".encode()) % buckets
        return range(at, at + 1)
    return range(buckets if touches_all(obs) or touches_connection(obs) else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An invariant or a rule that a group has broken, when it was seen; `is_proof` says that once is enough, else it counts when it is seen often."""

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
    """The groups of one bucket of one run. It is kept between batches, and can be pickled between any two of them.

    `rows` is how many observations were taken, `late` how many came too late for that. What goes to each bucket, that of links and nodes, the first alone counts.
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
        """Take what has come, in any order; return what is found in all that the watermark has passed now."""
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
        """Return what is found in what still waits: nothing comes any more, as it seems."""
        return list(self._released_until(self._newest_ns))

    def results(self) -> list[GroupResult]:
        """Return what each group has shown so far, as if nothing followed."""
        fleet: Fleet = pickle.loads(pickle.dumps(self._fleet))
        return list(fleet.results())

    @property
    def watermark_ns(self) -> int:
        return self._newest_ns - self.delay_ns

    @property
    def folded(self) -> int:
        """Return how many observations were taken, those of links and nodes too."""
        return self._folded

    @property
    def waiting(self) -> int:
        """Return how many observations wait for the watermark."""
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
