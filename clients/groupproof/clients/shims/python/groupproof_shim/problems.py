"""Error names of the contract: Kafka's name if the client's error has a code, otherwise the client's own in capitals."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ERROR_NAMES",
    "FATAL_TO_A_MEMBER",
    "CommandFailed",
    "Problem",
    "Unimplemented",
    "is_of_a_closed_socket",
    "name_of_code",
    "problem_of",
    "upper_snake",
]

Problem = tuple[str, str, bool]
"""An error in the application's view: Kafka's name, a message, and whether the client cannot continue."""

# Kafka's Errors, for clients whose exceptions have the number and, in old releases, an old name.
ERROR_NAMES: Final = {
    -1: "UNKNOWN_SERVER_ERROR", 1: "OFFSET_OUT_OF_RANGE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 4: "INVALID_FETCH_SIZE",
    5: "LEADER_NOT_AVAILABLE", 6: "NOT_LEADER_OR_FOLLOWER", 7: "REQUEST_TIMED_OUT", 10: "MESSAGE_TOO_LARGE",
    12: "OFFSET_METADATA_TOO_LARGE", 13: "NETWORK_EXCEPTION", 14: "COORDINATOR_LOAD_IN_PROGRESS", 15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR", 18: "RECORD_LIST_TOO_LARGE", 19: "NOT_ENOUGH_REPLICAS", 20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    22: "ILLEGAL_GENERATION", 23: "INCONSISTENT_GROUP_PROTOCOL", 24: "INVALID_GROUP_ID", 25: "UNKNOWN_MEMBER_ID",
    26: "INVALID_SESSION_TIMEOUT", 27: "REBALANCE_IN_PROGRESS", 28: "INVALID_COMMIT_OFFSET_SIZE", 29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED", 35: "UNSUPPORTED_VERSION", 40: "INVALID_CONFIG", 42: "INVALID_REQUEST", 47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE", 49: "INVALID_PRODUCER_ID_MAPPING", 56: "KAFKA_STORAGE_ERROR", 68: "NON_EMPTY_GROUP", 69: "GROUP_ID_NOT_FOUND",
    70: "FETCH_SESSION_ID_NOT_FOUND", 79: "MEMBER_ID_REQUIRED", 81: "GROUP_MAX_SIZE_REACHED", 82: "FENCED_INSTANCE_ID",
    86: "GROUP_SUBSCRIBED_TO_TOPIC", 88: "UNSTABLE_OFFSET_COMMIT", 100: "UNKNOWN_TOPIC_ID", 110: "FENCED_MEMBER_EPOCH",
    111: "UNRELEASED_INSTANCE_ID", 112: "UNSUPPORTED_ASSIGNOR", 113: "STALE_MEMBER_EPOCH", 128: "INVALID_REGULAR_EXPRESSION",
}  # fmt: skip

FATAL_TO_A_MEMBER: Final = frozenset(
    {"FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "INVALID_GROUP_ID", "UNSUPPORTED_VERSION"},
)
"""Errors that end more than the command that raises them. (In poll, every error is fatal that the client does not call retriable.)"""


class CommandFailed(Exception):
    """The client, or this shim, refuses a command. `error` is the error's name in the answer."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


class Unimplemented(Exception):
    """The client has no such feature. The answer says why."""


def name_of_code(code: int) -> str:
    """Return Kafka's name of an error code; `CODE_999` for one without a name."""
    return ERROR_NAMES.get(code, f"CODE_{code}")


def upper_snake(name: str) -> str:
    """Return the name of an exception without a Kafka error code: `KafkaTimeoutError` becomes `KAFKA_TIMEOUT`."""
    stem = name.removesuffix("Exception").removesuffix("Error")
    stem = name if stem in ("", "Kafka") else stem
    parts = [f"_{letter}" if letter.isupper() and place and not stem[place - 1].isupper() else letter for place, letter in enumerate(stem)]
    return "".join(parts).upper()


def problem_of(error: Exception) -> Problem:
    """Name a client's exception: by its code (`errno`), otherwise by its class. It is fatal unless the client calls it `retriable`."""
    number = getattr(error, "errno", None)
    name = ERROR_NAMES.get(number) if isinstance(number, int) else None
    return name or upper_snake(type(error).__name__), str(error), not getattr(error, "retriable", False)


def is_of_a_closed_socket(error: Exception) -> bool:
    """Return whether `selectors` refused a socket that was just closed. The selector has already dropped it, so the next poll works."""
    return isinstance(error, ValueError) and str(error) == "Invalid file descriptor: -1"
