"""Whose partitions a client fetches: two clients, m0 on connection 1 and m1 on connection 2, that the kit drives."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.shared.fetches import UNSHOWN_MS, FetchesStayWithOwners
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

T0, T1 = ("t", 0), ("t", 1)
OTHER = "m1-1"
ANOTHERS = "It went on fetching a partition that its generation gave to another member."
NEVER = "It fetched a partition that was never assigned to it."


def fetch(
    story: Story, *partitions: tuple[str, int], client: str = "m0", connection: int = 7, is_answered: bool = True, epoch: int = -1
) -> Observation:
    offsets = tuple((topic, number, 0) for topic, number in partitions)
    request = story.request(Api.FETCH, client, connection=connection, offsets=offsets, group=None, body={"session_id": 0, "session_epoch": epoch})
    if is_answered:
        story.answer(request)
    return request


def observed_of(story: Story) -> list[str]:
    return [finding.observed for finding in findings_of(FetchesStayWithOwners(), story.trace)]


def handed_over(*, is_told: bool = True, is_driven: bool = True, protocol: str = "range") -> Story:
    """Generation 1 gives m0 both partitions; generation 2, at one second, the second of them to m1."""
    story = Story()
    for client in ("m0", "m1") if is_driven else ():
        story.kit("command", client, command="subscribe", fields={})
    story.join(protocol=protocol)
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    story.at(1_000).join(member=ID, generation=2, protocol=protocol)
    story.join("m1", gets=OTHER, generation=2, protocol=protocol)
    story.sync("m1", member=OTHER, generation=2, gets=[T1])
    story.sync(generation=2, gets=[T0])
    if is_told:
        story.partitions("assigned", T0)
    return story


def fetching(story: Story, at: Sequence[float], *partitions: tuple[str, int], client: str = "m0") -> Story:
    for ms in at:
        fetch(story.at(ms), *partitions, client=client)
    return story.at(story.trace[-1].at_ms + 1_000).end()


def test_a_client_that_still_fetches_anothers_partitions_is_found_whatever_its_application_says() -> None:
    story = fetching(handed_over(), (1_000, 1_500, 2_000), T0, T1)

    (found,) = findings_of(FetchesStayWithOwners(), story.trace)
    assert (found.observed, found.verdict, found.proof, found.requirement) == (ANOTHERS, Verdict.FAILED, Proof.SAFETY, "ASSIGN-09")
    assert found.detail == str(T1)


@pytest.mark.parametrize(("assignment", "found"), [(b"", [ANOTHERS]), (b"\x00\x01its own", [])])
def test_nobody_knows_what_is_anothers_by_an_assignment_that_the_kit_cannot_read(assignment: bytes, found: list[str]) -> None:
    story = handed_over()
    story.join(member=ID, generation=3)
    story.join("m1", gets=OTHER, generation=3)
    story.sync("m1", member=OTHER, generation=3, gets=[T1])
    asked = story.request(Api.SYNC_GROUP, member=ID, generation=3, body={"assignments": []})
    story.answer(asked, body={"assignment": assignment})
    story.partitions("assigned", T1)

    assert observed_of(fetching(story, (1_500, 2_000, 2_500), T1)) == found


@pytest.mark.parametrize("at", [(1_000,), (1_000, 1_100, 1_200, 1_290), (1_000, 1_500)])
def test_what_was_on_its_way_and_a_single_slip_are_no_fault(at: tuple[float, ...]) -> None:
    assert observed_of(fetching(handed_over(), at, T0, T1)) == []


def test_a_fetch_that_none_was_answered_before_may_have_waited_on_its_way() -> None:
    story = handed_over()
    for ms in (1_400, 1_600, 1_900):
        fetch(story.at(ms), T1, connection=round(ms), is_answered=False)
    assert observed_of(story.at(9_000).end()) == []

    story = handed_over()
    for ms in (2_100, 2_600):
        fetch(story.at(ms), T1, connection=round(ms), is_answered=False)
    assert observed_of(story.at(9_000).end()) == [ANOTHERS]


def test_a_client_that_has_not_shown_that_it_read_its_assignment_is_given_time() -> None:
    assert observed_of(fetching(handed_over(is_told=False), (1_500, 2_000, 2_500, 3_000), T1)) == []
    late = 1_000 + UNSHOWN_MS
    assert observed_of(fetching(handed_over(is_told=False), (late, late + 500, late + 1_000), T1)) == [ANOTHERS]


def test_a_member_that_asks_for_committed_offsets_has_read_its_assignment() -> None:
    story = handed_over(is_told=False)
    story.exchange(Api.OFFSET_FETCH, partitions=(T0,))

    assert observed_of(fetching(story, (1_000, 1_500, 2_000), T1)) == [ANOTHERS]


def test_an_owner_fetches_and_the_one_that_was_given_it_too() -> None:
    assert observed_of(fetching(handed_over(), (1_000, 1_500, 2_000), T0)) == []
    assert observed_of(fetching(handed_over(), (1_000, 1_500, 2_000), T1, client="m1")) == []


def test_an_eager_member_whose_join_is_parked_costs_nobody_by_its_fetches() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    story.join()
    story.sync(gets=[T0, T1])
    story.partitions("assigned", T0, T1)
    story.request(Api.JOIN_GROUP, member=ID)

    assert observed_of(fetching(story, (500, 1_000, 1_500, 2_000), T0, T1)) == []


def test_a_member_that_the_group_went_on_without_cannot_know() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    story.join()
    story.sync(gets=[T0])
    story.partitions("assigned", T0)
    story.join("m1", gets=OTHER, generation=2)
    story.sync("m1", member=OTHER, generation=2, gets=[T0])

    assert observed_of(fetching(story, (500, 1_000, 1_500, 2_000), T0)) == []


def test_what_nobody_else_was_given_is_in_nobodys_way() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    story.join(protocol="cooperative-sticky")
    story.sync(gets=[T0, T1])
    story.at(1_000).join(member=ID, generation=2, protocol="cooperative-sticky")
    story.sync(generation=2, gets=[T0])
    story.partitions("revoked", T1)

    assert observed_of(fetching(story, (1_000, 1_500, 2_000), T0, T1)) == []


def test_a_partition_that_no_answer_ever_gave_is_found() -> None:
    story = fetching(handed_over(), (1_000, 1_500), ("t", 5), client="m1")

    (found,) = findings_of(FetchesStayWithOwners(), story.trace)
    assert (found.observed, found.proof, found.requirement, found.detail) == (NEVER, Proof.SAFETY, "CLIENT-63", str(("t", 5)))


def test_an_answer_that_is_recorded_a_little_after_the_client_acted_on_it_gave_the_partition() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    story.join()
    fetch(story, T0)
    fetch(story, T0)
    story.at(50).sync(gets=[T0])

    assert observed_of(story.at(1_000).end()) == []


def test_a_topic_of_which_only_the_id_is_known_is_no_topic_of_the_group() -> None:
    assert observed_of(fetching(handed_over(), (1_000, 1_500), ("b2a3-uuid", 5))) == []


def test_a_client_without_a_driver_may_share_its_client_id_or_assign_manually() -> None:
    assert observed_of(fetching(handed_over(is_driven=False), (1_000, 1_500, 2_000), T0, T1, ("t", 5))) == []


def test_a_killed_client_has_no_assignment_that_it_could_break() -> None:
    story = handed_over()
    story.kit("kill", "m0")

    assert observed_of(fetching(story, (1_500, 2_000, 2_500, 3_000), T1)) == []


def test_a_group_that_was_created_again_gave_nothing_before() -> None:
    story = handed_over()
    story.see("transition", group="g", state_before=None, state_after="Empty", generation=0)
    story.join(gets="m0-2", generation=1)
    story.sync(member="m0-2", generation=1, gets=[T0])
    story.partitions("assigned", T0)

    assert observed_of(fetching(story, (1_500, 2_000, 2_500), T1)) == []


def test_the_stored_checker_continues_where_it_stopped() -> None:
    fold = FetchesStayWithOwners()
    found = []
    for obs in fetching(handed_over(), (1_000, 1_500, 2_000), T0, T1).trace:
        found += [finding.observed for finding in fold.step(obs)]
        fold = pickle.loads(pickle.dumps(fold))

    assert [*found, *(finding.observed for finding in fold.end())] == [ANOTHERS]
