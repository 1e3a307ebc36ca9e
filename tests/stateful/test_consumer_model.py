"""The machine does what the naive consumer group does, in every history that Hypothesis can think of; and bugs planted in the machine are found so."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.soaking import SEED
from tests.stateful.consumer_duel import AnyConsumerHistory
from tests.stateful.duel import Disagreement
from tests.stateful.naive_consumer_group import Release

from groupproof.coordinator.machine.engine import Unreachable
from groupproof.coordinator.machine.group import IllegalTransition
from groupproof.coordinator.planted.variants import variant_named

RELEASES: tuple[Release, ...] = ((4, 4), (4, 3), (4, 2), (4, 1), (4, 0))
STEPS = 30


def _lived(release: Release, examples: int, steps: int, part: int | None = None) -> int:
    """Have Hypothesis write histories; return how many came to their end."""
    lives: list[AnyConsumerHistory] = []
    machine = type("AnyConsumerHistory", (AnyConsumerHistory,), {"release": release, "teardown": lambda self: lives.append(self)})
    seeded = machine if part is None else hypothesis.seed(SEED + part)(machine)
    run_state_machine_as_test(seeded, settings=settings(max_examples=examples, stateful_step_count=steps))
    return len(lives)


@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_any_history(release: Release) -> None:
    assert _lived(release, 10, STEPS) >= 10


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_thousands_of_long_histories(release: Release, part: int) -> None:
    assert _lived(release, 500, 2 * STEPS, part) >= 500


FEW = (
    "without/ConsumerGroupHeartbeat/consumer.Assigning/beats/reconcile",
    "code/ConsumerGroupHeartbeat/consumer.Stable/instance-held",
    "without/ConsumerGroupHeartbeat/none/first-joins/bump",
    "without/ConsumerGroupHeartbeat/consumer.Stable/beats/assign",
    "gone/ConsumerGroupHeartbeat/consumer.Assigning/stranger",
)
MANY = (
    "code/ConsumerGroupHeartbeat/consumer.Assigning/epoch-fenced",
    "gone/ConsumerGroupHeartbeat/consumer.Reconciling/leaving-fenced",
    "without/ConsumerGroupHeartbeat/consumer.Stable/beats/take-up",
    "without/ConsumerGroupHeartbeat/consumer.Reconciling/leaves-for-now/leave-for-now",
    "gone/ConsumerGroupHeartbeat/none/no-group",
    "gone/ConsumerGroupHeartbeat/before/assignor-unknown",
    "gone/ConsumerGroupHeartbeat/before/joins-without-timeout",
    "gone/ConsumerGroupHeartbeat/consumer.Stable/leaving-instance-unknown",
    "gone/ConsumerGroupHeartbeat/consumer.Reconciling/epoch-fenced",
    "code/ConsumerGroupHeartbeat/before/joins-without-subscription",
    "code/ConsumerGroupHeartbeat/consumer.Assigning/instance-unknown",
    "code/ConsumerGroupHeartbeat/none/leaves-nothing",
)
FOUND = (Disagreement, AssertionError, Unreachable, IllegalTransition, KeyError)


def _check_found(name: str, histories: int) -> None:
    machine = type("AnyConsumerHistory", (AnyConsumerHistory,), {"variant": variant_named(name)})
    asked = settings(
        max_examples=histories, stateful_step_count=STEPS, phases=(Phase.generate,), database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    with pytest.raises(FOUND):
        run_state_machine_as_test(machine, settings=asked)


@pytest.mark.parametrize("name", FEW)
def test_the_model_finds_a_planted_bug(name: str) -> None:
    _check_found(name, 150)


@pytest.mark.soak
@pytest.mark.parametrize("name", MANY)
def test_the_model_finds_many_planted_bugs(name: str) -> None:
    _check_found(name, 1_000)
