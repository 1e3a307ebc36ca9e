from __future__ import annotations

import pytest
import trio
import trio.testing

from groupproof.harness.subjects.tap.broker_dial import CONNECT_S_MAX, BrokerDial, BrokerUnreachable


class Broker:
    """A broker that is there, refuses, or does not answer."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.is_mute = False

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        if self.is_mute:
            await trio.sleep_forever()
        if self.failure is not None:
            raise self.failure
        return trio.testing.memory_stream_pair()[0]


def printed_lines(states: list[Exception | None], caplog: pytest.LogCaptureFixture, *, is_quiet: bool = False) -> tuple[list[str], int]:
    """Return the lines that are told when the broker is in these states one after the other, and what is counted at last."""
    broker = Broker()
    reach = BrokerDial(("b", 9092), broker.connect, is_quiet)

    async def main() -> None:
        for broker.failure in states:
            try:
                await reach()
            except BrokerUnreachable as error:
                assert str(error) in (str(broker.failure), "it does not answer")

    trio.run(main)
    return [record.message for record in caplog.records], reach.refused


def test_a_broker_that_is_there_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    assert printed_lines([None, None], caplog) == ([], 0)


def test_each_outage_and_each_return_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    gone, other = OSError("refused"), trio.BrokenResourceError()
    lines, counted = printed_lines([gone, gone, None, None, other, None, gone], caplog)

    assert lines == [
        "the broker b:9092 can't be reached: refused; clients' connections to it end until it is back",
        "the broker b:9092 is back; meanwhile 2 connections were refused",
        "the broker b:9092 can't be reached: it does not answer; clients' connections to it end until it is back",
        "the broker b:9092 is back; meanwhile one connection was refused",
        "the broker b:9092 can't be reached: refused; clients' connections to it end until it is back",
    ]
    assert counted == 1


def test_where_quiet_is_wanted_it_is_only_counted(caplog: pytest.LogCaptureFixture) -> None:
    assert printed_lines([OSError("refused")] * 2, caplog, is_quiet=True) == ([], 2)


def test_one_that_never_answers_is_given_up() -> None:
    broker = Broker()
    broker.is_mute = True

    async def main() -> float:
        with pytest.raises(BrokerUnreachable, match="it does not answer"):
            await BrokerDial(("b", 9092), broker.connect)()
        return trio.current_time()

    clock = trio.testing.MockClock(autojump_threshold=0)
    assert trio.run(main, clock=clock) == CONNECT_S_MAX
