from __future__ import annotations

from collections.abc import Mapping

import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ALL, Answer, ScriptedBroker

from groupproof.harness.subjects.networks.request_connection import NoCommonVersion, asking, versions_of
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireError

HEARTBEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


def _ask(answer: Answer, versions: Mapping[Api, tuple[int, int]] = ALL, newest: int | None = None) -> tuple[dict[str, object], list[int]]:
    got: list[dict[str, object]] = []
    asked: list[int] = []

    async def main() -> None:
        async with ScriptedBroker.up(answer, versions) as broker, asking(await broker.connect("h", 1)) as asker:
            got.append(await asker.ask(Api.HEARTBEAT, HEARTBEAT, newest=newest))
            asked.extend(request.version for request in broker.asked)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return got[0], asked


def test_the_newest_version_that_both_speak_is_asked() -> None:
    answer, versions = _ask(lambda _: {"error_code": 25}, {Api.HEARTBEAT: (0, 2)})

    assert answer["error_code"] == 25
    assert versions == [2]


def test_a_newer_version_than_wanted_is_not_asked() -> None:
    assert _ask(lambda _: {"error_code": 0}, newest=1)[1] == [1]


def test_an_api_that_the_broker_lacks_is_not_spoken() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _ask(lambda _: {}, {Api.METADATA: (0, 1)})
    assert caught.group_contains(NoCommonVersion, match="it does not speak Heartbeat")


def test_versions_that_do_not_meet_are_both_named() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _ask(lambda _: {}, {Api.HEARTBEAT: (20, 21)})
    assert caught.group_contains(NoCommonVersion, match="it speaks Heartbeat v20 to v21, the kit v0 to v4")


def test_a_broker_that_closes_instead_of_answering_is_reported() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _ask(lambda _: None)
    assert caught.group_contains(EOFError, match="closed the connection")


@pytest.mark.parametrize(("throttle_ms", "waits_s"), [(0, 0), (-1, 0), (900, 0.9), (11_000, 11), (2**31 - 1, 0)])
def test_a_benchmark_waits_first_until_it_is_not_throttled_any_more(throttle_ms: int, waits_s: float) -> None:
    async def main() -> None:
        answer = {"error_code": 0, "throttle_time_ms": throttle_ms}
        async with ScriptedBroker.up(lambda _: answer) as broker, asking(await broker.connect("h", 1)) as asker:
            await asker.ask(Api.HEARTBEAT, HEARTBEAT)
            began = trio.current_time()
            await asker.until_free()
            assert trio.current_time() - began == pytest.approx(waits_s)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_an_answer_to_another_request_is_no_answer() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _ask(lambda _: b"\0\0\0\x0c\0\0\0\x63\0\0\0\0\0\0\0\0", {Api.HEARTBEAT: (0, 1)})
    assert caught.group_contains(WireError)


def test_a_broker_that_never_answers_is_too_slow() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _ask(lambda _: b"")
    assert caught.group_contains(trio.TooSlowError)


def test_versions_are_learned_of_what_this_wire_knows() -> None:
    async def main() -> None:
        async with ScriptedBroker.up(lambda _: {}, {Api.HEARTBEAT: (0, 9)}) as broker:
            assert await versions_of(await broker.connect("h", 1)) == {Api.HEARTBEAT: (0, 9)}

    trio.run(main)
