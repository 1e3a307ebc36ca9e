from __future__ import annotations

from groupproof.harness.subjects.networks.broker_address import bootstrap_of


def test_addresses_are_written_as_clients_are_configured_with_them() -> None:
    assert bootstrap_of([("a", 1), ("b", 2)]) == "a:1,b:2"
    assert bootstrap_of([]) == ""
