"""Watching the offsets topic: files and clusters come to the same groups, a group is stable when it has been quiet, and metrics are served."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit, generation
from tests.harness.subjects.tap.tapped import MemoryDoors

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.commands.work.topic_watch import QUIET_MS, TopicWatch, read_files, serve_metrics, watch_live
from groupproof.harness.judging.topic_history.topic_history import CONSUMER_SESSION_MS
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.networks.ports import LOOPBACK, reserve_port
from groupproof.harness.subjects.offsets_topic.group_listing import ADMIN_ASKED
from groupproof.harness.subjects.offsets_topic.live_topic import ASKED, LiveTopic
from groupproof.harness.subjects.tap.hub import Hub
from groupproof.protocol.trace import Observation, Recorder, write_trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest


def _logs() -> TopicLogs:
    logs = TopicLogs()
    logs.append(0, generation(1_000, "g", 1, (member("a-1", (0, 1)),)), commit(2_000, "g", 0, 7))
    logs.append(3, generation(1_500, "h", 1, (member("c-1", (0,)),)))
    return logs


def _watch(
    logs: TopicLogs, on_tick: Callable[[], bool] = lambda: False, record: list[Observation] | None = None, *, is_admin: bool = False,
    asked: set[Api] | None = None,
) -> TopicWatch:  # fmt: skip
    watch = TopicWatch()

    async def main() -> None:
        async with ScriptedBroker.up(logs.answer) as broker:
            topic = LiveTopic(broker.connect, [("h", 9092)])
            await watch_live(
                topic, watch, once=False, on_tick=on_tick, interval_s=1, record=None if record is None else record.append, is_admin=is_admin
            )
            if asked is not None:
                asked.update(request.api for request in broker.asked)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return watch


def test_a_cluster_and_its_segments_and_a_recording_of_it_tell_the_same(tmp_path: Path) -> None:
    record: list[Observation] = []
    live = _watch(_logs(), record=record)
    _logs().write(tmp_path)
    files = TopicWatch()
    read_files([tmp_path], files)
    (tmp_path / "recorded.ndjson").write_text("".join(f"{line}\n" for line in write_trace(record)))
    again = TopicWatch()
    read_files([tmp_path / "recorded.ndjson"], again)

    histories = [[group.to_json() for _, group in sorted(watch.history.groups.items())] for watch in (live, files, again)]
    assert histories[0] == histories[1] == histories[2]
    assert [health.group.group for health in live.healths()] == ["g", "h"]
    assert (live.counts["t"], live.behind, files.tally.read, again.tally.to_json()) == (2, 0, 3, files.tally.to_json())


def test_a_watch_sends_only_requests_that_read() -> None:
    asked: set[Api] = set()
    watch = _watch(_logs(), asked=asked)

    assert asked == {Api.METADATA, Api.LIST_OFFSETS, Api.FETCH}
    assert asked <= set(ASKED)
    assert (watch.history.consumer_session_ms, watch.history.groups["g"].state) == (CONSUMER_SESSION_MS, "Stable")


def test_with_admin_states_and_the_session_are_asked_for_and_nothing_else() -> None:
    asked: set[Api] = set()
    watch = _watch(_logs(), asked=asked, is_admin=True)

    assert asked == {Api.METADATA, Api.LIST_OFFSETS, Api.FETCH, *ADMIN_ASKED}
    assert (watch.history.consumer_session_ms, watch.history.groups["g"].state) == (50_000, "PreparingRebalance")
    assert watch.history.groups["h"].state == "Stable", "the coordinators list no such group: its records are all there is"


def test_of_files_now_is_the_time_of_the_newest_record(tmp_path: Path) -> None:
    _logs().write(tmp_path)
    files = TopicWatch()
    read_files([tmp_path], files)

    assert files.now_ms == 2_000
    assert [health.group.group for health in files.healths(["h"])] == ["h"]


def test_a_group_is_quiet_since_its_last_generation_and_not_at_all_while_it_is_not_stable(tmp_path: Path) -> None:
    logs = _logs()
    logs.append(0, commit(1_000 + QUIET_MS, "g", 0, 8))
    logs.append(3, generation(2_000, "h", 2))
    logs.write(tmp_path)
    files = TopicWatch()
    read_files([tmp_path], files)

    assert files.quiet_ms("g") == QUIET_MS
    assert files.quiet_ms("h") is None
    assert files.quiet_ms("nobody") is None


def test_files_that_hold_no_topic_are_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").touch()
    with pytest.raises(WrongUsage, match="has no group"):
        read_files([tmp_path / "empty.ndjson"], TopicWatch())
    with pytest.raises(WrongUsage, match="can't read the trace"):
        read_files([tmp_path / "gone.log"], TopicWatch())


def test_metrics_are_served_to_whoever_asks() -> None:
    answers: list[bytes] = []
    port = reserve_port()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_metrics, LOOPBACK, port, lambda: "up 1\n")
            await trio.testing.wait_all_tasks_blocked()
            stream = await trio.open_tcp_stream(LOOPBACK, port)
            await stream.send_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            answers.append(b"".join([bytes(part) async for part in stream]))
            await stream.aclose()
            nursery.cancel_scope.cancel()

    trio.run(main)

    assert answers[0].startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")
    assert answers[0].endswith(b"\r\n\r\nup 1\n")


@pytest.mark.parametrize(("is_admin", "allowed"), [(False, ASKED), (True, (*ASKED, *ADMIN_ASKED))], ids=["plain", "admin"])
def test_a_tap_in_front_of_the_cluster_sees_nothing_but_reading(is_admin: bool, allowed: tuple[Api, ...]) -> None:
    recorder = Recorder(lambda: 0)
    watch = TopicWatch()

    async def main() -> None:
        async with ScriptedBroker.up(_logs().answer) as broker, trio.open_nursery() as nursery:
            doors = MemoryDoors(nursery)
            hub = Hub(recorder=recorder, connect=broker.connect, doors=doors, interception=Interception(recorder))
            route = await hub.route_to(("h", 9092), 0)
            topic = LiveTopic(doors.connect, [route.local])
            await watch_live(topic, watch, once=True, on_tick=lambda: False, interval_s=1, is_admin=is_admin)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert watch.history.groups.keys() == {"g", "h"}
    assert {obs.api for obs in recorder.trace if obs.kind == "request"} == {api.title for api in allowed}


def test_a_watch_of_a_cluster_that_is_down_says_why_nothing_comes() -> None:
    logs, watch, problems = _logs(), TopicWatch(), list[str]()

    def is_away() -> bool:
        return 2 < trio.current_time() < 20

    def answer(request: WireRequest) -> Mapping[str, Any] | None:
        is_idle = request.api is Api.FETCH and watch.tally.read == 3  # whoever has read all is hung up on, and looks for its leader again
        return None if is_away() or is_idle else logs.answer(request)

    def on_tick() -> bool:
        problems.append(watch.problem)
        return len(problems) < 30

    async def main() -> None:
        async with ScriptedBroker.up(answer) as broker:

            async def connect(host: str, port: int) -> trio.abc.Stream:
                if is_away():
                    raise OSError("connection refused")
                return await broker.connect(host, port)

            await watch_live(LiveTopic(connect, [("h", 9092)]), watch, once=False, on_tick=on_tick, interval_s=1)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

    assert problems[0] == problems[-1] == ""
    assert "__consumer_offsets of h:9092 can't be read: connection refused" in problems
