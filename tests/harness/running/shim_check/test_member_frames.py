from __future__ import annotations

import pytest
from tests.epoch_traces import BOTH, EpochStory

from groupproof.harness.running.shim_check.member_frames import CLASSIC_FRAMES, CONSUMER_FRAMES, MemberFrames, frames_of


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [(["consumer"], CONSUMER_FRAMES), (["classic", "consumer"], CLASSIC_FRAMES), (["classic"], CLASSIC_FRAMES), ([], CLASSIC_FRAMES)],
)
def test_only_a_shim_without_the_classic_protocol_is_checked_in_a_consumer_group(capabilities: list[str], expected: MemberFrames) -> None:
    assert frames_of(capabilities) is expected


def test_a_heartbeat_leaves_or_goes_on_by_its_epoch() -> None:
    story = EpochStory()

    for epoch, leaves in ((0, False), (1, False), (-1, True), (-2, True)):
        beat = story.hb(epoch)
        assert (CONSUMER_FRAMES.leaves(beat), CONSUMER_FRAMES.beats(beat)) == (leaves, not leaves)


def test_an_answer_assigns_what_it_names() -> None:
    story = EpochStory()
    full, empty = (story.reply(story.ask(1), gives=gives) for gives in (BOTH, None))

    assert (CONSUMER_FRAMES.assigns(full), CONSUMER_FRAMES.assigns(empty)) == (True, False)


@pytest.mark.parametrize(("epoch", "owns", "releases"), [(1, BOTH[:1], True), (1, BOTH, False), (1, None, False), (0, (), False)])
def test_a_member_releases_what_it_lists_no_more(epoch: int, owns: tuple[tuple[str, int], ...] | None, releases: bool) -> None:
    assert CONSUMER_FRAMES.releases(EpochStory().hb(epoch, owns=owns), len(BOTH)) is releases
