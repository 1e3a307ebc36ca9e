"""Every registered client, behind its shim and in front of the reference coordinator on real ports, keeps the shim contract: in the gate the newest release, in `make soak` the oldest.

One story is told for each client: one member alone, a second that joins it, commits, a resubscription, closes, the end. The tests ask of
it what the kit will believe: what the shim said, held against what was on the wire.
"""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest
import trio
from tests.clients.shims.driver import Line, Shim, running, subscribe_fields

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import Launch, ProvisionError, provision
from groupproof.clients.registry.registered_clients import RegisteredClient, resolve
from groupproof.coordinator.broker.served_cluster import serve
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.vocabulary import Api

pytestmark = [pytest.mark.network, pytest.mark.slow]

NEWEST = ["kafka-python", "kafka-python-ng", "aiokafka", "confluent-kafka", pytest.param("java", marks=pytest.mark.java), "groupproof"]
OLDEST = [
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("kafka-python@1.4.7", "kafka-python@2.0.2", "aiokafka@0.8.1", "confluent-kafka@2.0.2")),
    pytest.param("java@2.2.2", marks=[pytest.mark.java, pytest.mark.soak]),
]
SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
BOTH = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]


@dataclass
class Story:
    """What was said and seen; `notes` are answers by the name of their moment."""

    client: RegisteredClient
    lines: list[Line] = field(default_factory=list)
    notes: dict[str, Line] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    status: int | None = None
    evidence: Evidence = field(default_factory=lambda: Evidence([]))

    def of(self, member: str, since: str | None = None) -> list[Line]:
        return [line for line in self.lines[self.marks[since] if since else 0 :] if line.get("member") == member]

    def names(self, member: str, since: str | None = None) -> list[str]:
        return [line.get("name", "answer") for line in self.of(member, since)]

    def requests(self, api: Api, client: str) -> list[Observation]:
        return self.evidence.requests(api, client)


def _launched(name: str) -> tuple[RegisteredClient, Launch]:
    client = resolve(name)
    try:
        return client, provision(client, default_cache(), print)
    except ProvisionError as missing:
        pytest.skip(str(missing))


@asynccontextmanager
async def _served(launch: Launch, recorder: Recorder) -> AsyncIterator[tuple[Shim, str]]:
    async with trio.open_nursery() as nursery:
        start = partial(serve, settings=SETTINGS, topics={"t": 2, "u": 1}, records=20, recorder=recorder)
        serving = await nursery.start(start)
        async with running(launch.argv, launch.env) as shim:
            yield shim, serving.bootstrap
        nursery.cancel_scope.cancel()


async def _tell(story: Story, launch: Launch, recorder: Recorder) -> None:
    async with _served(launch, recorder) as (shim, bootstrap):
        story.lines = shim.lines
        teller = Teller(story, shim, bootstrap)
        await teller.one_member_alone()
        await teller.a_second_joins()
        await teller.both_close()
        story.notes["exit"] = await shim.ask("exit")
        story.status = await shim.ended()


class Teller:
    """Carries the story out, chapter by chapter."""

    def __init__(self, story: Story, shim: Shim, bootstrap: str) -> None:
        self.story, self.shim, self.bootstrap = story, shim, bootstrap

    def mark(self, name: str) -> int:
        self.story.marks[name] = len(self.shim.lines)
        return len(self.shim.lines)

    async def note(self, name: str, command: str, member: str, **fields: object) -> None:
        self.story.notes[name] = await self.shim.ask(command, member, **fields)

    async def subscribe(self, moment: str, member: str, **fields: object) -> None:
        await self.note(moment, "subscribe", member, **subscribe_fields(bootstrap=self.bootstrap, client_id=member, **fields))

    async def one_member_alone(self) -> None:
        shim = self.shim
        await self.note("made up", "frobnicate", "m0")
        await self.subscribe("subscribe m0", "m0", made_up_field=1, metadata_max_age_ms=60_000, session_timeout_ms=7000)
        await shim.event("callback_done", "m0")
        wanted = 0
        while wanted < 40:
            wanted = sum(line["count"] for line in shim.lines if line.get("name") == "records_consumed")
            await trio.lowlevel.checkpoint() if wanted >= 40 else await shim.event("records_consumed", "m0", after=self.mark("records"))
        await self.note("assignment", "assignment", "m0")
        await self.note("position", "position", "m0")
        await self.note("nothing committed", "committed", "m0")
        self.mark("sync")
        await self.note("sync", "commit", "m0", mode="sync", offsets=[["t", 0, 3]])
        before = self.mark("async")
        await self.note("async", "commit", "m0", mode="async", offsets=[["t", 1, 4]])
        await shim.event("offsets_committed", "m0", after=before)
        await self.note("committed", "committed", "m0")
        await self.note("pause", "pause", "m0")
        await self.note("resume", "resume", "m0")

    async def a_second_joins(self) -> None:
        shim, before = self.shim, self.mark("second")
        await self.subscribe("subscribe m1", "m1", on_revoked={"sleep_ms": 50, "commit": True})
        for member in ("m0", "m1"):
            await shim.event("partitions_assigned", member, after=before)
        await self.note("assignment m0", "assignment", "m0")
        await self.note("assignment m1", "assignment", "m1")

    async def both_close(self) -> None:
        shim, before = self.shim, self.mark("close m0")
        await self.note("close m0", "close", "m0")
        await shim.event("callback_done", "m1", after=before)
        await shim.until_line(lambda line: line.get("name") == "partitions_assigned" and line["partitions"] == BOTH, before)
        await self.note("after close", "assignment", "m0")
        self.mark("unsubscribe")
        await self.note("unsubscribe", "unsubscribe", "m1")
        again = self.mark("again")
        await self.subscribe("subscribe again", "m0", group="another")
        await shim.event("partitions_assigned", "m0", after=again)


def _story(name: str) -> Story:
    client, launch = _launched(name)
    story, recorder = Story(client=client), Recorder(time.monotonic_ns)
    trio.run(_tell, story, launch, recorder)
    story.evidence = Evidence(recorder.trace)
    return story


@pytest.fixture(scope="module", params=[*NEWEST, *OLDEST])
def story(request: pytest.FixtureRequest) -> Story:
    return _story(request.param)


def test_hello_names_the_client_and_its_release(story: Story) -> None:
    hello = story.lines[0]

    assert hello["name"] == "hello"
    assert hello["version"] in (story.client.release, "0", "0.1.0")
    assert {"classic", "commit", "commit-async", "pause", "multi", "resubscribe", "on-revoked"} <= set(hello["capabilities"])


def test_a_made_up_command_is_unimplemented_and_a_made_up_field_ignored(story: Story) -> None:
    assert "unimplemented" in story.notes["made up"]
    assert story.notes["subscribe m0"]["ignored"] == ["made_up_field"]
    assert story.notes["subscribe m1"]["ignored"] == []


def test_the_fields_of_subscribe_are_on_the_wire(story: Story) -> None:
    joined = story.requests(Api.JOIN_GROUP, "m0")[0].body

    assert joined["session_timeout_ms"] == 7000
    assert [protocol["name"] for protocol in joined["protocols"]] == ["range"]
    assert {obs.client for obs in story.evidence.trace if obs.client} <= {"m0", "m1"}


def test_all_records_are_reported_with_their_offsets(story: Story) -> None:
    parts = [part for line in story.of("m0") if line.get("name") == "records_consumed" for part in line["partitions"]]

    for partition in (0, 1):
        ranges = [part for part in parts if part["partition"] == partition]
        assert (min(part["minOffset"] for part in ranges), max(part["maxOffset"] for part in ranges)) == (0, 19)


def test_assignment_and_positions_are_the_clients_own(story: Story) -> None:
    assert story.notes["assignment"]["partitions"] == BOTH
    assert story.notes["position"]["offsets"] == [["t", 0, 20], ["t", 1, 20]]


def test_minus_one_stands_for_nothing_committed(story: Story) -> None:
    assert story.notes["nothing committed"]["offsets"] == [["t", 0, -1], ["t", 1, -1]]


def test_a_sync_commit_is_on_the_wire_and_reported_before_its_answer(story: Story) -> None:
    assert story.names("m0", "sync")[:2] == ["offsets_committed", "answer"]
    assert story.notes["sync"]["offsets"] == [["t", 0, 3]]
    assert ("t", 0, 3) in story.requests(Api.OFFSET_COMMIT, "m0")[0].offsets


def test_an_async_commit_is_reported_by_its_event(story: Story) -> None:
    fields = next(line for line in story.of("m0", "async") if line.get("name") == "offsets_committed")

    assert fields["success"] is True
    assert fields["offsets"] == [{"topic": "t", "partition": 1, "offset": 4}]
    assert story.notes["committed"]["offsets"] == [["t", 0, 3], ["t", 1, 4]]


def test_two_members_share_the_partitions_and_know_their_own(story: Story) -> None:
    owned = [tuple(part.values()) for member in ("m0", "m1") for part in story.notes[f"assignment {member}"]["partitions"]]

    assert sorted(owned) == [("t", 0), ("t", 1)]


def test_every_callback_ends_before_the_next_one_begins(story: Story) -> None:
    callbacks = {"partitions_assigned", "partitions_revoked", "partitions_lost", "callback_done"}
    for member in ("m0", "m1"):
        names = [name for name in story.names(member) if name in callbacks]
        assert names[1::2] == ["callback_done"] * (len(names) // 2)
        assert "callback_done" not in names[0::2]


def test_a_commit_in_a_revocation_is_reported_within_its_callback(story: Story) -> None:
    names = story.names("m1", "close m0")
    revoked = names.index("partitions_revoked")

    assert "offsets_committed" in names[revoked : names.index("callback_done", revoked)]


def test_a_close_leaves_the_group_and_ends_the_member(story: Story) -> None:
    answered = next(place for place, line in enumerate(story.of("m0", "close m0")) if line.get("id") == story.notes["close m0"]["id"])

    assert story.names("m0", "close m0")[answered - 1] == "shutdown_complete"
    assert story.requests(Api.LEAVE_GROUP, "m0")
    assert story.notes["after close"]["error"] == "ILLEGAL_STATE"


def test_an_unsubscribed_member_leaves_and_a_closed_ones_name_is_free_again(story: Story) -> None:
    assert story.notes["unsubscribe"]["ok"] is True
    assert story.requests(Api.LEAVE_GROUP, "m1")
    assert "partitions_assigned" in story.names("m0", "again")


def test_exit_closes_who_is_left_and_ends_with_status_0(story: Story) -> None:
    assert story.notes["exit"]["ok"] is True
    assert story.status == 0
    assert [line["member"] for line in story.lines if line.get("name") == "shutdown_complete"].count("m0") == 2


@pytest.mark.parametrize("name", NEWEST)
@pytest.mark.parametrize("ending", ["end of stdin", "SIGTERM"])
def test_the_end_of_stdin_and_sigterm_leave_the_group_in_order(name: str, ending: str) -> None:
    _, launch = _launched(name)
    recorder = Recorder(time.monotonic_ns)

    async def main() -> None:
        async with _served(launch, recorder) as (shim, bootstrap):
            # A session that a busy machine lets run out has nothing to leave.
            await shim.ask("subscribe", "m0", **subscribe_fields(bootstrap=bootstrap, session_timeout_ms=60_000))
            await shim.event("callback_done", "m0")
            if ending == "SIGTERM":
                shim.process.send_signal(signal.SIGTERM)
            else:
                await shim.end_of_stdin()
            assert await shim.ended() == 0
            assert shim.of("m0")[-1] == "shutdown_complete"

    trio.run(main)
    assert len(Evidence(recorder.trace).requests(Api.LEAVE_GROUP, "m0")) == 1


@pytest.mark.parametrize("name", NEWEST)
def test_what_a_client_claims_is_on_the_wire(name: str) -> None:
    _, launch = _launched(name)
    recorder = Recorder(time.monotonic_ns)

    async def main() -> frozenset[str]:
        async with _served(launch, recorder) as (shim, bootstrap):
            claims = frozenset(shim.lines[0]["capabilities"])
            fields = subscribe_fields(bootstrap=bootstrap, instance_id="i-0", assignors=["cooperative-sticky"])
            answer = await shim.ask("subscribe", "m0", **fields)
            if "cooperative" in claims:
                await shim.event("callback_done", "m0")
                assert "unimplemented" in await shim.ask("close", "m0", leave=True) or name in ("java", "groupproof")
            else:
                assert "unimplemented" in answer
                await shim.ask("subscribe", "m0", **{**fields, "assignors": ["range"]})
                await shim.event("callback_done", "m0")
            await shim.ask("exit")
            return claims

    claims = trio.run(main)
    joined = Evidence(recorder.trace).requests(Api.JOIN_GROUP, "m0")[0].body
    assert ("static" in claims) is (joined["group_instance_id"] == "i-0")
    assert ("cooperative" in claims) is ([protocol["name"] for protocol in joined["protocols"]] == ["cooperative-sticky"])
