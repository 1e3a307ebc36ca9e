"""An application that does not poll for max.poll.interval.ms: its member stops, and rejoins with the next poll (CGV-16 to CGV-20)."""

from __future__ import annotations

from groupproof.harness.cases.consumer.epoch_builders import INTERVAL_MS, LONG_MS, case, joined, plan, reconciled, rejoining, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_leave import comes_back_as, falls_silent, leaves_nothing_behind
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import gives_up_partitions
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import mark, passing, paused, resume

__all__ = ["CASES"]

_LIMIT_MS = 3_000
_TICK_MS = 1_500  # how often a client checks its poll deadline is its own choice, as in the classic cases


def _stopped(**settings: str) -> Plan:
    """Return a plan in which the application stops polling for longer than allowed, and then continues."""
    return plan(
        subject("m0", max_poll_interval_ms=_LIMIT_MS, **settings),
        *joined("m0"),
        *paused("m0", {"t": 2}),
        mark("stopped"),
        passing(_LIMIT_MS + _TICK_MS + 6 * INTERVAL_MS),
        mark("polls"),
        resume("m0"),
        rejoining("m0", after="polls"),
        reconciled("m0", after="polls", within_ms=LONG_MS, go_on=True),
        passing(300),
        session_ms=30_000,
    )


CASES: tuple[Case, ...] = (
    case(
        "poll/stopped",
        "A member whose application has not polled for too long stops heartbeating, and is back as the member it is with the next poll.",
        ("CGV-16", "CGV-20"),
        _stopped(),
        falls_silent("m0", after="stopped", until="polls", within_ms=_LIMIT_MS + _TICK_MS),
        comes_back_as("m0", after="polls", requirement="CGC-06", is_same_member=True),
        gives_up_partitions("m0", after="stopped", requirement="CGV-20", within_ms=_LIMIT_MS + LONG_MS),
        needs=["poll-deadline"],
    ),
    case(
        "poll/stopped-leaves",
        "A member whose application has not polled for too long leaves, so that others may have its partitions.",
        ("CGV-17",),
        _stopped(),
        leaves_nothing_behind("m0", after="stopped", until="polls"),
        needs=["poll-deadline"],
    ),
    case(
        "poll/stopped-static",
        "A static member whose application has not polled for too long stops heartbeating, and is back with the next poll.",
        ("CGV-16", "CGV-20"),
        _stopped(instance_id="one"),
        falls_silent("m0", after="stopped", until="polls", within_ms=_LIMIT_MS + _TICK_MS),
        comes_back_as("m0", after="polls", requirement="CGC-06", is_same_member=True),
        needs=["poll-deadline"],
    ),
)
