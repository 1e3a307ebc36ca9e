from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.harness.subjects.tap.tapped import Scene, played

from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.both_sides import upstream_of
from groupproof.harness.judging.observed.coordinator_side import judge_answers, judge_coordinator
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.subjects.networks.request_connection import Asker, asking
from groupproof.protocol.faults import Answer, Fault, Selector
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

TOLD = {"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "100"}
EPOCHS = {
    "group.consumer.min.heartbeat.interval.ms": 100, "group.consumer.heartbeat.interval.ms": 300, "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 3000,
}  # fmt: skip


async def two_members(scene: Scene) -> None:
    first, second = scene.shop("m0"), scene.shop("m1")
    await first.join()
    await second.join()
    await first.until("partitions_assigned", 2)
    await first.say("commit", mode="sync", offsets=[["t", 0, 1]])
    await first.until("offsets_committed")
    await second.close()
    await first.until("partitions_assigned", 3)
    await first.close()


def with_settings(trace: Trace) -> Trace:
    """Return the trace with the settings told, which the reference cluster does not do."""
    return [replace(obs, body={**obs.body, "settings": TOLD}) if obs.body.get("name") == "upstream" else obs for obs in trace]


@pytest.fixture(scope="module")
def seen_whole() -> Trace:
    return with_settings(played(two_members))


def judged(trace: Trace, **more: Any) -> CaseResult:
    (result,) = judge_coordinator(trace, upstream_of(trace), **more)
    assert isinstance(result, CaseResult), result
    return result


def why_not(trace: Trace, **more: Any) -> str:
    (result,) = judge_coordinator(trace, upstream_of(trace), **more)
    assert isinstance(result, UnjudgedSide), result
    assert (result.group, result.side) == ("g", "coordinator")
    return result.why


def test_a_coordinator_that_keeps_its_rules_is_ok(seen_whole: Trace) -> None:
    result = judged(seen_whole)

    assert (result.case.id, result.ruling.verdict) == ("answered/classic/g", Verdict.OK)
    assert "requests were answered as kafka-4.1 does" in result.ruling.observed
    assert {"PEND-01", "TR-082"} <= set(result.case.requirements)


def test_a_coordinator_that_breaks_a_rule_fails_by_its_requirement() -> None:
    trace = with_settings(played(two_members, variant=variant_named("assignments-swapped")))

    result = judged(trace)

    assert result.ruling.verdict is Verdict.FAILED
    assert result.case.requirements[0] == "TR-082"


def test_what_was_late_once_is_no_verdict(seen_whole: Trace) -> None:
    late = next(obs for obs in seen_whole if obs.kind == "response" and obs.api == "SyncGroup")
    trace = [replace(obs, at_ns=obs.at_ns + (5_000_000_000 if obs.seq >= late.seq else 0)) for obs in seen_whole]

    assert judged(trace).ruling.verdict in (Verdict.OK, Verdict.INFORMATIONAL)


def changed(trace: Trace, met_api: str, met_kind: str, /, **columns: Any) -> Trace:
    """Return the trace with the columns of the first such frame changed."""
    first = next(obs.seq for obs in trace if obs.api == met_api and obs.kind == met_kind)
    return [replace(obs, **columns) if obs.seq == first else obs for obs in trace]


def with_link(trace: Trace, *, api: str = "Heartbeat", **body: Any) -> Trace:
    """Return the trace with an event of a link on the connection of the last heartbeat."""
    last = [obs for obs in trace if obs.api == api][-1]
    return [*trace, Observation(seq=len(trace), at_ns=trace[-1].at_ns, kind="event", who="link", connection=last.connection, body=body)]


def with_upstream(trace: Trace, **fields: Any) -> Trace:
    return [replace(obs, body={**obs.body, **fields}) if obs.body.get("name") == "upstream" else obs for obs in trace]


def test_where_brokers_differ_a_group_is_judged_by_the_settings_of_its_coordinator(seen_whole: Trace) -> None:
    node = next(obs.node for obs in seen_whole if obs.api == "JoinGroup" and obs.kind == "response")
    others = {**TOLD, "group.min.session.timeout.ms": "60000"}  # with these the session of each member would be refused
    unlike = "the brokers differ in group.min.session.timeout.ms"
    trace = with_upstream(seen_whole, settings=None, untold=unlike, settings_of_nodes={str(node): TOLD, "77": others})
    elsewhere = with_upstream(seen_whole, settings=None, untold=unlike, settings_of_nodes={str(node): others, "77": TOLD})

    assert judged(trace).ruling.verdict is Verdict.OK
    assert judged(elsewhere).ruling.verdict is Verdict.FAILED


def test_a_group_whose_coordinator_moved_between_brokers_that_differ_is_not_judged(seen_whole: Trace) -> None:
    trace = with_upstream(
        seen_whole, settings=None, untold="the brokers differ in group.max.size", settings_of_nodes={"0": TOLD, "1": TOLD, "77": TOLD}
    )

    assert "the brokers differ in group.max.size; the group was answered by" in why_not(changed(trace, "Heartbeat", "response", node=77))


UNSEEN: dict[str, Callable[[Trace], Trace]] = {
    "the trace does not say what the upstream is": lambda trace: [obs for obs in trace if obs.who != "kit"],
    "it may not": lambda trace: with_upstream(trace, groups=None, untold="it may not"),
    "the group was there before the tap": lambda trace: with_upstream(trace, groups=["g"]),
    "late came between": lambda trace: changed(trace, "Heartbeat", "response", fault="late"),
    "its members asked more than one broker": lambda trace: changed(trace, "Heartbeat", "request", node=77),
    "Heartbeat was answered NOT_COORDINATOR": lambda trace: changed(trace, "Heartbeat", "response", body={"error_code": 16}),
    "offsets were committed in transactions": lambda trace: changed(trace, "OffsetCommit", "request", api="TxnOffsetCommit"),
    "a frame of a group's could not be read: torn": lambda trace: with_link(trace, name="passed", api_key=12, why="torn"),
    "a connection of its members ended: gone": lambda trace: with_link(trace, name="closed", by="upstream", reason="gone", owed=1),
    "groups were deleted meanwhile": lambda trace: changed(trace, "Metadata", "request", api="DeleteGroups"),
}


@pytest.mark.parametrize("why", UNSEEN)
def test_nothing_is_said_of_a_group_whose_history_was_not_seen_whole(why: str, seen_whole: Trace) -> None:
    assert why in why_not(UNSEEN[why](seen_whole))


def test_a_group_that_was_joined_before_and_one_with_strangers_are_not_judged(seen_whole: Trace) -> None:
    joined = [obs for obs in seen_whole if obs.api == "JoinGroup" and obs.kind == "response" and not obs.error]
    later = [replace(obs, generation=4) if obs in joined else obs for obs in seen_whole]
    leaders = next(obs for obs in joined if obs.body["members"])
    body = {**leaders.body, "members": [*leaders.body["members"], {"member_id": "a-stranger"}]}

    assert why_not(later) == "it was first seen in generation 4"
    assert "did not come through the tap" in why_not([replace(obs, body=body) if obs is leaders else obs for obs in seen_whole])


def test_what_is_too_long_to_search_or_was_not_kept_is_not_judged(seen_whole: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not(seen_whole, is_cut=True) == "more was seen than is kept"
    monkeypatch.setattr("groupproof.harness.judging.observed.coordinator_side.EXCHANGES_MAX", 3)
    assert "more than the 3 that are searched" in why_not(seen_whole)


def test_a_fault_of_the_taps_own_is_no_blame_for_the_coordinator() -> None:
    fault = Fault(name="rebalance", selector=Selector(api="Heartbeat", client="m0", nth=2), action=Answer(error_code=27))

    assert why_not(with_settings(played(two_members, fault))) == "rebalance came between"


def test_a_connection_that_was_open_to_the_end_is_judged_to_the_end(seen_whole: Trace) -> None:
    open_to_the_end = with_link(seen_whole, name="closed", by="tap", reason="the tap was stopped", owed=1)

    assert judged(open_to_the_end).ruling.verdict is Verdict.OK


def test_the_trace_of_a_result_gives_the_same_verdict_again(seen_whole: Trace) -> None:
    result = judged(seen_whole)

    assert judge_answers(result.plays[0].trace).ruling == result.ruling


# What reaches the brokers without the tap ------------------------------------------------------------------------------------


@asynccontextmanager
async def administrator(scene: Scene, group: str = "g") -> AsyncIterator[Asker]:
    """Connect to the group's coordinator without the tap."""
    async with asking(await scene.cluster.connect(*scene.cluster.addresses[0])) as first:
        found = await first.ask(Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": (group,)}, version=4)
    place = found["coordinators"][0]
    async with asking(await scene.cluster.connect(place["host"], place["port"])) as asker:
        yield asker


async def offsets_set_between(scene: Scene) -> None:
    """`kafka-consumer-groups --reset-offsets` between two consumers."""
    first, second = scene.shop("m0"), scene.shop("m1")
    await first.join()
    await first.say("commit", mode="sync", offsets=[["t", 0, 20]])
    await first.until("offsets_committed")
    await first.close()
    topics = ({"name": "t", "partitions": ({"partition_index": 0, "committed_offset": 3, "committed_metadata": "tool"},)},)
    async with administrator(scene) as asker:
        answer = await asker.ask(Api.OFFSET_COMMIT, {"group_id": "g", "generation_id": -1, "member_id": "", "topics": topics}, version=8)
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0
    await second.join()
    await scene.pass_time(5)
    await second.close()


def removed_by_an_administrator(**settings: Any) -> Callable[[Scene], Any]:
    """`removeMembersFromConsumerGroup`: LeaveGroup for a member that goes on (KIP-345)."""

    async def act(scene: Scene) -> None:
        scene.hub.inquires = True
        first = scene.shop("m0")
        await first.join(**settings)
        await scene.pass_time(5)
        names = [obs.member for obs in scene.trace if obs.group == "g" and obs.kind == "request" and obs.member]
        async with administrator(scene) as asker:
            members = ({"member_id": names[-1], "group_instance_id": None},)
            answer = await asker.ask(Api.LEAVE_GROUP, {"group_id": "g", "members": members}, version=4)
        assert [answer["error_code"], answer["members"][0]["error_code"]] == [0, 0]
        await first.until("partitions_assigned", 2)
        await scene.pass_time(5)
        await first.close()

    return act


BESIDE: dict[str, Callable[[], Trace]] = {
    "offsets": lambda: with_settings(played(offsets_set_between)),
    "classic member": lambda: with_settings(played(removed_by_an_administrator())),
    "member with epochs": lambda: played(removed_by_an_administrator(group_protocol="consumer"), settings=EPOCHS),
}


@pytest.mark.parametrize("deed", BESIDE)
def test_what_an_administrator_does_without_the_tap_blames_nobody(deed: str) -> None:
    trace = BESIDE[deed]()

    assert "others may have been in it or changed it" in why_not(trace)


@pytest.mark.parametrize("deed", BESIDE)
def test_where_every_frame_is_recorded_the_same_answers_are_wrong(deed: str) -> None:
    result = judged(BESIDE[deed](), is_only_way=True)

    assert result.ruling.verdict is Verdict.FAILED
    assert judge_answers(result.plays[0].trace).ruling == result.ruling


# The bugs of a classic coordinator that nobody without the tap can explain.
BUGS: tuple[str, ...] = (
    "no-initial-delay", "initial-delay-ends-early", "leader-changes-each-time", "members-told-to-all", "leader-told-to-all", "list-lacks-a-member",
    "assignments-swapped", "one-assignment-for-all", "assignment-lost", "metadata-swapped",
)  # fmt: skip


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_behind_a_tap_though_others_may_be_in_the_group(name: str) -> None:
    assert judged(with_settings(played(two_members, variant=variant_named(name))), names_release=False).ruling.verdict is Verdict.FAILED


@pytest.mark.parametrize("name", ["commit-off-by-one", "never-committed-is-zero", "leader-is-nobody"])
def test_a_planted_bug_that_others_may_explain_is_found_where_every_frame_is_recorded(name: str) -> None:
    trace = with_settings(played(two_members, variant=variant_named(name)))

    assert "others may have been in it or changed it" in why_not(trace, names_release=False)
    assert judged(trace, is_only_way=True, names_release=False).ruling.verdict is Verdict.FAILED


# Groups of KIP-848's protocol ------------------------------------------------------------------------------------------------


def two_with_epochs(*, stranger: bool = False) -> Callable[[Scene], Any]:
    async def act(scene: Scene) -> None:
        scene.hub.inquires = True
        first, second = scene.shop("m0"), scene.shop("m1")
        await first.join(group_protocol="consumer")
        if stranger:
            other = scene.stranger("x")
            await other.join(group_protocol="consumer")
        await second.join(group_protocol="consumer")
        await scene.pass_time(3)
        await second.close()
        await scene.pass_time(3)
        await first.close()

    return act


@pytest.fixture(scope="module")
def epochs_seen() -> Trace:
    return played(two_with_epochs(), settings=EPOCHS)


def test_a_coordinator_of_a_consumer_group_is_judged_by_topics_and_settings_that_the_tap_asked_for(epochs_seen: Trace) -> None:
    result = judged(epochs_seen)

    assert (result.case.id, result.ruling.verdict) == ("answered/consumer/g", Verdict.OK)
    assert "CGM-01" in result.case.requirements
    assert {topic for obs in epochs_seen for topic, _ in obs.partitions} == {"t"}, "partitions have the topic's name, not its id"


def beaten(trace: Trace, member: str, /, **body: Any) -> Trace:
    """Return the trace with other words in the third answer to a member's heartbeats."""
    beats = [obs for obs in trace if obs.api == "ConsumerGroupHeartbeat" and obs.kind == "response" and obs.client == member]
    columns = {"member_epoch": body["member_epoch"]} if "member_epoch" in body else {}
    return [replace(obs, body={**obs.body, **body}, **columns) if obs is beats[2] else obs for obs in trace]


def test_what_no_other_member_explains_is_the_coordinators(epochs_seen: Trace) -> None:
    assert judged(beaten(epochs_seen, "m0", heartbeat_interval_ms=77)).ruling.verdict is Verdict.FAILED
    back = judged(beaten(epochs_seen, "m0", member_epoch=0))
    assert back.ruling.verdict is Verdict.FAILED
    assert "CGI-03" in back.case.requirements


@pytest.mark.slow
def test_what_a_member_besides_the_tap_can_have_done_blames_nobody() -> None:
    assert "others may have been in it" in why_not(played(two_with_epochs(stranger=True), settings=EPOCHS))


def test_a_topic_that_grew_and_settings_of_the_groups_own_are_reasons(epochs_seen: Trace) -> None:
    grown = with_link(epochs_seen, name="topics", topics={"t": ["id", 8]}, api="ConsumerGroupHeartbeat")
    assert "came or grew meanwhile: t" in why_not(grown)
    own = [replace(obs, body={**obs.body, "settings": {"x": "1"}}) if obs.body.get("name") == "group_settings" else obs for obs in epochs_seen]
    assert "settings of its own: x" in why_not(own)


async def converted(scene: Scene) -> None:
    scene.hub.inquires = True
    first, second = scene.shop("m0"), scene.shop("m1")
    await first.join(assignors=["cooperative-sticky"])
    await second.join(group_protocol="consumer")
    await scene.pass_time(10)
    await second.close()
    await scene.pass_time(10)
    await first.close()


def test_a_group_that_is_converted_and_back_is_judged_as_one() -> None:
    trace = played(converted, settings=EPOCHS)
    shared = [obs for obs in trace if obs.api == "JoinGroup" and obs.kind == "response" and not obs.error and obs.body["leader"] == ""]

    assert shared, "the classic member was in a consumer group"
    assert judged(trace).ruling.verdict is Verdict.OK
