"""Shims: the reference member's own, and beside it those of third parties, which run as scripts without this package."""
