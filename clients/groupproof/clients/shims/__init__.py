"""Shims: the reference member's, and those of third-party clients, which run as scripts without this package."""
