"""One member behind the contract: commands, events and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from groupproof.clients.shims.reference_member import COMMANDS_MAX
from groupproof.protocol.faults import Answer, Fault, Hold, Selector
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Pair


def fault(api: Api, error: int, **selector: Any) -> Fault:
    return Fault(name=f"{api.title}-{error}", selector=Selector(api=api.title, **selector), action=Answer(error_code=error))


def names(pair: Pair, member: str) -> list[str]:
    return [event["name"] for event in pair.events(member)]


def test_the_events_of_a_life_come_in_order(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.until(lambda: pair.events("m0", "records_consumed"))
        await pair.ask("m0", "close")

        lines = names(pair, "m0")
        assert [name for name in lines if name != "records_consumed"] == [
            "startup_complete", "partitions_assigned", "callback_done", "partitions_revoked", "callback_done", "shutdown_complete",
        ]  # fmt: skip
        assigned = pair.events("m0", "partitions_assigned")[0]
        assert assigned["generation"] == 1
        assert assigned["member_id"].startswith("m0-")

    tell(story)


def test_a_member_without_callbacks_reports_after_a_poll_what_has_changed(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="asks-what-it-owns")
        await pair.until(lambda: pair.events("m0", "records_consumed"))
        await pair.start("m1")
        await pair.until(lambda: pair.events("m0", "partitions_revoked"))
        await pair.ask("m1", "close")
        await pair.until(lambda: len(pair.events("m0", "partitions_assigned")) > 2)
        await pair.ask("m0", "close")

        reports = [(event["name"], [part["partition"] for part in event["partitions"]]) for event in pair.events("m0") if "partitions" in event]
        assert [entry for entry in reports if entry[0] != "records_consumed"] == [
            ("partitions_assigned", [0, 1, 2, 3]), ("partitions_revoked", [2, 3]), ("partitions_assigned", []), ("partitions_assigned", [2, 3]),
        ]  # fmt: skip
        assert names(pair, "m0")[-1] == "shutdown_complete"

    tell(story)


def test_every_record_is_consumed_once(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", properties={"max.poll.records": 7})
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) >= 80)
        ranges = [part for event in pair.events("m0", "records_consumed") for part in event["partitions"]]
        offsets = sorted((part["partition"], offset) for part in ranges for offset in range(part["minOffset"], part["maxOffset"] + 1))
        assert offsets == [(partition, offset) for partition in range(4) for offset in range(20)]
        assert max(event["count"] for event in pair.events("m0", "records_consumed")) == 7

    tell(story)


def test_a_client_whose_commits_return_nothing_tells_what_went_wrong_beside(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="commits-and-returns-nothing")
        await pair.settled("m0")
        assert (await pair.ask("m0", "commit", mode="sync", offsets=[["t", 0, 3]]))["outcome"] == "unknown"
        assert [event["outcome"] for event in pair.events("m0", "offsets_committed")] == ["unknown"]
        pair.cluster.arm(fault(Api.OFFSET_COMMIT, 28))
        answer = await pair.ask("m0", "commit", mode="sync", offsets=[["t", 0, 4]])
        assert (answer["ok"], answer["outcome"]) == (True, "unknown")
        assert [event["error"] for event in pair.events("m0", "error")] == ["INVALID_COMMIT_OFFSET_SIZE"]

    tell(story)


def test_the_event_of_a_commit_precedes_its_answer(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        answer = await pair.ask("m0", "commit", mode="sync", offsets=[["t", 0, 5]])

        assert answer["offsets"] == [["t", 0, 5]]
        event = pair.events("m0", "offsets_committed")[0]
        assert (event["success"], event["offsets"]) == (True, [{"topic": "t", "partition": 0, "offset": 5}])
        assert pair.sent.index(event) < pair.sent.index(answer)
        assert (await pair.ask("m0", "committed", partitions=[["t", 0], ["t", 1]]))["offsets"] == [["t", 0, 5], ["t", 1, -1]]

    tell(story)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_error_of_a_commit_reaches_the_application(tell: Callable[..., None], mode: str) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        pair.cluster.arm(fault(Api.OFFSET_COMMIT, 12))
        answer = await pair.ask("m0", "commit", mode=mode, offsets=[["t", 0, 5]])
        await pair.until(lambda: pair.events("m0", "offsets_committed"))

        assert pair.events("m0", "offsets_committed")[0]["error"] == "OFFSET_METADATA_TOO_LARGE"
        assert answer.get("error") == (None if mode == "async" else "OFFSET_METADATA_TOO_LARGE")

    tell(story)


def test_a_paused_member_heartbeats_but_does_not_poll(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        assert (await pair.ask("m0", "pause"))["ok"]
        await trio.sleep(1)
        fetches, heartbeats = len(pair.requests(Api.FETCH, "m0")), len(pair.requests(Api.HEARTBEAT, "m0"))
        await trio.sleep(5)
        assert len(pair.requests(Api.FETCH, "m0")) == fetches
        assert len(pair.requests(Api.HEARTBEAT, "m0")) >= heartbeats + 15
        await pair.ask("m0", "resume")
        await trio.sleep(1)
        assert len(pair.requests(Api.FETCH, "m0")) > fetches

    tell(story)


def test_on_revoked_sleeps_and_commits_within_the_callback(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", on_revoked={"sleep_ms": 2000, "commit": True})
        await pair.settled("m0")
        await pair.until(lambda: pair.events("m0", "records_consumed"))
        await pair.start("m1")
        await pair.settled("m0", "m1")

        lines = names(pair, "m0")
        start = lines.index("partitions_revoked")
        assert lines[start : start + 3] == ["partitions_revoked", "offsets_committed", "callback_done"]
        assert pair.events("m0", "offsets_committed")[0]["success"]
        rejoins = [request for request in pair.requests(Api.JOIN_GROUP, "m0") if request.member]
        beats = [
            request
            for request in pair.requests(Api.HEARTBEAT, "m0")
            if request.at_ms > rejoins[-1].at_ms - 2000 and request.at_ms < rejoins[-1].at_ms
        ]
        assert len(beats) >= 5, "CLIENT-44: heartbeats go on while the callback runs"

    tell(story)


def test_positions_follow_what_was_consumed(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.until(lambda: sum(event["count"] for event in pair.events("m0", "records_consumed")) == 80)
        assert (await pair.ask("m0", "position"))["offsets"] == [["t", number, 20] for number in range(4)]
        assert (await pair.ask("m0", "position", partitions=[["u", 0]]))["offsets"] == [["u", 0, -1]]

    tell(story)


def test_a_member_can_leave_and_subscribe_again_and_change_its_topics(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        assert (await pair.ask("m0", "unsubscribe"))["ok"]
        assert (await pair.ask("m0", "assignment"))["partitions"] == []
        assert len(pair.requests(Api.LEAVE_GROUP, "m0")) == 1
        assert (await pair.ask("m0", "resubscribe", topics=["u"]))["ok"]
        await pair.until(lambda: pair.last_callback("m0").get("partitions") == [{"topic": "u", "partition": 0}])
        assert (await pair.ask("m0", "resubscribe", topics=["t", "u"]))["ok"]
        await pair.until(lambda: len(pair.last_callback("m0").get("partitions", ())) == 5)

    tell(story, topics={"t": 4, "u": 1})


def test_a_fatal_error_is_an_event_and_the_member_can_still_be_closed(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        pair.cluster.arm(fault(Api.JOIN_GROUP, 23))
        await pair.start("m0")
        await pair.until(lambda: pair.events("m0", "error"))
        assert [(event["error"], event["fatal"]) for event in pair.events("m0", "error")] == [("INCONSISTENT_GROUP_PROTOCOL", True)]
        await trio.sleep(10)
        assert len(pair.requests(Api.JOIN_GROUP, "m0")) == 1
        assert (await pair.ask("m0", "commit", offsets=[["t", 0, 1]]))["error"] == "INCONSISTENT_GROUP_PROTOCOL"
        assert (await pair.ask("m0", "close"))["ok"]

    tell(story)


def test_an_error_that_ends_nothing_is_an_event_too(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        pair.cluster.arm(fault(Api.HEARTBEAT, 30))
        await pair.until(lambda: pair.events("m0", "error"))
        assert [(event["error"], event["fatal"]) for event in pair.events("m0", "error")] == [("GROUP_AUTHORIZATION_FAILED", False)]
        await trio.sleep(2)
        assert pair.is_settled("m0")

    tell(story)


def test_more_commands_than_can_wait_are_refused(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", on_revoked={"sleep_ms": 5000})
        await pair.settled("m0")
        for _ in range(COMMANDS_MAX + 2):
            last = await pair.give("m0", "unsubscribe")
        await pair.until(lambda: any(entry.get("error") == "TOO_MANY_COMMANDS" for entry in pair.sent))
        (refused,) = (entry for entry in pair.sent if "error" in entry)
        assert refused["id"] == last, "what is one too many is refused, and nothing else"

    tell(story)


def test_a_command_that_makes_no_sense_is_refused_and_harms_nothing(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        for command, fields in (
            ("resubscribe", {"topics": []}),
            ("resubscribe", {}),
            ("commit", {"offsets": [["t"]]}),
            ("position", {"partitions": [5]}),
        ):
            assert (await pair.ask("m0", command, **fields))["error"] == "INVALID_COMMAND"
        assert pair.is_settled("m0")

    tell(story)


def test_close_in_the_middle_of_a_parked_join_leaves_at_once(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        await pair.ask("m0", "pause")  # so that the next join waits for it
        await pair.start("m1")
        await trio.sleep(1)
        before = trio.current_time()
        assert (await pair.ask("m1", "close"))["ok"]
        assert trio.current_time() - before < 1
        assert len(pair.requests(Api.LEAVE_GROUP, "m1")) == 1
        await pair.ask("m0", "resume")
        await pair.settled("m0")

    tell(story)


def test_a_close_without_an_answer_is_bounded(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        await pair.settled("m0")
        pair.cluster.arm(Fault(name="held", selector=Selector(api="LeaveGroup"), action=Hold()))
        before = trio.current_time()
        await pair.ask("m0", "close")
        assert 4.9 <= trio.current_time() - before <= 5.5

    tell(story)


@pytest.mark.parametrize(
    ("variant", "event", "partitions"),
    [
        ("tells-partitions-of-nobody", "partitions_assigned", {("nobody-has-this", 0), *(("t", number) for number in range(4))}),
        ("tells-records-of-others", "records_consumed", {("t", number) for number in range(5)}),
    ],
)
def test_a_shim_may_be_made_to_tell_more_than_there_is(tell: Callable[..., None], variant: str, event: str, partitions: set[tuple[str, int]]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant=variant)
        await pair.until(lambda: pair.events("m0", "records_consumed"))

        assert {(partition["topic"], partition["partition"]) for body in pair.events("m0", event) for partition in body["partitions"]} == partitions

    tell(story)


def test_a_shim_may_be_made_to_keep_records_back(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="hides-what-it-reads-again")
        await pair.until(lambda: pair.events("m0", "records_consumed"))

        partitions_ = [partition for event in pair.events("m0", "records_consumed") for partition in event["partitions"]]
        assert [min(item[name] for item in partitions_) for name in ("minOffset", "count")] == [10, 10]

    tell(story)


def test_a_shim_may_be_made_to_leave_out_what_was_committed(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", variant="takes-refused-commit-for-done-of-nothing")
        await pair.settled("m0")
        await pair.ask("m0", "commit", offsets=[["t", 0, 5]])

        assert [(event["success"], event["offsets"]) for event in pair.events("m0", "offsets_committed")] == [(True, [])]

    tell(story)
