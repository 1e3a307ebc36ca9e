from __future__ import annotations

import pytest
from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.classic.test_universal import long_story

from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_FOLDS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.judging.checkers.requirements import SPEAKS_OF, requirements_judged
from groupproof.protocol.rules.requirements import by_id


def test_every_fold_of_every_case_says_of_what_it_speaks() -> None:
    assert set(SPEAKS_OF) == {*UNIVERSAL_FOLDS, *CONSUMER_CHECKERS.members}
    assert {name for fold in CONSUMER_CHECKERS.members for name in SPEAKS_OF[fold]} == set(CONSUMER_CHECKERS.member_requirements)


@pytest.mark.parametrize("requirement", sorted({name for of in SPEAKS_OF.values() for name in of}))
def test_what_they_speak_of_is_in_the_catalogue(requirement: str) -> None:
    assert by_id(requirement).id == requirement


def test_a_trace_is_judged_only_by_what_stands_in_it() -> None:
    trace = long_story(2).trace
    without_commits = [obs for obs in trace if obs.api != "OffsetCommit" and obs.body.get("name") != "offsets_committed"]

    assert requirements_judged(trace) - requirements_judged(without_commits) == {"CLIENT-62", "CLIENT-66", "CLIENT-69", "COMMIT-27"}
    assert "STATIC-10" not in requirements_judged(trace), "no member is static"
    assert "LEAVE-55" not in requirements_judged(trace), "nobody leaves"
    assert requirements_judged([]) == frozenset()


def test_what_is_held_of_members_with_epochs_is_judged_only_where_somebody_has_one() -> None:
    with_epochs = EpochStory().settled().trace
    commits = [obs for obs in long_story(2).trace if obs.api == "OffsetCommit"]

    assert {"CGC-01", "CGC-07", "CGI-17", "CGI-18", "CGI-19"} <= requirements_judged(with_epochs)
    assert "CGP-04" not in requirements_judged(with_epochs), "nobody commits"
    assert "CGP-04" in requirements_judged([*with_epochs, *commits])
    assert requirements_judged(commits).isdisjoint(CONSUMER_CHECKERS.member_requirements)
