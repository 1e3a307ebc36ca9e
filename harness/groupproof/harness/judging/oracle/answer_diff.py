"""Compares two answers field by field, at the request's version: the rule's answer and the broker's. Pure.

Lists in which the broker may choose the order (members, topics, partitions, groups) are compared by their entries' keys. Fields that no rule
fixes are left out: throttle times, error messages, the host of a client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Final

from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import WireError, read_response, write_response

__all__ = ["Difference", "as_answered", "differences"]

_OPEN: Final = frozenset({"throttle_time_ms", "error_message", "client_host", "authorized_operations"})
_KEYS: Final = ("name", "topic_id", "partition_index", "member_id", "group_instance_id")

ABSENT: Final = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that differs. `path` contains the keys of the lists around it; `field` is its name alone.

    `is_idle`: no client reads this field. The answer refuses the request, or it gives a heartbeat interval to a member that leaves.
    """

    path: str
    field: str
    expected: Any
    observed: Any
    is_idle: bool = False


_IDLE_OF_LEAVES: Final = frozenset({"heartbeat_interval_ms"})
"""A member sends no heartbeat after it leaves (CGM-29). Kafka answers 0 here; other brokers answer their usual interval."""

_READ_BESIDE: Final[Mapping[int, Set[str]]] = {ErrorCode.MEMBER_ID_REQUIRED: {"member_id"}}
"""The fields that clients read beside an error code: the member id beside 79 (KIP-394), nothing beside other codes (JoinGroupResponseHandler)."""


def as_answered(api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body as a client of `version` reads it: fields that the version lacks hold their defaults, lists are lists, open fields are removed."""
    try:
        _, decoded = read_response(api, version, write_response(api, version, 0, body))
    except (ValueError, WireError):
        decoded = dict(body)
    plain: dict[str, Any] = _plain(decoded)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items() if name not in _OPEN}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def differences(expected: Mapping[str, Any], observed: Mapping[str, Any]) -> list[Difference]:
    """Return the differences, an error code first. Beside an expected error code all other differences are idle, for each entry apart."""
    if expected == observed:
        return []
    found = list(_of_mappings("", expected, observed))
    found.sort(key=lambda difference: difference.field != "error_code")
    if expected.get("member_epoch", 0) >= 0 or any(difference.path == "error_code" for difference in found):
        return found
    return [replace(difference, is_idle=difference.is_idle or difference.path in _IDLE_OF_LEAVES) for difference in found]


def _of_mappings(path: str, expected: Mapping[str, Any], observed: Mapping[str, Any]) -> Iterator[Difference]:
    code = expected.get("error_code", 0)
    is_refusal = code != ErrorCode.NONE and observed.get("error_code", 0) == code
    read = _READ_BESIDE.get(code, frozenset())
    for name in dict.fromkeys([*expected, *observed]):
        found = _of_values(f"{path}{name}", name, expected.get(name, ABSENT), observed.get(name, ABSENT))
        yield from (replace(difference, is_idle=True) for difference in found) if is_refusal and name not in read else found


def _of_values(path: str, field: str, expected: Any, observed: Any) -> Iterator[Difference]:
    if isinstance(expected, Mapping) and isinstance(observed, Mapping):
        yield from _of_mappings(f"{path}.", expected, observed)
    elif isinstance(expected, list) and isinstance(observed, list):
        yield from _of_lists(path, field, expected, observed)
    elif expected != observed and not _is_silence(field, expected, observed):
        yield Difference(path=path, field=field, expected=expected, observed=observed)


def _is_silence(field: str, *values: Any) -> bool:
    """Return whether both values are null or empty in a field where clients read null as the empty text."""
    return field in ("metadata", "subscribed_topic_regex") and all(value is None or value == "" for value in values)


def _of_lists(path: str, field: str, expected: list[Any], observed: list[Any]) -> Iterator[Difference]:
    mine, theirs = _keyed(expected), _keyed(observed)
    for key in dict.fromkeys([*mine, *theirs]):
        yield from _of_values(f"{path}[{key[0]}]" if key[0] else path, field, mine.get(key, ABSENT), theirs.get(key, ABSENT))


def _keyed(entries: list[Any]) -> dict[tuple[str, int], Any]:
    """Return the entries by their keys. Entries of one key are sorted and numbered. Groups need no key: an answer here contains only one."""
    named: dict[str, list[Any]] = {}
    for entry in entries:
        name = "/".join(str(entry[key]) for key in _KEYS if entry.get(key) is not None) if isinstance(entry, Mapping) else str(entry)
        named.setdefault(name, []).append(entry)
    return {(name, count): entry for name in sorted(named) for count, entry in enumerate(_in_order(named[name]))}


def _in_order(entries: list[Any]) -> list[Any]:
    return sorted(entries, key=repr) if len(entries) > 1 else entries
