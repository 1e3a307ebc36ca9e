"""Guesses the release for a broker that reports only its ApiVersions: the release with the most similar versions, and the evidence for it. Pure.

Other brokers than Kafka often lack the APIs of other groups (share, streams, consumer) and the versions that came with them. The versions of the
classic protocol's requests show more about their rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from groupproof.protocol.rules.profiles import api_versions, default_profiles
from groupproof.protocol.vocabulary import Api

__all__ = ["Guess", "guessed", "matching_profile"]

Ranges = Mapping[Api, tuple[int, int]]

_CLASSIC: Final = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP)
"""The requests of a classic member: these are the best evidence."""
_OFFSETS: Final = (Api.OFFSET_COMMIT, Api.OFFSET_FETCH)
_BESIDE: Final = (Api.FETCH, Api.METADATA, Api.FIND_COORDINATOR, Api.LIST_GROUPS, Api.DESCRIBE_GROUPS)
_NEWEST: Final = {**dict.fromkeys(_CLASSIC, 8), **dict.fromkeys(_OFFSETS, 2), **dict.fromkeys(_BESIDE, 1)}
"""The weight of a newest version that equals the release's. Other APIs' newest versions came with features that a broker may lack."""
_OLDEST: Final = {**dict.fromkeys(_CLASSIC, 4), **dict.fromkeys(_OFFSETS, 6), **dict.fromkeys(_BESIDE, 1)}
"""The weight of an oldest version: Kafka 4.0 removed the oldest ones (KIP-896), and other brokers have no reason to."""
_LATEST: Final = (Api.TXN_OFFSET_COMMIT, Api.DELETE_GROUPS)
"""The APIs that distinguish the newest releases, whose other APIs have equal versions."""
_NAMED_MAX: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The `profile` whose release is most like the broker, and the broker's `versions`."""

    profile: str
    versions: Ranges

    @property
    def sentence(self) -> str:
        """Say which profile the broker is judged by, the evidence for it, and how to change it."""
        own = api_versions(self.profile)
        asked = [api for api in (*_CLASSIC, *_OFFSETS) if api in self.versions]
        text = ", ".join(f"{api.title} {_range(self.versions[api])}" for api in asked) or "no request of the group protocol"
        others = [f"{api.title} {_range(self.versions[api])} where that release has {_range(own[api])}" for api in _differing(self.versions, own)]
        lacking = [api.title for api in sorted(own.keys() - self.versions.keys())]
        parts = [f"judged as {self.profile}: {text}"]
        parts += [f"it speaks {_listed(others)}"] if others else []
        parts += [f"it lacks {_listed(lacking)}, which {self.profile} has"] if lacking else []
        return "; ".join([*parts, "pass --profile to judge it otherwise"])


def guessed(versions: Ranges) -> Guess:
    """Return the release with the versions most similar to the broker's; of several the newest."""
    names = [name for name in default_profiles() if name.startswith("kafka-")]
    return Guess(profile=max(names, key=lambda name: (*_nearness(versions, api_versions(name)), names.index(name))), versions=versions)


def matching_profile(versions: Ranges) -> str:
    """Return the profile of the release with the versions most similar to the broker's."""
    return guessed(versions).profile


def _nearness(versions: Ranges, own: Ranges) -> tuple[int, int, int]:
    behind = sum(versions[api][1] < own[api][1] for api in _LATEST if api in versions and api in own)
    return _likeness(versions, own), -_distance(versions, own), -behind


def _likeness(versions: Ranges, own: Ranges) -> int:
    """Return the weighted number of version bounds that equal the release's."""
    common = [api for api in _NEWEST if api in versions and api in own]
    return sum(_NEWEST[api] * (versions[api][1] == own[api][1]) + _OLDEST[api] * (versions[api][0] == own[api][0]) for api in common)


def _distance(versions: Ranges, own: Ranges) -> int:
    """Return how far the newest versions of the classic requests are from the release's."""
    return sum(abs(versions[api][1] - own[api][1]) for api in _CLASSIC if api in versions)


def _differing(versions: Ranges, own: Ranges) -> list[Api]:
    return [api for api in _NEWEST if api in versions and api in own and versions[api] != own[api]]


def _range(versions: tuple[int, int]) -> str:
    return f"{versions[0]}-{versions[1]}"


def _listed(words: Iterable[str]) -> str:
    named = list(words)
    names = named[:_NAMED_MAX] + ([f"{len(named) - _NAMED_MAX} more"] if len(named) > _NAMED_MAX else [])
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
