"""Groups with many members: one rebalance brings all of them to Stable, and each gets one answer."""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import Steps, alone, case, passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import ScriptStep
from groupproof.harness.model.script_builders import answered, beat, join, joined, leave, sync

__all__ = ["CASES"]

_PATIENT: Final[dict[str, Any]] = {"session_timeout_ms": 110_000, "rebalance_timeout_ms": 110_000}
_WITHIN_MS: Final = 30_000
_DIRECT: Final = 2
"""A version of JoinGroup that every release supports, without the extra round for the member id: a thousand rounds take too long."""


def _crowd(count: int) -> tuple[str, ...]:
    return tuple(f"m{number}" for number in range(count))


def _stable(members: tuple[str, ...], **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring the members to Stable: the first leads, the others join one by one, the leader's second join ends the phase, and all sync."""
    leader, *others = members
    steps: list[ScriptStep] = list(alone(leader, **_PATIENT, **overrides))
    for other in others:
        steps += joined(other, **_PATIENT, settles=False, **overrides)
    # A busy broker needs a while to process many joins.
    steps += [passing(500 + 3 * len(members)), join(leader, **_PATIENT)]
    steps += [answered(f"join {member}", code=0, within_ms=_WITHIN_MS) for member in members]
    steps += [sync(name, wait=False, settles=False) for name in others]
    steps.append(sync(leader, {member: [("t", index)] for index, member in enumerate(members)}, code=0, within_ms=_WITHIN_MS))
    steps += [answered(f"sync {name}", code=0, within_ms=_WITHIN_MS) for name in others]
    return tuple(steps)


def _many(count: int, *more: Steps, required: bool = True, **options: Any) -> Case:
    members = _crowd(count)
    return case(
        f"many/{count}-members",
        f"brings {count} members to Stable in one rebalance, and answers each of them once",
        ("JOIN-13", "JOIN-14", "SYNC-12", "SYNC-13", "INV-08", "INV-09"),
        _stable(members, **options),
        *(beat(name, code=0) for name in (members[0], members[count // 2], members[-1])),
        *more,
        required=required,
    )


CASES: tuple[Case, ...] = (_many(10, leave("m9", code=0), beat("m0", code=27)), _many(100), _many(1_000, required=False, version=_DIRECT))
