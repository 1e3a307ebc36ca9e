from __future__ import annotations

import signal
from pathlib import Path

import pytest
import trio

from groupproof.harness.commands.work import tap_server
from groupproof.harness.commands.work.tap_server import TRACE, Tap, TapServer
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.tap import upstream as upstream_module
from groupproof.harness.subjects.tap.fault_syntax import faults_of
from groupproof.harness.subjects.tap.upstream import UpstreamInfo
from groupproof.protocol.rules.profiles import profiles
from groupproof.protocol.trace import Observation, read_trace


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> list[Address]:
    """Stand brokers in that are only told of; nobody connects to them."""

    async def meet(connect: object, bootstrap: object, *, profile: str | None, uses_tls: bool) -> UpstreamInfo:
        await trio.lowlevel.checkpoint()
        return UpstreamInfo(profile=profile or "kafka-4.1", brokers=(), groups=(), settings={})

    monkeypatch.setattr(tap_server, "meet_upstream", meet)
    return [("broker", 9092), ("broker", 9093)]


def stop(tapping: TapServer) -> None:
    signal.raise_signal(signal.SIGINT)


def test_it_taps_until_it_is_interrupted_and_writes_what_it_saw(upstream: list[Address], tmp_path: Path) -> None:
    entries: list[TapServer] = []

    def on_tapping(tapping: TapServer) -> None:
        entries.append(tapping)
        stop(tapping)

    tapped = Tap(upstream=upstream, judged=True, output=tmp_path, faults=faults_of(["Heartbeat,cut"])).run(on_tapping)

    assert entries[0].bootstrap.count("127.0.0.1:") == 2
    assert (tapped.served.results, tapped.unjudged, tapped.profile, tapped.delivered) == ((), (), "kafka-4.1", {"fault-1": 0})
    trace = list(read_trace((tmp_path / TRACE).read_text().splitlines()))
    assert [obs.body.get("name", obs.detail) for obs in trace] == ["upstream", "routed", "routed", "armed"]


def test_the_profile_that_is_named_holds(upstream: list[Address]) -> None:
    assert Tap(upstream=upstream, profile="kafka-2.4").run(stop).profile == "kafka-2.4"


def test_a_stop_before_the_upstream_answers_gives_an_empty_report(monkeypatch: pytest.MonkeyPatch) -> None:
    async def meet(connect: object, bootstrap: object, *, profile: str | None, uses_tls: bool) -> UpstreamInfo:
        signal.raise_signal(signal.SIGINT)
        await trio.sleep_forever()
        raise AssertionError("it was stopped")

    monkeypatch.setattr(tap_server, "meet_upstream", meet)
    tapped = Tap(upstream=[("broker", 9092)], judged=True).run(stop)

    assert (tapped.served.results, tapped.profile) == ((), profiles()[-1])


def test_what_is_kept_for_judging_is_bounded(upstream: list[Address], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tap_server, "OBSERVATIONS_MAX", 1)

    assert Tap(upstream=upstream, judged=True).run(stop).served.is_cut
    assert not Tap(upstream=upstream).run(stop).served.is_cut


def test_nobody_at_the_upstream_is_the_environments_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_module.meet_upstream, "__kwdefaults__", {"within_s": 0.1})

    with pytest.raises(BrokenEnvironment, match="no broker answers at"):
        Tap(upstream=[("127.0.0.1", 1)]).run(stop)


def test_a_port_that_is_not_available_is_the_environments_fault(upstream: list[Address]) -> None:
    with pytest.raises(BrokenEnvironment, match=r"can't listen on 203\.0\.113\.1"):
        Tap(upstream=upstream, host="203.0.113.1").run(stop)


def test_a_trace_that_cannot_be_written_is_reported_before_the_run_and_tolerated_after(
    upstream: list[Address], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokenEnvironment, match="choose another --output"):
        Tap(upstream=upstream, output=tmp_path / "file").run(stop)

    (tmp_path / TRACE).symlink_to("/dev/full")
    with tap_server._Lines(tmp_path / TRACE) as lines:
        for seq in range(2):
            lines.write(Observation(seq=seq, at_ns=0, kind="event", detail="x" * 100_000))

    assert [record.message for record in caplog.records] == [f"can't write {tmp_path / TRACE} any more: No space left on device"]


def test_a_reader_of_the_file_gets_each_line_when_it_is_written(tmp_path: Path) -> None:
    obs = Observation(seq=0, at_ns=0, kind="event")

    with tap_server._Lines(tmp_path / TRACE) as lines:
        lines.write(obs)
        assert list(read_trace((tmp_path / TRACE).read_text().splitlines(keepends=True))) == [obs]
