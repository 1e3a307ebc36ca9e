"""The themes of drawn plans: a fault on one request in one phase of a membership. Pure.

A run uses all themes before any repeats, so that none is left to chance: errors first, faults on frames later, each in an order shuffled by the
seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from groupproof.harness.model.plan import Arm, Plan
from groupproof.harness.running.fuzzing.plans.random_faults import Kind, codes_of, may_end_client
from groupproof.protocol.faults import Action, Answer
from groupproof.protocol.rules import profile
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["Phase", "Theme", "theme_of", "themes_of"]


class Phase(Enum):
    """The phase of a membership: settled, or while the answer to the member's JoinGroup or SyncGroup is held."""

    SETTLED = "settled"
    JOINING = "joining"
    SYNCING = "syncing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """One fault of one request in one phase; `code` is the error where the fault is an answer."""

    api: Api
    phase: Phase
    kind: Kind
    code: int | None = None

    def has_acted(self, plan: Plan, trace: Trace) -> bool:
        """Return whether the fault acted on its request when the plan ran."""
        faults = [step.fault for step in plan.steps if isinstance(step, Arm)]
        names = {fault.name for fault in faults if fault.selector.api == self.api.title and self._has_action(fault.action)}
        return any(obs.kind == "fault" and obs.detail == "delivered" and obs.fault in names for obs in trace)

    def _has_action(self, action: Action) -> bool:
        return action.kind == self.kind.value and (not isinstance(action, Answer) or action.error_code == self.code)


_SETTLED: Final = (Phase.SETTLED,)
_PHASES_OF_REQUESTS: Final = {
    Api.JOIN_GROUP: _SETTLED,
    Api.SYNC_GROUP: _SETTLED,
    Api.HEARTBEAT: tuple(Phase),
    Api.OFFSET_COMMIT: tuple(Phase),
    Api.OFFSET_FETCH: _SETTLED,
    Api.FIND_COORDINATOR: _SETTLED,
    Api.LEAVE_GROUP: (Phase.SETTLED, Phase.JOINING),
}
"""The requests that a member may send, and the phases in which it may send them."""

_WITHOUT_THEME_ONE_IN: Final = 3


def theme_of(number: int, *, profile_name: str, seed: int) -> Theme | None:
    """Return the theme of a plan's number (from 0); None for every third plan, which is drawn without one."""
    if number % _WITHOUT_THEME_ONE_IN == _WITHOUT_THEME_ONE_IN - 1:
        return None
    at = number - number // _WITHOUT_THEME_ONE_IN
    themes = themes_of(profile_name)
    return _shuffled(profile_name, f"{seed}/{at // len(themes)}")[at % len(themes)]


@cache
def themes_of(profile_name: str) -> tuple[Theme, ...]:
    """Return all themes under a release's rules; errors that may end a client occur only in settled members."""
    return tuple(_themes(profile_name))


def _themes(profile_name: str) -> Iterator[Theme]:
    for api, phases in _PHASES_OF_REQUESTS.items():
        for phase in phases:
            for code in codes_of(api, profile(profile_name)):
                if phase is Phase.SETTLED or not may_end_client(api, code):
                    yield Theme(api=api, phase=phase, kind=Kind.ANSWER, code=code)
            yield from (Theme(api=api, phase=phase, kind=kind) for kind in Kind if kind is not Kind.ANSWER)


@cache
def _shuffled(profile_name: str, key: str) -> tuple[Theme, ...]:
    return tuple(sorted(themes_of(profile_name), key=lambda theme: (_rank(theme), hashlib.sha256(f"{key}/{theme}".encode()).digest())))


def _rank(theme: Theme) -> int:
    """Return the order of a theme: clients differ most in their reactions to errors, above all to those that they have to survive."""
    if theme.code is None or may_end_client(theme.api, theme.code):
        return 2
    return 0 if theme.phase is Phase.SETTLED else 1
