"""Findings about a broker whose choices differ from Kafka's: generations, newcomers, targets, epochs, and when a group knows a topic. A legal
deviation is NON_STRICT at worst. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from groupproof.harness.judging.oracle.own_choices import may_admit_at_once
from groupproof.harness.model.requirement_levels import MOST_SEVERE
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, ErrorCode, Level

if TYPE_CHECKING:
    from groupproof.harness.judging.oracle.exchanges import History
    from groupproof.harness.judging.oracle.replay_result import Deviation, ReplayResult

__all__ = ["comes_further", "deviation_findings", "has_consumers", "may_choose", "with_broken_target"]

_LATE_TOPICS: Final = "CGX-16"


def has_consumers(history: History) -> bool:
    """Return whether any request used the consumer protocol."""
    return any(exchange.api is Api.CONSUMER_GROUP_HEARTBEAT for exchange in history.exchanges)


def may_choose(history: History, replay_first: Callable[[], ReplayResult]) -> bool:
    """Return whether a broker whose answers Kafka's choices do not explain may have made choices of its own.

    A group of consumers may have its own targets and epochs. In a classic group the answers show other choices, or else one replay (`replay_first`)
    by the broker's own does: no search of all branches is spent on an answer that is simply wrong.
    """
    return has_consumers(history) or may_admit_at_once(history.exchanges) or _counts_otherwise(history) or bool(replay_first().deviations)


def _counts_otherwise(history: History) -> bool:
    """Return whether the generations that members heard of are not 1, 2, 3 and so on."""
    joined = [exchange for exchange in history.exchanges if exchange.api is Api.JOIN_GROUP and exchange.code == ErrorCode.NONE]
    joined.sort(key=lambda exchange: exchange.seq)
    numbers = dict.fromkeys(int((exchange.answer or {}).get("generation_id", 0)) for exchange in joined)
    return [*numbers] != [*range(1, len(numbers) + 1)]


def comes_further(own: ReplayResult, kafkas: ReplayResult) -> bool:
    """Return whether the broker's own choices explain more answers than Kafka's choices, or as many and some of them are illegal, which explains
    the rest."""
    if own.divergence is None or kafkas.divergence is None:
        return own.divergence is None
    is_illegal = any(deviation.level is Level.MUST for deviation in own.deviations)
    return own.divergence.matched > kafkas.divergence.matched or (is_illegal and own.divergence.matched == kafkas.divergence.matched)


def deviation_findings(replay: ReplayResult) -> Iterator[Finding]:
    """Yield each kind of legal deviation once, and that the coordinator knew a topic late."""
    found = {(deviation.requirement, deviation.observed): deviation for deviation in reversed(replay.deviations) if deviation.level is not Level.MUST}
    for deviation in reversed(found.values()):
        yield _finding(deviation)
    if replay.late_topics is not None:
        yield Finding(
            verdict=MOST_SEVERE[by_id(_LATE_TOPICS).level], requirement=_LATE_TOPICS, seq=replay.late_topics.seq,
            expected="The coordinator of a group knows a topic about a second after its broker reports it.", observed="It knows it later: no KIP says when.", proof=Proof.TIMING,
        )  # fmt: skip


def _finding(deviation: Deviation) -> Finding:
    return Finding(
        verdict=MOST_SEVERE[deviation.level], requirement=deviation.requirement, expected=deviation.expected, observed=deviation.observed, seq=deviation.seq
    )  # fmt: skip


def with_broken_target(finding: Finding, replay: ReplayResult) -> Finding:
    """Return the finding of a divergence.

    If an assignment differs because the broker's target breaks a rule, return the finding of that rule instead.
    """
    broken = [deviation for deviation in replay.deviations if deviation.level is Level.MUST]
    is_of_assignment = replay.divergence is not None and any("assignment" in difference.path for difference in replay.divergence.differences)
    if not broken or not is_of_assignment:
        return finding
    return replace(_finding(broken[-1]), proof=finding.proof, detail=finding.detail)
