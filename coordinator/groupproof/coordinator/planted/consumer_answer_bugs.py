"""Bugs planted on the wire of the consumer protocol (KIP-848): answers about a group's configs, and about offsets by topic id."""

from __future__ import annotations

from typing import Any, Final

from groupproof.coordinator.machine.variant import Variant
from groupproof.coordinator.planted.answer_bugs import Body, Change, changing, each_entry, wrong_code, wrong_offset
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["BUGS_OF_CONSUMER_ANSWERS"]

_BY_ID: Final = 10
"""The first version of OffsetCommit and OffsetFetch with topic ids."""


def _instead(was: ErrorCode | None, code: ErrorCode) -> Change:
    """Return the change that puts `code` in place of `was`, or of any error for None."""

    def change(answer: Body) -> Body:
        is_meant = answer["error_code"] == was if was is not None else answer["error_code"]
        return {**answer, "error_code": code.value} if is_meant else answer

    return change


def _of_partitions(change: Change) -> Change:
    return each_entry("topics", each_entry("partitions", change))


def _other_values(answer: Body) -> Body:
    """Answer one more than the value of every config."""
    configs: tuple[dict[str, Any], ...] = tuple(dict(entry) for entry in answer["configs"])
    return {**answer, "configs": tuple({**entry, "value": f"{entry['value']}1"} for entry in configs)}


_CONFIGS, _FETCHED = Api.INCREMENTAL_ALTER_CONFIGS, each_entry("groups", _of_partitions(wrong_offset))
_UNKNOWN_TAKEN: Final = _of_partitions(_instead(ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NONE))

BUGS_OF_CONSUMER_ANSWERS: Final[tuple[Variant, ...]] = tuple(
    Variant(name=name, says=says, breaks=(breaks,), line=changing(api, change, version))
    for name, says, breaks, api, change, version in (
        ("configs-accepted", "Settings of a group that are refused are answered as accepted.", "CGD-30", _CONFIGS,
         each_entry("responses", _instead(None, ErrorCode.NONE)), None),
        ("configs-refused", "Settings of a group that are accepted are answered as refused.", "CGD-29", _CONFIGS,
         each_entry("responses", _instead(ErrorCode.NONE, ErrorCode.INVALID_CONFIG)), None),
        ("configs-told-otherwise", "DescribeConfigs returns other values than a group has.", "CGD-29", Api.DESCRIBE_CONFIGS,
         each_entry("results", _other_values), None),
        ("wrong/OffsetCommit-v10", "Answers to OffsetCommit v10 have a wrong field.", "CGO-25", Api.OFFSET_COMMIT, _of_partitions(wrong_code), _BY_ID),
        ("wrong/OffsetFetch-v10", "Answers to OffsetFetch v10 have a wrong field.", "CGO-38", Api.OFFSET_FETCH, _FETCHED, _BY_ID),
        ("unknown-ids-committed", "Commits with the id of no topic are answered as accepted.", "CGO-26", Api.OFFSET_COMMIT, _UNKNOWN_TAKEN, _BY_ID),
        ("unknown-ids-fetched", "Fetches with the id of no topic get an offset.", "CGO-39", Api.OFFSET_FETCH, each_entry("groups", _UNKNOWN_TAKEN), _BY_ID),
    )
)  # fmt: skip
