"""The real coordinator does what the naive one does, in every history that Hypothesis can think of."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.soaking import SEED
from tests.stateful.any_history import AnyHistory
from tests.stateful.duel import Duel
from tests.stateful.history import OFFERS, History
from tests.stateful.naive_phases import Release

from groupproof.protocol.wire.messages import JoinGroupRequest, JoinProtocol

RELEASES: tuple[Release, ...] = ((4, 1), (3, 9), (2, 5), (2, 4, 1), (1, 1))
STEPS = 40
PARTS = range(4)
"""In which thousands of histories are cut, so that they run side by side."""


def _lived(release: Release, examples: int, steps: int, part: int | None = None) -> int:
    """Have Hypothesis write histories, each step of which compares the machine's answers with the model's; return how many came to their end."""
    lives: list[AnyHistory] = []
    machine = type("AnyHistory", (AnyHistory,), {"release": release, "teardown": lambda self: lives.append(self)})
    seeded = machine if part is None else hypothesis.seed(SEED + part)(machine)
    run_state_machine_as_test(seeded, settings=settings(max_examples=examples, stateful_step_count=steps))
    return len(lives)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_any_history(release: Release) -> None:
    assert _lived(release, 10, STEPS) >= 10


@pytest.mark.parametrize("release", [release for release in RELEASES if release >= (2, 4)])
def test_they_agree_that_a_group_loaded_of_offsets_alone_knows_no_subscription(release: Release) -> None:
    history = type("AnyHistory", (AnyHistory,), {"release": release})()
    history.begin(delay_ms=3_000, size_max=1_000, protocol_type="consumer", is_loading=False)
    history.commits_in_a_transaction(how=0, long=False, off=0, producer=1, who=0)
    history.misfortune(kind="move", which=0)
    history.settle(but=0, newcomers=2)

    history.loses_offsets(which=0)

    view = history.history.view()
    assert view is not None
    assert view.state.value == "PreparingRebalance"


@pytest.mark.parametrize("is_stable", [True, False])
@pytest.mark.parametrize("release", [release for release in RELEASES if release >= (2, 4)])
def test_they_agree_that_a_live_group_keeps_offsets_of_the_topics_that_it_subscribes_to(release: Release, is_stable: bool) -> None:
    duel = Duel(release=release, is_loading=False, offsets_retention_minutes=1)
    history = History(duel, protocol_type="consumer")
    history.commit("", off=None)
    protocols = tuple(JoinProtocol(name=name, metadata=metadata) for name, metadata in OFFERS[0])
    duel.ask(
        JoinGroupRequest(group_id="g", session_timeout_ms=300_000, rebalance_timeout_ms=300_000, protocol_type="consumer", protocols=protocols), 3
    )
    duel.wait(6_000)
    if is_stable:
        history.sync_all()
    duel.wait(54_000)

    duel.clean_up()
    history.fetch()

    is_expired = is_stable or release < (2, 8, 2)  # while it rebalances: KAFKA-13636
    assert {topic for topic, _ in duel.model.groups["g"]["offsets"]} == ({"t"} if is_expired else {"t", "u"})


def test_a_group_without_a_name_is_gone_after_a_move_once_its_transaction_was_aborted() -> None:
    """Kafka 1.1 takes transactional commits to it."""
    history = type("AnyHistory", (AnyHistory,), {"release": (1, 1)})()
    history.begin(delay_ms=0, size_max=1_000, protocol_type="tck", is_loading=False)
    history.oddly(kind="not-here", which=6)
    assert list(history.duel.model.groups) == [""]

    history.ends_its_transaction(is_committed=False, producer=1)
    history.misfortune(kind="move", which=0)
    assert not history.duel.model.groups


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("release", RELEASES)
def test_machine_and_model_agree_in_thousands_of_long_histories(release: Release, part: int) -> None:
    assert _lived(release, 500, 2 * STEPS, part) >= 500
