"""Which members a profile is simulated with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_simulation import LEASE_SIMULATION

from groupproof.harness.model.dialect_parts import registered
from groupproof.harness.simulation.classic_simulation import CLASSIC_SIMULATION
from groupproof.harness.simulation.consumer_simulation import CONSUMER_SIMULATION
from groupproof.harness.simulation.simulation_registry import SIMULATIONS, Unsimulated, simulation_of


@pytest.fixture(autouse=True)
def lease() -> Iterator[None]:
    with registered(LEASE_FUNCTIONS, LEASE_SIMULATION):
        yield


def test_a_release_of_kafka_is_simulated_with_classic_members() -> None:
    assert simulation_of("kafka-2.4", None) is simulation_of("kafka-4.1", "classic") is CLASSIC_SIMULATION
    assert simulation_of("kafka-4.0", "consumer") is CONSUMER_SIMULATION
    assert SIMULATIONS.all() == (CLASSIC_SIMULATION, CONSUMER_SIMULATION, LEASE_SIMULATION)


def test_a_profile_of_two_dialects_is_simulated_with_the_one_that_is_named() -> None:
    assert simulation_of(LEASE_BROKER, "lease") is LEASE_SIMULATION
    assert simulation_of(LEASE_BROKER, "classic") is CLASSIC_SIMULATION


@pytest.mark.parametrize(("profile", "dialect", "why"), [
    ("datalink", None, "no members of any dialect can be simulated on datalink"),
    ("kafka-4.1", "lease", "no members of lease can be simulated on kafka-4.1; those of classic, consumer can"),
])  # fmt: skip
def test_what_cannot_be_simulated_is_refused(profile: str, dialect: str | None, why: str) -> None:
    with pytest.raises(Unsimulated) as refused:
        simulation_of(profile, dialect)
    assert str(refused.value) == why
