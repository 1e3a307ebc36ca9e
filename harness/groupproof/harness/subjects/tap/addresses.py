"""The addresses in responses: the brokers that they name, and their replacement by the tap's own addresses. Pure.

Besides Metadata, FindCoordinator and DescribeCluster, the responses to Produce (from v10 on) and Fetch (from v16 on) name the new leaders of
partitions that have moved (KIP-951).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from groupproof.harness.subjects.networks.broker_address import Address

__all__ = ["NamedBroker", "named_in", "with_addresses"]

Body = Mapping[str, Any]

_LISTS: Final[Mapping[Api, str]] = {
    Api.METADATA: "brokers",
    Api.FIND_COORDINATOR: "coordinators",
    Api.DESCRIBE_CLUSTER: "brokers",
    Api.PRODUCE: "node_endpoints",
    Api.FETCH: "node_endpoints",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBroker:
    """A broker that a response names."""

    node: int
    address: Address


def named_in(api: Api, body: Body) -> Iterator[NamedBroker]:
    """Yield the brokers that a response names. An entry with an error names none."""
    for entry in _entries(api, body):
        if _is_named(entry):
            yield NamedBroker(node=entry.get("node_id", entry.get("broker_id", -1)), address=(entry["host"], entry["port"]))


def with_addresses(api: Api, body: Body, addresses: Mapping[Address, Address]) -> dict[str, Any]:
    """Return the response with each address replaced by its value in `addresses`. Other addresses stay."""
    field = _LISTS.get(api)
    if field is None or field not in body:
        return dict(body)
    return {**body, field: tuple(_with_address(entry, addresses) for entry in _entries(api, body))}


def _entries(api: Api, body: Body) -> tuple[Body, ...]:
    field = _LISTS.get(api)
    return () if field is None else tuple(body.get(field) or ())


def _is_named(entry: Body) -> bool:
    return bool(entry.get("host")) and entry.get("port", -1) > 0


def _with_address(entry: Body, addresses: Mapping[Address, Address]) -> Body:
    local = addresses.get((entry["host"], entry["port"])) if _is_named(entry) else None
    return entry if local is None else {**entry, "host": local[0], "port": local[1]}
