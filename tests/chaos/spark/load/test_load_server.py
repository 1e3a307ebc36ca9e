"""The process behind the members, in this process: what it serves, strikes and seals."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from groupproof.chaos.spark.load.load_server import LoadServer, LoadServerConfig, is_kept
from groupproof.chaos.spark.members.churn_plan import OutsideFault
from groupproof.chaos.spark.traces.trace_segments import NoRoom
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import read_parquet
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, frame, read_response, write_request

Story = Callable[[LoadServer, Address], Any]


def order(folder: Path, **options: Any) -> LoadServerConfig:
    return LoadServerConfig(**{"output": str(folder), "run": "r", "seed": 1, "topics": {"t": 2}, "seal_s": 0.05, **options})


def run(wanted: LoadServerConfig, story: Story) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []

    async def main() -> None:
        over, ready = trio.Event(), trio.Event()

        def tell(line: dict[str, Any]) -> None:
            entries.append(line)
            ready.set()

        server = LoadServer(wanted, tell)
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.run, over)
                await ready.wait()
                server.begin(0)
                await story(server, tuple(entries[0]["bootstrap"][0]))
                over.set()

    trio.run(main)
    return entries


async def ask(address: Address, api: Api, body: dict[str, Any]) -> dict[str, Any]:
    async with await trio.open_tcp_stream(*address) as stream:
        await stream.send_all(frame(write_request(api, 4, 1, "c", body)))
        framer, found = Framer(), list[bytes]()
        while not found:
            found = framer.feed(bytes(await stream.receive_some()))
        return read_response(api, 4, found[0])[1]


BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


def test_the_coordinators_own_trace_is_sealed_and_holds_what_is_the_groups(tmp_path: Path) -> None:
    async def story(_: LoadServer, address: Address) -> None:
        assert (await ask(address, Api.HEARTBEAT, BEAT))["error_code"] == 25
        await ask(address, Api.METADATA, {"topics": ({"name": "t"},)})

    entries = run(order(tmp_path), story)

    trace = list(read_parquet(tmp_path))
    assert {obs.api for obs in trace if obs.api} == {"Heartbeat"}
    assert {obs.run for obs in trace} == {"r"}
    assert len({obs.seq for obs in trace}) == len(trace)
    assert "failed" not in json.dumps(entries)


def test_a_tap_stands_before_any_other_broker_and_its_faults_act(tmp_path: Path) -> None:
    async def behind(_: LoadServer, upstream: Address) -> None:
        async def story(_: LoadServer, address: Address) -> None:
            assert address != upstream
            assert (await ask(address, Api.HEARTBEAT, BEAT))["error_code"] == 27

        tap = order(tmp_path / "tap", upstream=(upstream,), faults=("Heartbeat,answer=REBALANCE_IN_PROGRESS",))
        await trio.to_thread.run_sync(run, tap, story)

    run(order(tmp_path / "coordinator"), behind)

    assert [obs.error for obs in read_parquet(tmp_path / "tap") if obs.kind == "response"] == [27]


def test_members_on_other_machines_get_the_addresses_of_the_coordinator_and_the_tap(tmp_path: Path) -> None:
    async def behind(_: LoadServer, upstream: Address) -> None:
        assert upstream[0] == "localhost"

        async def story(_: LoadServer, address: Address) -> None:
            assert address[0] == "localhost"
            assert (await ask(address, Api.HEARTBEAT, BEAT))["error_code"] == 25

        await trio.to_thread.run_sync(run, order(tmp_path / "tap", upstream=(upstream,), bind="0.0.0.0", advertise="localhost"), story)

    run(order(tmp_path / "coordinator", bind="0.0.0.0", advertise="localhost"), behind)

    assert [obs.error for obs in read_parquet(tmp_path / "tap") if obs.kind == "response"] == [25]


def test_a_fault_comes_in_its_time_and_is_healed(tmp_path: Path) -> None:
    lasting = OutsideFault(at_s=0.0, lasts_s=3_600.0, fault="Heartbeat,answer=16")
    short = OutsideFault(at_s=0.0, lasts_s=0.05, fault="FindCoordinator,answer=15")

    async def story(server: LoadServer, address: Address) -> None:
        healed = trio.Event()
        server.recorder.listen(lambda obs: healed.set() if obs.body.get("name") == "healed" else None)
        await healed.wait()
        found = await ask(address, Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": ("g",)})
        assert [coordinator["error_code"] for coordinator in found["coordinators"]] == [0]
        assert (await ask(address, Api.HEARTBEAT, BEAT))["error_code"] == 16

    run(order(tmp_path, outside_faults=(lasting, short)), story)

    marks = [(obs.fault, obs.body["name"]) for obs in read_parquet(tmp_path) if obs.who == "kit"]
    assert sorted(marks) == [("strike-1", "strike"), ("strike-2", "healed"), ("strike-2", "strike")]


def test_an_order_survives_json(tmp_path: Path) -> None:
    wanted = order(
        tmp_path, upstream=(("h", 1),), outside_faults=(OutsideFault(at_s=1.0, lasts_s=2.0, impair={"kind": "down"}),), faults=("Heartbeat,drop",)
    )

    assert msgspec.json.decode(json.dumps(asdict(wanted)), type=LoadServerConfig) == wanted


def test_without_room_members_are_served_on_and_it_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise NoRoom(28, "out can't be written: No space left on device")

    monkeypatch.setattr("groupproof.chaos.spark.load.load_server.Sealer.seal", full)

    async def story(_: LoadServer, address: Address) -> None:
        began = trio.current_time()
        while trio.current_time() < began + 0.3:
            assert (await ask(address, Api.HEARTBEAT, BEAT))["error_code"] == 25

    entries = run(order(tmp_path), story)

    assert [entry["why"] for entry in entries if "failed" in entry] == ["out can't be written: No space left on device"]


def test_what_fetching_asks_is_not_kept() -> None:
    def observation(api: str | None) -> Observation:
        return Observation(seq=0, at_ns=0, kind="request", api=api)

    assert is_kept(observation(None))
    assert is_kept(observation("JoinGroup"))
    assert not is_kept(observation("Fetch"))
