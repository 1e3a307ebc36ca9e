"""The rebalances of a recorded offsets topic in the form of any trace's, so that `trace explain` reads a recording like a log."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.diagnosis.causes import Certainty
from groupproof.harness.judging.diagnosis.rebalances import CLASSIC, EvidenceLine, Rebalance
from groupproof.harness.judging.topic_history.logged_groups import LoggedMember, LoggedRebalance
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.wire.offsets_topic import RECORD

__all__ = ["topic_rebalances"]

_UNKNOWN_BEGINNING: Final = "the topic does not say when it began"
_SETTLED: Final = "settled"
_UNSETTLED: Final = "still going on where the trace ends"


def topic_rebalances(trace: Trace) -> list[Rebalance]:
    """Return the rebalances in the records of `trace`, in the trace's own time. Return none where there are no records."""
    first = next((obs for obs in trace if _is_record(obs)), None)
    if first is None:
        return []
    begin_ms = first.body["timestamp_ms"] - first.at_ms
    seqs = {(obs.body["partition"], obs.body["offset"]): obs.seq for obs in trace if _is_record(obs)}
    groups = TopicHistory().follow_all(trace).groups.values()
    return [_explained(rebalance, begin_ms, seqs[rebalance.place]) for group in groups for rebalance in group.rebalances]


def _is_record(obs: Observation) -> bool:
    return obs.kind == "event" and obs.body.get("name") == RECORD


def _explained(rebalance: LoggedRebalance, begin_ms: float, seq: int) -> Rebalance:
    """Return a rebalance in the common form. A classic group's starts at the end of its join phase, the earliest time that the topic contains."""
    is_classic = rebalance.protocol == CLASSIC
    earliest_ms = rebalance.joined_ms if is_classic and rebalance.joined_ms is not None else rebalance.at_ms
    made = Rebalance(
        group=rebalance.group, number=rebalance.number, start_seq=seq, started_ms=earliest_ms - begin_ms, protocol=rebalance.protocol,
        cause=rebalance.cause, certainty=Certainty.TOLD if rebalance.is_certain else Certainty.INFERRED,
        also=() if rebalance.is_certain else rebalance.also, member=rebalance.member.name if rebalance.member is not None else None,
        generation_before=-1 if rebalance.before is None else rebalance.before, generation=rebalance.generation, member_count=rebalance.members,
    )  # fmt: skip
    if not is_classic:
        made.joined_ms = None if rebalance.joined_ms is None else rebalance.joined_ms - begin_ms
        made.synced_ms = None if rebalance.settled_ms is None or made.joined_ms is None else rebalance.settled_ms - begin_ms
    made.ended = _UNKNOWN_BEGINNING if is_classic else _SETTLED if made.synced_ms is not None else _UNSETTLED
    made.show(EvidenceLine(seq=seq, at_ms=rebalance.at_ms - begin_ms, text=_evidence(rebalance)))
    return made


def _evidence(rebalance: LoggedRebalance) -> str:
    partition, offset = rebalance.place
    changes = [f"{word} {', '.join(member.name for member in members)}" for word, members in _changes(rebalance) if members]
    return f"__consumer_offsets-{partition} offset {offset}: {rebalance.members} members{''.join(f'; {change}' for change in changes)}"


def _changes(rebalance: LoggedRebalance) -> tuple[tuple[str, tuple[LoggedMember, ...]], ...]:
    return ("joined:", rebalance.joined), ("gone:", rebalance.lost), ("changed:", rebalance.changed)
