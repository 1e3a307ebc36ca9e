"""What a case needs of the broker, without which it is UNIMPLEMENTED: of its ApiVersions for a coordinator's, of its release for a client's. Pure.

A need is an API's name (`OffsetDelete`: any version), with a version that must be spoken (`JoinGroup=0`), or with the least that the newest
must be (`JoinGroup>=5`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from groupproof.harness.case import Case, plan_of, script_of
from groupproof.harness.script import Ask
from groupproof.protocol.spec.releases import RELEASES
from groupproof.protocol.vocabulary import Api, api_named
from groupproof.protocol.wire import VERSIONS

__all__ = ["CORE_APIS", "common_versions", "is_core", "needs_of", "unheard_of", "unspoken"]

CORE_APIS = frozenset(
    {
        Api.JOIN_GROUP,
        Api.SYNC_GROUP,
        Api.HEARTBEAT,
        Api.LEAVE_GROUP,
        Api.OFFSET_COMMIT,
        Api.OFFSET_FETCH,
        Api.FIND_COORDINATOR,
        Api.API_VERSIONS,
        Api.METADATA,
    }
)
"""What every coordinator of the classic protocol speaks, in some version; a case that needs no more can be on its level's required list."""

Ranges = Mapping[Api, tuple[int, int]]

_NAMING_UNTIL = {Api.OFFSET_COMMIT: 9, Api.OFFSET_FETCH: 9}
"""The newest versions that call topics by their names, as scripts do; from the next on they go by ids."""

_NEED = re.compile(r"(?P<api>\w+)(?:(?P<how>>=|=)(?P<version>\d+))?")


def needs_of(case: Case) -> frozenset[str]:
    """Return what the case names, and what its script asks for: each version that a step insists on, and each API."""
    asks = [step for step in script_of(case).steps if isinstance(step, Ask)]
    exact = {f"{step.api.title}={step.version}" for step in asks if step.version is not None}
    return case.needs | exact | {step.api.title for step in asks}


def is_core(case: Case) -> bool:
    """Tell whether a coordinator of the classic protocol must be able to take the case, whatever its age."""
    return all(not need.group("how") and api_named(need.group("api")) in CORE_APIS for need in map(_read, needs_of(case)))


def unspoken(needs: Iterable[str], ranges: Ranges, readable: Ranges | None = None) -> list[str]:
    """Return the needs that are not met by a broker that speaks `ranges`, in words.

    `readable` are the ranges without the newest versions that it offers and cannot be spoken to by: only who insists on one has it.
    """
    readable = ranges if readable is None else readable
    missing = [need for need in sorted(needs) if not _is_met(_read(need), ranges if "=" in need.replace(">=", "") else readable)]
    absent = {need for need in missing if not _read(need).group("how")}
    return [_said(need, ranges, readable) for need in missing if need in absent or _read(need).group("api") not in absent]


def common_versions(api: Api, ranges: Ranges) -> tuple[int, int] | None:
    """Return the oldest and the newest version that both sides speak and a script can be said in, or None."""
    if api not in ranges:
        return None
    (our_oldest, our_newest), (oldest, newest) = VERSIONS[api], ranges[api]
    common = max(our_oldest, oldest), min(our_newest, newest, _NAMING_UNTIL.get(api, newest))
    return common if common[0] <= common[1] else None


def _read(need: str) -> re.Match[str]:
    found = _NEED.fullmatch(need)
    if found is None:
        raise ValueError(f"{need!r} is no need: write JoinGroup, JoinGroup=5 or JoinGroup>=5")
    return found


def _is_met(need: re.Match[str], ranges: Ranges) -> bool:
    common = common_versions(api_named(need.group("api")), ranges)
    if common is None or not need.group("how"):
        return common is not None
    version = int(need.group("version"))
    return common[1] >= version and (need.group("how") == ">=" or common[0] <= version)


def _said(need: str, ranges: Ranges, readable: Ranges) -> str:
    api = api_named(_read(need).group("api"))
    theirs, newest = ranges.get(api), readable.get(api, (0, 0))[1]
    wanted = need.replace(">=", " v").replace("=", " v") + (" or newer" if ">=" in need else "")
    told = f"v{theirs[0]} to v{theirs[1]}" if theirs else "nothing of it"
    return f"{wanted} (its ApiVersions say {told}{f', yet nothing newer than v{newest} works' if theirs and newest < theirs[1] else ''})"


_STATIC_SINCE: Final = (2, 3)
_SIZE_LIMIT_SINCE: Final = (2, 2)


def unheard_of(case: Case, profile: str) -> str:
    """Return what a client case is about that the brokers of a profile do not know; empty where they know all of it, and for a profile that is no release."""
    release = RELEASES.get(profile, _STATIC_SINCE)
    if "static" in case.needs and release < _STATIC_SINCE:
        return f"{profile} has no static members (KIP-345 came with 2.3)."
    if "group.max.size" in plan_of(case).coordinator and release < _SIZE_LIMIT_SINCE:
        return f"{profile} has no group.max.size (KIP-389 came with 2.2)."
    return ""
