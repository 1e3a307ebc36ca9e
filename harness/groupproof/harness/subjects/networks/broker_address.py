"""The address of a broker: a host and a port, and a list of them as clients write it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Address", "bootstrap_of"]

Address = tuple[str, int]


def bootstrap_of(addresses: Sequence[Address]) -> str:
    """Return the addresses as `bootstrap.servers` writes them."""
    return ",".join(f"{host}:{port}" for host, port in addresses)
