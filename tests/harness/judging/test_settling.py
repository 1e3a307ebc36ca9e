"""A group has settled when all its members share all partitions and were answered: told by hand, and of a group of the kit's own."""

from __future__ import annotations

import pytest
from tests.epoch_traces import EpochStory
from tests.traces import Story

from groupproof.harness.judging.settling import Settling

T0, T1 = ("t", 0), ("t", 1)


def of_two(*, generations: tuple[int, int] = (2, 2), gets: tuple[tuple[str, int], ...] = (T1,), entry: bool = True) -> Story:
    """Tell how m0 and m1 came into a group, with T0 for m0 and `gets` for m1."""
    story = Story()
    for client, generation, mine in zip(("m0", "m1"), generations, ((T0,), gets), strict=True):
        story.join(client, gets=f"{client}-1", generation=generation)
        story.sync(client, member=f"{client}-1", generation=generation, gets=mine)
        if entry:
            story.partitions("assigned", *mine, client=client)
        story.beat(client, member=f"{client}-1", generation=generation)
    return story


def settled(story: Story, after: str | None = None) -> str:
    """Return what is missing at the story's end."""
    settling = Settling(("m0", "m1"), {"t": 2}, after)
    holds = [settling.feed(obs) for obs in story.trace]
    assert holds[-1] is (settling.missing() == "") or after is not None
    return settling.missing()


def test_a_group_whose_members_share_all_and_are_answered_has_settled() -> None:
    assert settled(of_two()) == ""


@pytest.mark.parametrize(
    ("story", "missing"),
    [
        (of_two(gets=(T0, T1)), "two owners"),
        (of_two(gets=()), "1 partitions have no owner"),
        (of_two(generations=(1, 2)), "not of one generation"),
        (of_two(entry=False), "does not know all its partitions"),
    ],
)
def test_it_has_not_while_the_shares_do_not_fit(story: Story, missing: str) -> None:
    assert missing in settled(story)


def of_both(*, epoch: int = 2, owns: tuple[tuple[str, int], ...] = (T1,), entry: bool = True) -> Story:
    """Tell of a classic m0 and of m1, which speaks KIP-848's protocol, in one group: a generation is its epoch."""
    story = EpochStory()
    story.join("m0", gets="m0-1", generation=2)
    story.sync("m0", member="m0-1", generation=2, gets=(T0,))
    story.partitions("assigned", T0, client="m0")
    story.hb(0, "m1", gets=epoch, gives=(T1,), member="m1-1")
    if entry:
        story.partitions("assigned", T1, client="m1")
    story.hb(epoch, "m1", owns=owns, member="m1-1")
    story.beat("m0", member="m0-1", generation=2)
    return story


def test_members_of_both_protocols_settle_in_one_group() -> None:
    assert settled(of_both()) == ""


@pytest.mark.parametrize(
    ("story", "missing"),
    [
        (of_both(epoch=3), "not at one epoch"),
        (of_both(owns=()), "m1 has not said that it owns what it was given"),
        (of_both(entry=False), "the application of m1 does not know all its partitions"),
    ],
)
def test_they_have_not_while_one_of_them_lags(story: Story, missing: str) -> None:
    assert missing in settled(story)


def test_a_member_with_epochs_that_was_killed_is_out_until_it_beats_again() -> None:
    story = of_both()
    story.kit("kill", client="m1")

    assert settled(story) == "m1 has had no heartbeat answered"


@pytest.mark.parametrize(("error", "missing"), [(27, "no Heartbeat answered"), (25, "has no assignment"), (22, "has no assignment")])
def test_an_error_to_a_heartbeat_unsettles_it(error: int, missing: str) -> None:
    story = of_two()
    story.beat("m1", member="m1-1", generation=2, error=error)

    assert missing in settled(story)


def test_a_member_that_joins_again_has_no_assignment_until_it_has_synced_again() -> None:
    story = of_two()
    story.join("m1", member="m1-1", gets="m1-1", generation=3)

    assert settled(story) == "m1 has no assignment"


def test_a_member_that_was_killed_is_not_in_the_group() -> None:
    story = of_two()
    story.see("event", who="kit", client="m1", body={"name": "kill"})

    assert settled(story) == "m1 has no assignment"


def test_what_an_eager_assignment_does_not_name_is_gone_and_what_a_cooperative_one_does_not_is_kept() -> None:
    def twice(protocol: str) -> str:
        story = of_two(gets=(T0,))
        story.join("m0", member="m0-1", gets="m0-1", generation=3, protocol=protocol)
        story.sync("m0", member="m0-1", generation=3, gets=(T0, T1))
        story.partitions("assigned", T1)
        story.beat("m0", member="m0-1", generation=3)
        return settled(story)

    assert "m0" in twice("range")
    assert "m0" not in twice("cooperative-sticky")


def test_heartbeats_before_the_mark_do_not_count() -> None:
    story = of_two().mark("healed")
    assert "no Heartbeat" in settled(story, after="healed")

    for client in ("m0", "m1"):
        story.beat(client, member=f"{client}-1", generation=2)
    assert settled(story, after="healed") == ""


@pytest.mark.parametrize(("rule", "missing"), [("Unloaded/Stable/unloaded", ""), ("Cleanup/Empty/gone", "m0 has no assignment")])
def test_a_group_that_moved_away_continues_with_its_members_and_one_that_ended_does_not(rule: str, missing: str) -> None:
    story = of_two()
    story.see("transition", who="coordinator", state_before="Stable", state_after="Dead", generation=2, rule=rule)
    for name in ("m0", "m1"):
        story.beat(name, member=f"{name}-1", generation=2)

    assert settled(story) == missing
