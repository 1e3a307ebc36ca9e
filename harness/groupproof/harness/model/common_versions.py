"""Which versions of an API both a broker and the kit speak, and which needs of a case that leaves unmet. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from groupproof.harness.model.prerequisites import read_need
from groupproof.protocol.vocabulary import Api, api_named
from groupproof.protocol.wire.message_codec import VERSIONS

__all__ = ["common_versions", "unspoken"]

Ranges = Mapping[Api, tuple[int, int]]

_NAMING_UNTIL = {Api.OFFSET_COMMIT: 9, Api.OFFSET_FETCH: 9}
"""The newest versions that identify topics by name, as scripts do. Later versions use ids."""


def unspoken(needs: Iterable[str], ranges: Ranges, readable: Ranges | None = None) -> list[str]:
    """Return in words the needs that a broker with `ranges` does not meet.

    `readable` are the ranges without the newest versions that the broker offers but that do not work. Only a need for an exact version uses
    `ranges`.
    """
    readable = ranges if readable is None else readable
    missing = [need for need in sorted(needs) if not _is_met(read_need(need), ranges if "=" in need.replace(">=", "") else readable)]
    absent = {need for need in missing if not read_need(need).group("how")}
    return [_describe(need, ranges, readable) for need in missing if need in absent or read_need(need).group("api") not in absent]


def common_versions(api: Api, ranges: Ranges) -> tuple[int, int] | None:
    """Return the oldest and the newest version that both sides speak and that a script can use, or None."""
    if api not in ranges:
        return None
    oldest, newest = _overlap(api, ranges)
    newest = min(newest, _NAMING_UNTIL.get(api, newest))
    return (oldest, newest) if oldest <= newest else None


def _overlap(api: Api, ranges: Ranges) -> tuple[int, int]:
    """Return the oldest and the newest version that both sides speak, with topics by name or by id."""
    (our_oldest, our_newest), (oldest, newest) = VERSIONS[api], ranges[api]
    return max(our_oldest, oldest), min(our_newest, newest)


def _is_met(need: re.Match[str], ranges: Ranges) -> bool:
    api = api_named(need.group("api"))
    common = common_versions(api, ranges)
    if common is None or not need.group("how"):
        return common is not None
    version = int(need.group("version"))
    if need.group("how") == ">=":
        return common[1] >= version
    oldest, newest = _overlap(api, ranges)
    return oldest <= version <= newest


def _describe(need: str, ranges: Ranges, readable: Ranges) -> str:
    api = api_named(read_need(need).group("api"))
    theirs, newest = ranges.get(api), readable.get(api, (0, 0))[1]
    wanted = need.replace(">=", " v").replace("=", " v") + (" or newer" if ">=" in need else "")
    text = f"v{theirs[0]} to v{theirs[1]}" if theirs else "nothing of it"
    return f"{wanted} (its ApiVersions say {text}{f', yet nothing newer than v{newest} works' if theirs and newest < theirs[1] else ''})"
