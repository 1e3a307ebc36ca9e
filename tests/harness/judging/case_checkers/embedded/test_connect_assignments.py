from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.embedded.connect_assignments import (
    agrees_on,
    answers_mismatch,
    assigns_everything,
    assigns_once,
    keeps_lost_jobs_back,
    leaves_others_alone,
    revokes,
    revokes_first,
)
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import (
    CONFIG_MISMATCH,
    CONNECT_PROTOCOLS,
    ConnectAssignment,
    WorkerState,
    encode_connect_assignment,
    encode_worker_state,
)

OTHER = "other"
ONE, TWO = ("c", 0), ("c", 1)
Jobs = tuple[TopicPartition, ...]


def gives(*assigned: TopicPartition, revoked: Jobs = (), leader: str = ID, url: str = f"http://{ID}/", **fields: int) -> ConnectAssignment:
    return ConnectAssignment(leader=leader, leader_url=url, assigned=assigned, revoked=revoked, **{"offset": 1, "version": 1, **fields})


def leads(
    story: Story,
    running: Mapping[str, Jobs],
    dealt: Mapping[str, ConnectAssignment],
    *,
    version: int = 1,
    offset: int = 1,
    until_ms: float | None = None,
) -> None:
    """Let m0 lead a generation of members that run this, and hand this out, `until_ms` at the latest."""
    members = [
        {
            "member_id": name,
            "metadata": encode_worker_state(
                WorkerState(
                    url=f"http://{name}/", offset=1 if name == ID else offset, assignment=ConnectAssignment(assigned=jobs, version=1), version=version
                )
            ),
        }
        for name, jobs in running.items()
    ]
    join = story.request(Api.JOIN_GROUP, member=ID, body={"protocol_type": "connect"})
    body = {"member_id": ID, "leader": ID, "protocol_name": CONNECT_PROTOCOLS[version], "members": members}
    story.answer(join, member=ID, generation=1, body=body)
    if until_ms is not None:
        story.at(until_ms)
    assignments = [{"member_id": name, "assignment": encode_connect_assignment(item)} for name, item in dealt.items()]
    story.answer(story.request(Api.SYNC_GROUP, member=ID, generation=1, body={"assignments": assignments}), member=ID, generation=1, body={})


@pytest.mark.parametrize(
    ("dealt", "expected"),
    [
        ({ID: gives(), OTHER: gives()}, Verdict.OK),
        ({ID: gives(version=2), OTHER: gives(version=2)}, Verdict.OK),  # versions 1 and 2 are alike
        ({ID: gives(version=0), OTHER: gives(version=0)}, Verdict.FAILED),
        ({ID: gives()}, Verdict.FAILED),
        ({ID: gives(leader="x"), OTHER: gives()}, Verdict.FAILED),
        ({ID: gives(url="x"), OTHER: gives()}, Verdict.FAILED),
        ({ID: gives(offset=0), OTHER: gives()}, Verdict.FAILED),
    ],
)
def test_an_assignment_is_of_the_agreed_format_for_each_member_and_names_leader_and_offset(
    dealt: dict[str, ConnectAssignment], expected: Verdict
) -> None:
    story = Story()
    leads(story, {ID: (), OTHER: ()}, dealt)

    assert verdict(agrees_on("m0", "compatible"), story) is expected


def test_a_job_of_two_workers_is_failed_and_one_that_moves_is_not() -> None:
    twice, once = Story(), Story()
    leads(twice, {ID: (ONE,), OTHER: ()}, {ID: gives(), OTHER: gives(ONE)})
    leads(once, {ID: (ONE,), OTHER: ()}, {ID: gives(revoked=(ONE,)), OTHER: gives()})

    assert findings(assigns_once("m0"), twice)[0].detail == "c-0"
    assert verdict(assigns_once("m0"), once) is Verdict.OK


def test_a_job_that_two_workers_report_is_failed_only_once_the_leader_gives_it_again() -> None:
    left, revoked, third, eager = Story(), Story(), Story(), Story()
    leads(left, {ID: (ONE,), OTHER: (ONE,)}, {ID: gives(), OTHER: gives()})
    leads(revoked, {ID: (ONE,), OTHER: (ONE,)}, {ID: gives(revoked=(ONE,)), OTHER: gives(revoked=(ONE,))})
    leads(third, {ID: (ONE,), OTHER: (ONE,), "third": ()}, {ID: gives(), OTHER: gives(), "third": gives(ONE)})
    leads(eager, {ID: (), OTHER: ()}, {ID: gives(ONE, version=0), OTHER: gives(ONE, version=0)}, version=0)

    assert findings(assigns_once("m0"), left)[0].verdict is Verdict.INFORMATIONAL
    assert verdict(assigns_once("m0"), revoked) is Verdict.OK
    assert verdict(assigns_once("m0"), third) is Verdict.FAILED
    assert verdict(assigns_once("m0"), eager) is Verdict.FAILED


def test_everything_is_to_be_given_out_in_time_and_nothing_else() -> None:
    whole, part, more = Story().mark("start"), Story().mark("start"), Story().mark("start")
    leads(whole, {ID: ()}, {ID: gives(ONE, TWO)})
    leads(part, {ID: ()}, {ID: gives(ONE)})
    leads(more, {ID: ()}, {ID: gives(ONE, TWO, ("d", 0))})
    part.at(20_000).beat()
    more.at(20_000).beat()

    judge = assigns_everything("m0", ONE, TWO, after="start")
    assert verdict(judge, whole) is Verdict.OK
    assert findings(judge, part)[0].observed == "It left connectors or tasks to nobody."
    assert findings(judge, more)[0].observed == "It let workers run what is not configured."


def test_what_moves_is_revoked_before_it_is_assigned() -> None:
    right, early, still = Story().mark("came"), Story().mark("came"), Story().mark("came")
    leads(right, {ID: (ONE, TWO), OTHER: ()}, {ID: gives(revoked=(TWO,)), OTHER: gives()})
    leads(right, {ID: (ONE,), OTHER: ()}, {ID: gives(), OTHER: gives(TWO)})
    leads(early, {ID: (ONE, TWO), OTHER: ()}, {ID: gives(revoked=(TWO,)), OTHER: gives(TWO)})
    leads(still, {ID: (ONE, TWO), OTHER: ()}, {ID: gives(), OTHER: gives()})

    assert verdict(revokes_first("m0", after="came"), right) is Verdict.OK
    assert verdict(revokes_first("m0", after="came"), early) is Verdict.FAILED
    assert verdict(revokes_first("m0", after="came"), still) is Verdict.NON_STRICT


def test_what_was_deleted_is_revoked() -> None:
    done, kept = Story().mark("changed"), Story().mark("changed")
    leads(done, {ID: (ONE, TWO)}, {ID: gives(revoked=(TWO,))})
    leads(kept, {ID: (ONE, TWO)}, {ID: gives()})
    kept.at(20_000).beat()

    assert verdict(revokes("m0", TWO, after="changed"), done) is Verdict.OK
    assert verdict(revokes("m0", TWO, after="changed"), kept) is Verdict.FAILED


def lost(first: ConnectAssignment, later_ms: float, later: ConnectAssignment) -> Story:
    """Tell of a group that loses `other`, with what its leader hands out then, and some time later."""
    story = Story()
    leads(story, {ID: (ONE,), OTHER: (TWO,)}, {ID: gives(), OTHER: gives()})
    story.mark("left")
    leads(story, {ID: (ONE,)}, {ID: first})
    story.at(later_ms)
    leads(story, {ID: (ONE,)}, {ID: later})
    return story


@pytest.mark.parametrize(
    ("first", "later_ms", "later", "expected"),
    [
        (gives(delay_ms=1_000), 1_000, gives(TWO), Verdict.OK),
        (gives(delay_ms=1_000), 500, gives(delay_ms=500), Verdict.OK),
        (gives(delay_ms=1_000), 500, gives(TWO), Verdict.FAILED),
        (gives(delay_ms=3_000), 500, gives(), Verdict.FAILED),
        (gives(TWO), 500, gives(), Verdict.FAILED),
    ],
)
def test_what_was_lost_waits_for_the_delay(first: ConnectAssignment, later_ms: float, later: ConnectAssignment, expected: Verdict) -> None:
    assert verdict(keeps_lost_jobs_back("m0", 1_000, after="left"), lost(first, later_ms, later)) is expected


def test_the_delay_runs_from_when_the_leader_could_compute_not_from_its_late_sync() -> None:
    story = Story()
    leads(story, {ID: (ONE,), OTHER: (TWO,)}, {ID: gives(), OTHER: gives()})
    story.mark("left")
    leads(story, {ID: (ONE,)}, {ID: gives(delay_ms=1_000)}, until_ms=300)
    story.at(1_000)
    leads(story, {ID: (ONE,)}, {ID: gives(TWO)})

    assert verdict(keeps_lost_jobs_back("m0", 1_000, after="left"), story) is Verdict.OK


@pytest.mark.parametrize(("delay_ms", "expected"), [(2_000, Verdict.OK), (2_700, Verdict.FAILED)])
def test_a_leader_that_is_slow_to_say_what_it_computed_prolongs_no_delay(delay_ms: int, expected: Verdict) -> None:
    story = lost(gives(delay_ms=3_000), 1_000, gives(delay_ms=2_000))
    story.at(1_200)
    leads(story, {ID: (ONE,)}, {ID: gives(delay_ms=delay_ms)}, until_ms=1_900)

    assert verdict(keeps_lost_jobs_back("m0", 3_000, after="left"), story) is expected


def test_a_delay_that_no_other_rebalance_met_shows_nothing_of_its_counting_down() -> None:
    story = lost(gives(delay_ms=1_000), 1_000, gives(TWO))

    with pytest.raises(NotReached, match="no other rebalance"):
        findings(keeps_lost_jobs_back("m0", 1_000, after="left", counts_down=True), story)


def test_a_worker_that_stayed_keeps_what_it_runs() -> None:
    alone, moved = Story().mark("left"), Story().mark("left")
    leads(alone, {ID: (ONE,)}, {ID: gives()})
    leads(moved, {ID: (ONE,)}, {ID: gives(revoked=(ONE,))})

    assert verdict(leaves_others_alone("m0", after="left"), alone) is Verdict.OK
    assert verdict(leaves_others_alone("m0", after="left"), moved) is Verdict.NON_STRICT


def test_a_leader_behind_assigns_nothing() -> None:
    right, wrong = Story(), Story()
    refusal = gives(error=CONFIG_MISMATCH, offset=5)
    leads(right, {ID: (), OTHER: ()}, {ID: refusal, OTHER: refusal}, offset=5)
    leads(wrong, {ID: (), OTHER: ()}, {ID: gives(ONE, offset=5), OTHER: refusal}, offset=5)

    assert verdict(answers_mismatch("m0", 5), right) is Verdict.OK
    assert verdict(answers_mismatch("m0", 5), wrong) is Verdict.FAILED
    with pytest.raises(NotReached):
        findings(answers_mismatch("m0", 6), right)
