"""Streams in memory and a clock that jumps, from trio's test kit, imported without pytest."""

from __future__ import annotations

from groupproof.protocol.lean_imports import without

with without("pytest"):
    from trio.testing import MockClock, memory_stream_pair

__all__ = ["MockClock", "memory_stream_pair"]
