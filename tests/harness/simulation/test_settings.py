"""What is asked for: JSON both ways, and every setting told before a run."""

from __future__ import annotations

import json

import pytest

from groupproof.clients.member.policy import REFERENCE
from groupproof.harness.simulation.settings import Simulation, policy_of, settled

NEWEST = (4, 1)


def test_a_simulation_comes_back_from_json_as_it_was() -> None:
    simulation = settled(Simulation(seed=3, faults=("crash", "move"), coordinator_settings={"group.max.size": 5}), NEWEST)

    assert Simulation.from_json(json.loads(json.dumps(simulation.to_json()))) == simulation


@pytest.mark.parametrize(("value", "message"), [({"seed": 1, "memberz": 3}, "'memberz'"), ({"members": 3}, "needs a seed")])
def test_what_is_no_simulation_is_refused_with_what_was_found(value: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulation.from_json(value)


def test_without_a_swarm_the_settings_are_kafka_s_own() -> None:
    simulation = settled(Simulation(seed=3, faults=()), NEWEST)

    assert (simulation.session_timeout_ms, simulation.heartbeat_interval_ms, simulation.max_poll_interval_ms) == (45_000, 3_000, 300_000)
    assert (simulation.static_members, simulation.assignors, simulation.partitions) == (0, ("range",), 20)


def test_in_a_swarm_the_settings_left_open_are_drawn_from_the_seed() -> None:
    swarms = [settled(Simulation(seed=seed), NEWEST) for seed in range(40)]

    assert len({(swarm.assignors, swarm.static_members, swarm.session_timeout_ms, swarm.max_poll_interval_ms) for swarm in swarms}) > 20
    assert swarms[5] == settled(Simulation(seed=5), NEWEST) == settled(swarms[5], NEWEST)


def test_a_setting_that_is_given_is_kept_in_a_swarm_and_changes_no_other() -> None:
    open_, sticky = settled(Simulation(seed=5), NEWEST), settled(Simulation(seed=5, assignors=("sticky",)), NEWEST)

    assert sticky.assignors == ("sticky",)
    assert (sticky.static_members, sticky.session_timeout_ms) == (open_.static_members, open_.session_timeout_ms)


def test_a_short_session_has_a_short_heartbeat_interval() -> None:
    assert settled(Simulation(seed=1, session_timeout_ms=6_000), NEWEST).heartbeat_interval_ms == 2_000


def test_releases_before_static_membership_have_no_static_members() -> None:
    assert {settled(Simulation(seed=seed), (1, 1)).static_members for seed in range(20)} == {0}


@pytest.mark.parametrize("variant", ["subscription-v0", "heartbeats-from-poll-of-0.10.0", "as-kafka-go"])
def test_a_variant_that_cannot_cooperate_is_given_no_cooperative_assignor(variant: str) -> None:
    swarms = [settled(Simulation(seed=seed, member_variant=variant), NEWEST) for seed in range(40)]

    assert len({swarm.assignors for swarm in swarms}) > 2
    assert not any("cooperative-sticky" in (swarm.assignors or ()) for swarm in swarms)


def test_a_variant_without_static_membership_has_no_static_members() -> None:
    swarms = [settled(Simulation(seed=seed, member_variant="join-v3"), NEWEST) for seed in range(20)]

    assert {swarm.static_members for swarm in swarms} == {0}


def test_what_is_asked_for_is_kept_whatever_the_variant() -> None:
    settings = settled(Simulation(seed=1, member_variant="subscription-v0", assignors=("cooperative-sticky",), static_members=2), NEWEST)

    assert (settings.assignors, settings.static_members) == (("cooperative-sticky",), 2)


def test_the_members_behave_by_the_variant_or_as_the_reference() -> None:
    assert policy_of(Simulation(seed=1)) is REFERENCE
    assert policy_of(Simulation(seed=1, member_variant="subscription-v0")).subscription_version == 0
