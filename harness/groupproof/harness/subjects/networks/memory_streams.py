"""Streams in memory and the clock that jumps, from trio's own kit for tests, which would load pytest with it."""

from __future__ import annotations

from groupproof.protocol.lean_imports import without

with without("pytest"):
    from trio.testing import MockClock, memory_stream_pair

__all__ = ["MockClock", "memory_stream_pair"]
