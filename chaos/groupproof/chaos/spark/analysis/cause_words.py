"""A rebalance's cause as a column: from the coordinator's reason, by the words of `trace explain`, or from joins, leaves and lost members."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.reasons import CLIENT_WORDS, COORDINATOR_WORDS

__all__ = ["MEMBER_ID", "cause_of_changes", "cause_of_reason", "member_of_reason"]

MEMBER_ID: Final = r"[^\s(\[{,]+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""A member id as the coordinator makes it (JOIN-03), at any place in a reason."""

_CLIENT: Final = r"(?s); client reason: (.*)$"
_AGAIN: Final = (Cause.LEADER_REJOINED, Cause.METADATA)
_SHARPENING: Final = (Cause.HANDOVER, Cause.PARTITIONS, Cause.SUBSCRIPTION)


def member_of_reason(reason: Column) -> Column:
    """Return the member named in a reason."""
    return f.nullif(f.regexp_extract(reason, f"({MEMBER_ID})", 1), f.lit(""))


def cause_of_reason(reason: Column, *, is_initial: Column) -> Column:
    """Return the cause in a coordinator's reason. Before 2.2 there is no reason: then it is `UNREPORTED`, except in a group's first rebalance."""
    text = f.coalesce(reason, f.lit(""))
    own = f.trim(f.regexp_replace(text, _CLIENT, ""))
    cause = _first([(own.rlike(_java(pattern)), meant) for pattern, meant in COORDINATOR_WORDS], Cause.UNREPORTED)
    of_client = f.lower(f.regexp_extract(text, _CLIENT, 1))
    by_client = _first([(of_client.contains(words), meant) for words, meant in CLIENT_WORDS], None)
    return (
        f.when(is_initial & cause.isin(Cause.NEW_MEMBER.value, Cause.UNREPORTED.value), Cause.FIRST_MEMBER.value)
        .when((cause == Cause.LEFT.value) & by_client.isNotNull(), by_client)
        .when(cause.isin(*(cause.value for cause in _AGAIN)) & by_client.isin(*(cause.value for cause in _SHARPENING)), by_client)
        .otherwise(cause)
    )


def cause_of_changes(*, is_first: Column, came_seq: Column, left_seq: Column, reason: Column, has_lost: Column) -> Column:
    """Return the cause that requests show: the first join or leave since the previous generation, or else a missing member."""
    text = f.lower(f.coalesce(reason, f.lit("")))
    left = _first([(text.contains(words), meant) for words, meant in CLIENT_WORDS], Cause.LEFT)
    comes_first = came_seq.isNotNull() & (left_seq.isNull() | (came_seq < left_seq))
    return (
        f.when(is_first, Cause.FIRST_MEMBER.value)
        .when(comes_first, Cause.NEW_MEMBER.value)
        .when(left_seq.isNotNull(), left)
        .when(has_lost, Cause.HEARTBEAT_TIMEOUT.value)
        .otherwise(Cause.UNREPORTED.value)
    )


def _first(choices: list[tuple[Column, Cause]], other: Cause | None) -> Column:
    chosen: Column | None = None
    for is_so, cause in choices:
        chosen = f.when(is_so, cause.value) if chosen is None else chosen.when(is_so, cause.value)
    assert chosen is not None, "there are words for causes"
    return chosen if other is None else chosen.otherwise(other.value)


def _java(pattern: re.Pattern[str]) -> str:
    """Return the pattern in Java's syntax, without the names of its groups, which are not needed here."""
    return re.sub(r"\(\?P<\w+>", "(", pattern.pattern)
