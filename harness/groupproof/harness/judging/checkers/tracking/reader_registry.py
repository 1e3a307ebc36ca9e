"""The readers of all dialects, by the requests that only their members send. Each dialect's reader is registered here. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from groupproof.harness.judging.checkers.tracking.classic_reader import CLASSIC_READER
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.model.dialect_parts import PartRegistry, on_part_change

__all__ = ["READERS", "epoch_apis", "membership_apis", "naming_apis", "readers_by_api", "steady_apis"]


def _consumer_reader() -> FrameReader:
    from groupproof.harness.judging.checkers.tracking.consumer_reader import (
        CONSUMER_READER,  # imported on first use: the tracker and all its users depend on this module
    )

    return CONSUMER_READER


READERS: Final = PartRegistry(FrameReader, CLASSIC_READER, loads=(_consumer_reader,))


@lru_cache(maxsize=1)
def readers_by_api() -> Mapping[str, FrameReader]:
    """Return the reader of each request that identifies the dialect of its sender."""
    return {api: reader for reader in reversed(READERS.all()) for api in reader.apis}


@lru_cache(maxsize=1)
def membership_apis() -> frozenset[str]:
    """Return the titles of the requests that name a member, in any dialect."""
    return frozenset().union(*(reader.membership for reader in READERS.all()))


@lru_cache(maxsize=1)
def naming_apis() -> frozenset[str]:
    """Return the titles of the requests whose answers give a member its id, in any dialect."""
    return frozenset().union(*(reader.naming for reader in READERS.all()))


@lru_cache(maxsize=1)
def steady_apis() -> Mapping[str, frozenset[str]]:
    """Return the titles of the requests, in any dialect, that change nothing of a member when answered without an error, each with the fields that
    report a change.
    """
    found: dict[str, frozenset[str]] = {}
    for reader in READERS.all():
        for api, fields in reader.steady.items():
            found[api] = found.get(api, frozenset()) | fields
    return found


@lru_cache(maxsize=1)
def epoch_apis() -> frozenset[str]:
    """Return the titles of the steady requests that name a member epoch."""
    return frozenset().union(*(reader.by_epoch for reader in READERS.all()))


for _cached in (readers_by_api, membership_apis, naming_apis, steady_apis, epoch_apis):
    on_part_change(_cached.cache_clear)
