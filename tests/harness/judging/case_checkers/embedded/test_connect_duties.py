from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.embedded.connect_duties import (
    describes_itself,
    follows_up,
    keeps_membership_in_reach,
    leaves_while_behind,
    names_its_jobs,
    offers,
    says_offset,
    stays_in,
    waits_out_the_delay,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import (
    CONNECT_PROTOCOLS,
    ConnectAssignment,
    WorkerState,
    encode_connect_assignment,
    encode_worker_state,
)

TASK = (("c", 0),)


def joins(
    story: Story,
    *names: str,
    offset: int = 1,
    runs: tuple[TopicPartition, ...] | None = None,
    url: str = "u",
    version: int | None = None,
    kind: str = "connect",
) -> None:
    held = None if runs is None else ConnectAssignment(assigned=runs, version=1)
    protocols = []
    for name in names or ("compatible", "default"):
        state = WorkerState(url=url, offset=offset, assignment=held, version=CONNECT_PROTOCOLS.index(name) if version is None else version)
        protocols.append({"name": name, "metadata": encode_worker_state(state)})
    request = story.request(Api.JOIN_GROUP, member=ID, body={"protocol_type": kind, "protocols": protocols})
    story.answer(request, member=ID, generation=1, body={"member_id": ID, "leader": "l", "protocol_name": names[0] if names else "compatible"})


def assigned(story: Story, *jobs: TopicPartition, revoked: tuple[TopicPartition, ...] = ()) -> None:
    blob = encode_connect_assignment(ConnectAssignment(leader="l", leader_url="u", offset=1, assigned=jobs, revoked=revoked, version=1))
    sync = story.request(Api.SYNC_GROUP, member=ID, generation=1, body={})
    story.answer(sync, member=ID, generation=1, body={"assignment": blob})


def test_what_a_worker_offers_is_held_against_its_protocol_and_its_type() -> None:
    right, wrong, alien = Story(), Story(), Story()
    joins(right)
    joins(wrong, "default", "compatible")
    joins(alien, kind="consumer")

    assert verdict(offers("m0", "compatible", "default"), right) is Verdict.OK
    assert verdict(offers("m0", "compatible", "default"), wrong) is Verdict.FAILED
    assert verdict(offers("m0", "compatible", "default"), alien) is Verdict.FAILED


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, Verdict.OK), ({"offset": 2}, Verdict.FAILED), ({"url": ""}, Verdict.FAILED), ({"version": 2}, Verdict.FAILED)],
)
def test_the_metadata_has_version_url_and_offset(fields: dict[str, int], expected: Verdict) -> None:
    story = Story()
    joins(story, "compatible", **fields)  # type: ignore[arg-type]  # fields by name

    assert verdict(describes_itself("m0", offset=1), story) is expected


def test_a_worker_names_what_it_was_assigned_and_not_revoked_since() -> None:
    story = Story()
    joins(story)
    assigned(story, ("c", 0), ("c", 1))
    joins(story, runs=(("c", 0), ("c", 1)))
    assigned(story, revoked=(("c", 1),))
    joins(story, runs=TASK)

    assert verdict(names_its_jobs("m0"), story) is Verdict.OK
    joins(story, runs=())
    assert findings(names_its_jobs("m0"), story)[-1].detail == "compatible: nothing, not c-0"


def test_a_member_that_never_joins_again_shows_nothing() -> None:
    story = Story()
    joins(story)

    with pytest.raises(NotReached):
        findings(names_its_jobs("m0"), story)


def test_a_worker_that_joins_again_says_how_far_it_has_read() -> None:
    story = Story().mark("changed")
    joins(story, offset=2)

    assert verdict(says_offset("m0", 2, after="changed", requirement="CONNECT-15"), story) is Verdict.OK
    assert verdict(says_offset("m0", 3, after="changed", requirement="CONNECT-15"), story) is Verdict.FAILED


def test_a_worker_that_never_follows_up_is_failed_and_one_that_does_is_not() -> None:
    silent, prompt = Story().mark("revoked"), Story().mark("revoked")
    silent.at(20_000).beat()
    joins(prompt)

    assert verdict(follows_up("m0", after="revoked", requirement="CONNECT-07"), silent) is Verdict.FAILED
    assert verdict(follows_up("m0", after="revoked", requirement="CONNECT-07"), prompt) is Verdict.OK


@pytest.mark.parametrize(("ms", "expected"), [(1_000, Verdict.OK), (500, Verdict.NON_STRICT), (950, Verdict.OK)])
def test_a_delay_is_waited_out(ms: float, expected: Verdict) -> None:
    story = Story().mark("delayed").at(ms)
    joins(story)

    assert verdict(waits_out_the_delay("m0", 1_000, after="delayed"), story) is expected


def test_a_worker_behind_leaves_and_stays_out() -> None:
    gone, back, there = Story().mark("ahead"), Story().mark("ahead"), Story().mark("ahead")
    gone.leave()
    back.leave()
    joins(back)
    there.at(20_000).beat()

    assert verdict(leaves_while_behind("m0", after="ahead"), gone) is Verdict.OK
    assert verdict(leaves_while_behind("m0", after="ahead"), back) is Verdict.NON_STRICT
    assert verdict(leaves_while_behind("m0", after="ahead"), there) is Verdict.FAILED
    assert verdict(stays_in("m0", after="ahead", requirement="CONNECT-14"), there) is Verdict.OK
    assert verdict(stays_in("m0", after="ahead", requirement="CONNECT-14"), gone) is Verdict.FAILED


def moved(*, rejoins_at: float | None, member: str = ID) -> Story:
    """A worker that heartbeats every 3 s is told that its coordinator is not there."""
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={"heartbeat_interval_ms": 3_000})
    story.member().fault("error")
    if rejoins_at is None:
        story.at(500).beat()
    else:
        story.at(rejoins_at).join(member=member, generation=2)
    return story.end(9_000)


@pytest.mark.parametrize(
    ("rejoins_at", "member", "expected"),
    [
        (None, ID, Verdict.OK),
        (3_500, ID, Verdict.OK),  # the lookup took longer than a heartbeat interval: the worker has given its work up
        (500, ID, Verdict.NON_STRICT),
        (3_500, "", Verdict.NON_STRICT),
    ],
)
def test_a_worker_joins_again_only_after_a_heartbeat_interval_without_its_coordinator(
    rejoins_at: float | None, member: str, expected: Verdict
) -> None:
    judge = keeps_membership_in_reach("m0", after="error", requirement="CLIENT-49")

    assert verdict(judge, moved(rejoins_at=rejoins_at, member=member)) is expected
