"""Which cases a shard runs: the selected cases, distributed by their past durations. Pure.

The longest case comes first, each to the shard with the least work (LPT, at most 4/3 of the optimum). Every case is in exactly one shard, whatever
the durations. The same cases and durations give the same shards, in any order of the input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import WrongUsage

__all__ = ["Share", "share_of", "split"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One of several parts of a run, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def read(cls, text: str) -> Share:
        """Return the share that `text` names, such as 1/4. Raise `ValueError` with the problem."""
        found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text.strip())
        if found is None:
            raise ValueError(f"{text!r} is no shard; write which of how many, such as 1/4")
        number, of = int(found[1]), int(found[2])
        if not 1 <= number <= of:
            raise ValueError(f"there is no shard {text}; shards are counted from 1 to how many there are")
        return cls(number=number, of=of)


def share_of(cases: Sequence[Case], share: Share, durations_s: Mapping[str, float]) -> list[Case]:
    """Return the cases of this share, in their order. Raise `WrongUsage` where there are more shards than cases, because one would run nothing."""
    if len(cases) < share.of:
        raise WrongUsage(f"--shard {share}: the selection has {len(cases)} cases, fewer than there are shards; take at most {len(cases)}")
    return split(cases, share.of, durations_s)[share.number - 1]


def split(cases: Sequence[Case], of: int, durations_s: Mapping[str, float]) -> list[list[Case]]:
    """Distribute the cases over `of` shards. A case without a past duration counts as long as its steps estimate."""
    cost = {case.id: _cost_ms(case, durations_s) for case in cases}
    loads, owner = [0] * of, dict[str, int]()
    for id in sorted(cost, key=lambda id: (-cost[id], id)):
        least = min(range(of), key=lambda number: (loads[number], number))
        loads[least] += cost[id]
        owner[id] = least
    return [[case for case in cases if owner[case.id] == number] for number in range(of)]


def _cost_ms(case: Case, durations_s: Mapping[str, float]) -> int:
    """Return the cost of a case in ms, at least 1, so that each shard gets a case before any gets its second."""
    past = durations_s.get(case.id)
    return max(1, length_ms(case) if past is None else round(past * 1000))
