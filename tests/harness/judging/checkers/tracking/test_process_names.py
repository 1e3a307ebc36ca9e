from __future__ import annotations

from dataclasses import replace

from tests.traces import Story

from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.process_names import Naming, with_process_names
from groupproof.protocol.vocabulary import Api


def beat(story: Story, connection: int, member: str, client: str = "app") -> None:
    story.beat(client, member=member, connection=connection)


def join(story: Story, connection: int, gets: str, *, member: str = "", client: str = "app") -> None:
    request = story.request(Api.JOIN_GROUP, client, member=member, connection=connection)
    story.answer(request, member=gets)


def names(story: Story) -> list[str | None]:
    naming = Naming()
    return [obs.client for obs in map(naming.named, story.trace) if obs.kind == "request"]


def test_one_process_keeps_its_client_id_and_later_ones_are_numbered() -> None:
    story = Story()
    join(story, 1, "a")
    story.beat("app", member="a", connection=1)
    join(story, 2, "b")

    assert names(story) == ["app", "app", "app#2"]


def test_a_commit_without_a_member_id_is_its_connections_unless_a_process_spoke_there() -> None:
    story = Story()
    join(story, 1, "a")
    for connection in (1, 2):
        story.exchange(Api.OFFSET_COMMIT, "app", member="", generation=-1, connection=connection)
    story.exchange(Api.OFFSET_COMMIT, "app", member="a", generation=1, connection=3)

    assert names(story) == ["app", "app", "app@2", "app"]
    assert final_names(story) == ["app", "app", "app@2", "app"]


def test_a_process_is_known_again_on_a_new_connection_by_its_member_id() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    story.see("event", who="link", connection=2, body={"name": "closed"})
    story.beat("app", member="b", connection=3)

    assert names(story)[-1] == "app#2"


def test_what_comes_before_a_member_is_named_is_the_connections_own() -> None:
    story = Story()
    story.find("app", connection=5)
    join(story, 1, "a")
    story.find("app", connection=6)
    story.commit(("t", 0, 1), client="app", member="", generation=-1)

    assert names(story) == ["app@5", "app", "app@6", "app"]


def test_a_process_of_which_its_application_tells_is_known_again_by_its_client_id() -> None:
    story = Story()
    story.kit("command", "app", command="subscribe")
    join(story, 1, "a")
    story.see("event", who="link", connection=1, body={"name": "closed"})
    story.exchange(Api.LEAVE_GROUP, "app", member="a", connection=2)
    join(story, 2, "b")

    assert names(story) == ["app", "app", "app"]


def test_of_two_that_joined_before_a_callback_each_keeps_its_own_member_id() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    story.partitions("assigned", ("t", 0), client="app")
    story.beat("app", member="b", connection=3)
    join(story, 4, "c")

    assert names(story) == ["app", "app#2", "app#2", "app"]


def test_a_leave_group_of_nobodys_is_an_administrators() -> None:
    story = Story()
    join(story, 1, "a")
    story.exchange(Api.LEAVE_GROUP, "admin", connection=7, body={"members": [{"member_id": "a"}]})

    assert names(story)[-1] is None


def test_the_first_of_several_is_shown_with_its_number() -> None:
    story, naming = Story(), Naming()
    join(story, 1, "a")
    join(story, 2, "b")
    join(story, 3, "c", client="other")
    for obs in story.trace:
        naming.named(obs)

    assert [naming.label_of(name) for name in ("app", "app#2", "other")] == ["app#1", "app#2", "other"]


def test_a_leave_group_on_a_connection_of_its_own_is_the_members_that_it_names() -> None:
    story, naming = Story(), Naming()
    join(story, 1, "a")
    join(story, 2, "b")
    story.exchange(Api.LEAVE_GROUP, "app", connection=7, body={"members": [{"member_id": "b"}]})

    assert [naming.named(obs).client for obs in story.trace][-2:] == ["app#2", "app#2"], "the request and its answer"


def final_names(story: Story) -> list[str | None]:
    """Return the clients of the requests, told apart."""
    return [obs.client for obs in with_process_names(story.trace) if obs.kind == "request"]


def test_of_a_whole_trace_one_process_keeps_its_client_id() -> None:
    story = Story()
    join(story, 1, "a")
    beat(story, 1, "a")

    assert final_names(story) == ["app", "app"]


def test_of_a_whole_trace_processes_of_one_client_id_are_numbered() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    beat(story, 1, "a")
    beat(story, 2, "b")

    assert final_names(story) == ["app#1", "app#2", "app#1", "app#2"]


def test_of_a_whole_trace_a_process_is_known_again_on_a_new_connection_by_its_member_id() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    beat(story, 3, "a")

    assert final_names(story)[-1] == "app#1"


def test_of_a_whole_trace_a_process_that_names_anothers_member_id_is_not_the_other() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    beat(story, 2, "a")

    assert final_names(story)[-1] == "app#2"


def test_of_a_whole_trace_a_connection_on_which_nobody_joined_is_by_itself_where_names_are_shared() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    story.find("app", connection=3)

    assert final_names(story)[-1] == "app@3"


def test_of_a_whole_trace_a_client_id_of_which_an_application_tells_is_one_process() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    story.exchange(Api.LEAVE_GROUP, "app", member="b", connection=3)
    story.partitions("assigned", ("t", 0), client="app")

    assert final_names(story) == ["app", "app", "app"]


def test_of_a_whole_trace_an_administrators_leave_group_is_no_clients() -> None:
    story = Story()
    join(story, 1, "a")
    story.exchange(Api.LEAVE_GROUP, "tool", member="a", connection=9)

    assert final_names(story)[-1] is None


def test_of_a_whole_trace_a_leave_group_on_a_connection_of_its_own_is_the_members_that_it_names() -> None:
    story = Story()
    join(story, 1, "a")
    join(story, 2, "b")
    leave = story.exchange(Api.LEAVE_GROUP, "app", member="b", connection=3)

    assert [obs.client for obs in with_process_names(story.trace)[leave.seq :]] == ["app#2", "app#2"], "the request and its answer"


def test_heartbeats_that_may_bring_an_id_have_a_name_when_their_member_had_one_before() -> None:
    story, naming = Story(), Naming()
    join(story, 1, "a")
    for obs in story.trace:
        naming.named(obs)
    epochs = frozenset({Api.CONSUMER_GROUP_HEARTBEAT.title})
    of_member = {member: Steady(client="", wire_client="app", member=member, connection=1, generation=1, apis=epochs) for member in ("a", "b")}

    assert {member: naming.steady_name(steady) for member, steady in of_member.items()} == {"a": "app", "b": None}


def test_a_process_without_a_client_id_has_a_name_too_and_events_of_links_have_none() -> None:
    story = Story()
    for connection, client in ((1, None), (2, "")):
        story.answer(story.request(Api.JOIN_GROUP, connection=connection), member=f"M{connection}")
        story.trace[-2:] = [replace(obs, client=client) for obs in story.trace[-2:]]
    link = story.see("event", who="link", connection=1, body={"name": "closed"})

    assert names(story) == ["(no client id)", "(no client id)#2"]
    assert final_names(story) == ["(no client id)#1", "(no client id)#2"]
    assert Naming().named(link).client is None
