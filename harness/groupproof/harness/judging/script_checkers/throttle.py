"""Compares the throttle times of a broker's answers with the maximum of a quota. A client must be silent for that time.

Short times are the broker's own choice, and no rule predicts them. A time beyond any quota is judged, once per run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.protocol.wire.throttle_time import QUOTA_MS

__all__ = ["LOST_MS", "throttles_are_bearable"]

REQUIREMENT: Final = "COMMIT-22"
"""A group answers commits, fetches and heartbeats normally. A throttled member cannot send them."""

LOST_MS: Final = 45_000
"""The session timeout (ms) of Kafka's clients (KIP-735). A member that is silent for longer is removed from its group."""

_EXPECTED: Final = "An answer throttles its client for no longer than a quota could ask."


def throttles_are_bearable(evidence: Evidence) -> Iterator[Finding]:
    """Judge the longest and the shortest throttle time that members got. Yield nothing where both are acceptable."""
    pairs = [(int(obs.body.get("throttle_time_ms") or 0), obs) for obs in evidence.select("response") if obs.who == "member"]
    longest, at_longest = max(pairs, key=lambda item: item[0], default=(0, None))
    least, at_least = min(pairs, key=lambda item: item[0], default=(0, None))
    if longest > QUOTA_MS and at_longest is not None:
        says = "longer than a session lasts" if longest > LOST_MS else "though the members were all but idle"
        yield Finding(
            verdict=Verdict.FAILED if longest > LOST_MS else Verdict.NON_STRICT, requirement=REQUIREMENT, expected=_EXPECTED,
            observed=f"{at_longest.api} was answered with a throttle time of {longest} ms, {says}.", seq=at_longest.seq,
        )  # fmt: skip
    elif least < 0 and at_least is not None:
        # KafkaClient throttles only for times above 0 (NetworkClient.maybeThrottle), so this costs no membership.
        yield Finding(
            verdict=Verdict.NON_STRICT, requirement=REQUIREMENT, expected="A throttle time is no less than 0.",
            observed=f"{at_least.api} was answered with a throttle time below 0.", seq=at_least.seq, detail=f"throttle_time_ms {least}",
        )  # fmt: skip
