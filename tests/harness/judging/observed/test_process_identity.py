from __future__ import annotations

from tests.harness.judging.case_checkers.story import Story

from groupproof.harness.judging.observed.process_identity import told_apart
from groupproof.protocol.vocabulary import Api


def names(story: Story) -> list[str | None]:
    """Return the clients of the requests, told apart."""
    return [seen.client for seen in told_apart(story.trace) if seen.kind == "request"]


def beat(story: Story, connection: int, member: str, client: str = "app") -> None:
    story.beat(client, member=member, connection=connection)


def join(story: Story, connection: int, gets: str, *, member: str = "", client: str = "app") -> None:
    request = story.request(Api.JOIN_GROUP, client, member=member, connection=connection)
    story.answer(request, member=gets)


def test_one_process_keeps_its_client_id() -> None:
    story = Story()
    join(story, 1, "a")
    beat(story, 1, "a")

    assert names(story) == ["app", "app"]


def test_processes_of_one_client_id_are_numbered() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    beat(story, 1, "a")
    beat(story, 2, "b")

    assert names(story) == ["app#1", "app#2", "app#1", "app#2"]


def test_a_process_is_known_again_on_a_new_connection_by_its_member_id() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    beat(story, 3, "a")

    assert names(story)[-1] == "app#1"


def test_a_process_that_names_anothers_member_id_is_not_the_other() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    beat(story, 2, "a")

    assert names(story)[-1] == "app#2"


def test_a_connection_on_which_nobody_joined_is_by_itself_where_names_are_shared() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    story.find("app", connection=3)

    assert names(story)[-1] == "app@3"


def test_a_client_id_of_which_an_application_tells_is_one_process() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    story.said(Api.LEAVE_GROUP, "app", member="b", connection=3)
    story.partitions("assigned", ("t", 0), client="app")

    assert names(story) == ["app", "app", "app"]


def test_an_administrators_leave_group_is_no_clients() -> None:
    story = Story()
    join(story, 1, "a")
    story.said(Api.LEAVE_GROUP, "tool", member="a", connection=9)

    assert names(story)[-1] is None


def test_a_leave_group_on_a_connection_of_its_own_is_the_members_that_it_names() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    leave = story.said(Api.LEAVE_GROUP, "app", member="b", connection=3)

    assert [seen.client for seen in told_apart(story.trace)[leave.seq :]] == ["app#2", "app#2"], "the request and its answer"
