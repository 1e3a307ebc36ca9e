"""Converts requests and answers with topic ids (OffsetCommit and OffsetFetch v10, KIP-848) to topic names, which the group's rules use. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.coordinator.broker.topic_ids import BY_ID_SINCE
from groupproof.protocol.vocabulary import Api

__all__ = ["with_names"]

_NEVER: Final = 1 << 15


def with_names(api: Api, version: int, body: Mapping[str, Any], names: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """Return the newest version with names, and the body at that version.

    Unknown topics are left out: the broker answers them without the group (CGO-27).
    """
    since = BY_ID_SINCE.get(api, _NEVER)
    if version < since:
        return version, dict(body)
    if "groups" in body:
        groups = tuple({**group, "topics": _named(group.get("topics"), names)} for group in body["groups"] or ())
        return since - 1, {**body, "groups": groups}
    return since - 1, {**body, "topics": _named(body.get("topics"), names)}


def _named(topics: Any, names: Mapping[str, str]) -> Any:
    if topics is None:
        return None
    return tuple({**topic, "name": names[topic["topic_id"]]} for topic in topics if topic.get("topic_id") in names)
