"""The coordinator cases of KIP-848's protocol, by area."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer import (
    administration,
    assignments,
    classic_requests,
    epochs,
    group_settings,
    identified_topics,
    members,
    migration,
    migration_refusals,
    mixed_groups,
    mixed_states,
    moves,
    offsets,
    reconciliation,
    refusals,
    regexes,
    retention,
    shape,
    static,
    static_returns,
    subscriptions,
    timeouts,
)
from groupproof.harness.model.case import Case

__all__ = ["CASES"]

CASES: Final[tuple[Case, ...]] = (
    *shape.CASES,
    *epochs.CASES,
    *reconciliation.CASES,
    *subscriptions.CASES,
    *regexes.CASES,
    *assignments.CASES,
    *members.CASES,
    *timeouts.CASES,
    *static.CASES,
    *static_returns.CASES,
    *offsets.CASES,
    *identified_topics.CASES,
    *retention.CASES,
    *group_settings.CASES,
    *administration.CASES,
    *classic_requests.CASES,
    *mixed_groups.CASES,
    *mixed_states.CASES,
    *refusals.CASES,
    *migration.CASES,
    *migration_refusals.CASES,
    *moves.CASES,
)
"""Every case of the dialect, in the order in which reports list them."""
