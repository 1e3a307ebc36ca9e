"""What is done to groups on a real Apache Kafka, held against what its offsets topic tells: the comparison itself on drawn stories, and, as a soak, the whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.harness.judging.topic_history.churned_groups import Deed, deal_deeds
from tests.harness.judging.topic_history.churned_topic import churn, hold_against, logged_generations, read_again
from tests.harness.judging.topic_history.stories import Story
from tests.soaking import SEED

from groupproof.harness.judging.diagnosis.causes import Cause

_RIGHT_SHARE = 0.95


def _story() -> Story:
    story = Story()
    for number, name in enumerate(("a-1", "b-1"), 1):
        story.epoch_member(number, name)
        story.epoch(number, number)
    return story


def _deed(cause: Cause, before: int, after: int) -> Deed:
    return Deed(group="g", name="deed", cause=cause, before=before, after=after)


def test_what_the_topic_tells_rightly_is_counted_as_right() -> None:
    truth = hold_against([_deed(Cause.FIRST_MEMBER, 0, 1), _deed(Cause.NEW_MEMBER, 1, 2)], _story().history.groups)

    assert (truth.done, truth.found, truth.right, truth.certain, truth.certain_and_wrong, truth.wrong) == (2, 2, 2, 2, 0, [])


def test_a_wrong_cause_and_a_rebalance_that_is_missing_are_named() -> None:
    truth = hold_against([_deed(Cause.FIRST_MEMBER, 0, 1), _deed(Cause.LEFT, 1, 3)], _story().history.groups)

    assert (truth.done, truth.found, truth.right, truth.certain_and_wrong) == (3, 2, 1, 1)
    assert [line.partition(":")[0] for line in truth.wrong] == ["g 3", "g 2"]


def test_what_the_broker_logged_is_what_has_to_be_found(tmp_path: Path) -> None:
    (tmp_path / "broker-0.log").write_text(
        "1 INFO x - Assignment received from leader m-1 for group c for generation 4. The group has 9 members\n"
        "2 INFO x - [GroupCoordinator id=0] [GroupId g] Bumped group epoch to 2 with metadata hash 7.\n"
    )
    logged = logged_generations(tmp_path)
    assert logged == {("c", 4), ("g", 2)}

    truth = hold_against([_deed(Cause.NEW_MEMBER, 1, 3)], _story().history.groups, logged)
    assert (truth.done, truth.found) == (1, 1)


def test_everything_befalls_every_group_and_half_of_them_speak_the_consumer_protocol() -> None:
    plans = deal_deeds(50, 10, random.Random(1))

    assert len({frozenset(plan.deeds) for plan in plans}) == 1
    assert len({plan.deeds for plan in plans}) > 10, "in an order of its own"
    assert (sum(plan.by_epochs for plan in plans), sum(plan.members for plan in plans)) == (25, 500)


@pytest.mark.soak
@pytest.mark.network
@pytest.mark.java
@pytest.mark.parametrize("release", ["4.1.0", "4.4.0"])
def test_of_fifty_groups_under_churn_every_rebalance_is_found_and_nothing_certain_is_wrong(release: str, tmp_path: Path) -> None:
    deeds, watch = churn(release, tmp_path, groups=50, members=10, seed=SEED)
    truth = hold_against(deeds, watch.history.groups, logged_generations(tmp_path))

    assert truth.found == truth.done, truth.text
    assert truth.certain_and_wrong == 0, truth.text
    assert truth.right >= _RIGHT_SHARE * truth.done, truth.text
    assert truth.restarts_found == truth.restarts, truth.text
    assert read_again(tmp_path, watch) == {name: group.to_json() for name, group in watch.history.groups.items()}, "read at once it tells the same"
