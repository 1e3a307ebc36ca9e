from __future__ import annotations

from tests.traces import ID, Story

from groupproof.harness.judging.checkers.embedded.connect_frames import (
    assignment_in,
    assignments_in_sync,
    jobs_in_words,
    jobs_run,
    led_generations,
    received_jobs,
    states_in,
)
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.embedded.connect_protocol import ConnectAssignment, WorkerState, encode_connect_assignment, encode_worker_state

JOBS = (("c", -1), ("c", 0))
HELD = ConnectAssignment(leader=ID, leader_url="u", offset=1, assigned=JOBS, version=1)
STATE = WorkerState(url="u", offset=1, assignment=HELD, version=1)


def led(story: Story, *, metadata: bytes = encode_worker_state(STATE)) -> None:
    """Let m0 lead a generation in which it revokes the task from itself."""
    body = {"protocol_type": "connect", "protocols": [{"name": "compatible", "metadata": metadata}]}
    request = story.request(Api.JOIN_GROUP, member=ID, body=body)
    members = [{"member_id": ID, "metadata": metadata}]
    answer = {"member_id": ID, "leader": ID, "protocol_name": "compatible", "members": members}
    story.answer(request, member=ID, generation=1, body=answer)
    blob = encode_connect_assignment(ConnectAssignment(leader=ID, leader_url="u", offset=1, revoked=(("c", 0),), delay_ms=5, version=1))
    sync = story.request(Api.SYNC_GROUP, member=ID, generation=1, body={"assignments": [{"member_id": ID, "assignment": blob}]})
    story.answer(sync, member=ID, generation=1, body={"assignment": blob})


def test_what_a_leader_hands_out_is_read_with_what_the_members_said_before() -> None:
    story = Story()
    led(story)
    (generation,) = led_generations(story.evidence, "m0")

    assert (generation.leader, generation.version, generation.delay_ms) == (ID, 1, 5)
    assert generation.running(ID) == frozenset(JOBS)
    assert generation.result(ID) == generation.results() == {("c", -1)}


def test_an_assignment_that_reached_a_worker_is_read_and_its_states_too() -> None:
    story = Story()
    led(story)
    (item,) = received_jobs(story.evidence, "m0")

    assert item.assignment.revoked == (("c", 0),)
    assert states_in(story.evidence.requests(Api.JOIN_GROUP)[0]) == {"compatible": STATE}
    assert jobs_run(STATE) == frozenset(JOBS)


def test_bytes_that_cannot_be_read_are_nothing() -> None:
    story = Story()
    led(story, metadata=b"?")
    (generation,) = led_generations(story.evidence, "m0")

    assert (generation.states, generation.running(ID)) == ({ID: None}, frozenset())
    assert states_in(story.evidence.requests(Api.JOIN_GROUP)[0]) == {"compatible": None}
    assert assignment_in(story.answer(story.request(Api.SYNC_GROUP), body={})) is None
    assert jobs_run(None) == frozenset()


def test_a_consumers_frames_say_nothing_of_workers() -> None:
    story = Story()
    story.member()

    assert states_in(story.evidence.requests(Api.JOIN_GROUP)[0]) == {}
    assert assignments_in_sync(story.request(Api.SYNC_GROUP)) == {}


def test_a_connector_goes_by_its_name_and_a_task_by_its_number() -> None:
    assert jobs_in_words(JOBS) == "c, c-0"
    assert jobs_in_words(frozenset()) == "nothing"
