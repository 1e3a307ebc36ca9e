from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from tests.harness.subjects.shims.fakes import AlwaysUp, Heard

from groupproof.clients.registry.registered_clients import resolve
from groupproof.harness.model.errors import BrokenEnvironment, BrokenShim
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.harness.subjects import verifiable_consumer
from groupproof.harness.subjects.networks.network import LoopbackNetwork
from groupproof.harness.subjects.shims.process_weight import jobs_for
from groupproof.harness.subjects.shims.shim_process import Program
from groupproof.harness.subjects.subject import Handle, jobs_of
from groupproof.harness.subjects.verifiable_consumer import VerifiableSubject, template_of

FIELDS: dict[str, Any] = {"bootstrap": "h:1", "client_id": "m0", **DEFAULTS}


def program(how: str) -> Program:
    return Program(argv=(sys.executable, "-I", "-S", str(Path(__file__).with_name("fake_verifiable.py")), how))


def using(subject: VerifiableSubject, use: Callable[[Handle, Heard], Awaitable[None]], network: LoopbackNetwork | None = None) -> None:
    async def main() -> None:
        heard = Heard()
        with trio.fail_after(120):
            async with subject.opened(), subject.member("c1.m0", heard, network or LoopbackNetwork(), alone=False, seed=1) as handle:
                await use(handle, heard)

    trio.run(main)


async def started(heard: Heard) -> dict[str, Any]:
    """Return the first event."""
    await heard.spoken.wait()
    return heard.events[0]


def test_the_template_is_that_of_the_release_the_newer_of_two_names() -> None:
    old = {argument.field: argument.option for argument in template_of("--topic --group-id --broker-list")}
    new = {argument.field: argument.option for argument in template_of("--topic --group-id --broker-list --bootstrap-server --group-instance-id")}

    assert old["bootstrap"] == "--broker-list"
    assert new["bootstrap"] == "--bootstrap-server"
    assert ("instance_id" in old, "instance_id" in new) == (False, True)


def test_a_program_is_started_by_subscribe_with_the_options_that_it_names() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        assert handle.pid is None
        answer = await handle.ask("subscribe", {**FIELDS, "instance_id": "i-1"})
        options = (await started(heard))["options"]
        assert options[options.index("--bootstrap-server") + 1] == "h:1"
        assert options[options.index("--assignment-strategy") + 1] == "org.apache.kafka.clients.consumer.RangeAssignor"
        assert options[options.index("--group-instance-id") + 1] == "i-1"
        assert "--enable-autocommit" not in options
        assert answer.ok
        assert {"poll_timeout_ms", "protocol"} <= set(answer.body["ignored"])
        assert "client_id" not in answer.body["ignored"]
        assert [answer.ok for answer in heard.answers] == [True]

    using(VerifiableSubject("java", program("kafka-4.1")), use)


def test_a_setting_without_an_option_is_passed_in_the_properties_file_if_a_program_reads_one() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        answer = await handle.ask("subscribe", {**FIELDS, "heartbeat_interval_ms": 700, "properties": {"client.rack": "a\\b"}})
        entry = (await started(heard))["config"].splitlines()
        assert {"heartbeat.interval.ms=700", "client.id=m0", "client.rack=a\\\\b"} <= set(entry)
        assert not {"heartbeat_interval_ms", "max_poll_interval_ms", "properties"} & set(answer.body["ignored"])

    using(VerifiableSubject("java", program("kafka-4.1")), use)


def test_an_older_release_gets_its_own_options_and_no_capability_that_it_has_not() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        assert handle.hello.capabilities == {"classic", "auto-commit"}
        answer = await handle.ask("subscribe", FIELDS)
        assert "--broker-list" in (await started(heard))["options"]
        assert {"assignors", "heartbeat_interval_ms", "max_poll_interval_ms"} <= set(answer.body["ignored"])

    using(VerifiableSubject("java", program("kafka-2.0")), use)


def test_a_registered_program_brings_its_template() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        assert "static" in handle.hello.capabilities
        assert handle.hello.version == "2.16.1"
        await handle.ask("subscribe", FIELDS)
        options = (await started(heard))["options"]
        assert options[options.index("--assignment-strategy") + 1] == "range"

    template = resolve("verifiable-confluent").arguments
    using(VerifiableSubject("verifiable-confluent", program("other"), version="2.16.1", language="python", template=template), use)


def test_close_is_a_sigterm_and_the_program_ends() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        await handle.ask("subscribe", FIELDS)
        await started(heard)
        assert (await handle.ask("close", {})).ok
        assert heard.events[-1]["name"] == "shutdown_complete"
        assert [ending.status for ending in heard.endings] == [0]
        assert await handle.depart(0)

    using(VerifiableSubject("java", program("kafka-4.1")), use)


@pytest.mark.parametrize(("how", "status"), [("gives up", 0), ("gives up, as Java's does", 0), ("gives up, as Java's of 1.1 does, with a trace", 1)])
def test_a_program_that_gives_up_tells_a_fatal_error_and_did_not_crash(how: str, status: int) -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        await handle.ask("subscribe", FIELDS)
        assert await handle.depart(120)
        assert [event["name"] for event in heard.events] == ["startup_complete", "shutdown_complete", "error"]
        assert heard.events[-1]["fatal"]
        assert [(ending.status, ending.gave_up) for ending in heard.endings] == [(status, True)]

    using(VerifiableSubject("java", program(how)), use)


def test_subscribe_is_answered_once_the_program_has_come_up() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        await handle.ask("subscribe", FIELDS)
        assert [event["name"] for event in heard.events] == ["startup_complete"]

    using(VerifiableSubject("java", program("kafka-4.1")), use)


def test_subscribe_is_answered_with_the_first_connection_of_a_program_that_says_nothing_before_it_is_assigned() -> None:
    network = LoopbackNetwork()

    async def main() -> None:
        heard, subject = Heard(), VerifiableSubject("x", program("silent until assigned"))
        with trio.fail_after(120):
            async with (
                network.opened(AlwaysUpBrokers()) as addresses,
                subject.opened(),
                subject.member("c1.m0", heard, network, alone=False, seed=1) as handle,
            ):
                fields = {**FIELDS, "bootstrap": f"127.0.0.1:{addresses[0][1]}"}
                assert (await handle.ask("subscribe", fields)).ok
                assert (heard.events, network.arrivals) == ([], {})

    trio.run(main)


class AlwaysUpBrokers(AlwaysUp):
    """One broker that takes connections and says nothing."""

    nodes = (0,)

    def advertise(self, node_id: int, host: str, port: int) -> None:
        return

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        await stream.receive_some(1)


def test_what_a_registered_program_writes_of_an_error_to_stderr_is_an_event() -> None:
    client = resolve("verifiable-confluent")

    async def use(handle: Handle, heard: Heard) -> None:
        assert (handle.hello.level, handle.hello.unreported) == (0, frozenset())
        await handle.ask("subscribe", FIELDS)
        await handle.ask("close", {})
        errors = [event for event in heard.events if event["name"] == "error"]
        message = 'JoinGroup failed: Broker: \\"?\\"'
        assert errors == [{"name": "error", "error": "INVALID_GROUP_ID", "message": message, "fatal": False}]

    using(VerifiableSubject("x", program("logs an error"), template=client.arguments, error_line=client.error_line), use)


@pytest.mark.parametrize(("how", "unreported"), [("kafka-4.1", set()), ("kafka-2.0", {"error"})])
def test_only_javas_program_is_known_to_end_where_its_consumer_throws(how: str, unreported: set[str]) -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        assert handle.hello.unreported == unreported

    using(VerifiableSubject("x", program(how)), use)


def test_several_topics_are_unimplemented_where_only_the_help_is_known() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        answer = await handle.ask("subscribe", {**FIELDS, "topics": ["a", "b"]})
        assert answer.unimplemented == "the program takes one topic"
        assert handle.pid is None
        assert (await handle.ask("close", {})).ok

    using(VerifiableSubject("java", program("kafka-4.1")), use)


@pytest.mark.parametrize(("command", "fields"), [("pause", {}), ("commit", {"mode": "sync"}), ("close", {"leave": True})])
def test_every_other_command_is_unimplemented(command: str, fields: dict[str, Any]) -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        await handle.ask("subscribe", FIELDS)
        assert (await handle.ask(command, fields)).unimplemented == "a program of level 0 takes no commands"

    using(VerifiableSubject("java", program("kafka-4.1")), use)


def test_it_can_be_frozen_and_killed() -> None:
    async def use(handle: Handle, heard: Heard) -> None:
        handle.kill()
        await handle.ask("subscribe", FIELDS)
        await started(heard)
        handle.freeze()
        handle.thaw()
        handle.kill()
        await heard.ended.wait()
        assert heard.endings[0].status == -signal.SIGKILL

    using(VerifiableSubject("java", program("kafka-4.1")), use)


def test_its_process_gets_the_members_name_on_the_network() -> None:
    network = LoopbackNetwork()

    async def use(handle: Handle, heard: Heard) -> None:
        await handle.ask("subscribe", FIELDS)
        assert network.names == {handle.pid: "m0"}

    using(VerifiableSubject("java", program("kafka-4.1")), use, network)


@pytest.mark.parametrize(
    ("how", "kind", "why", "help_s"),
    [
        (program("other"), BrokenShim, "no program of level 0: its --help names no --topic", 120.0),
        (program("silent"), BrokenShim, "no options within", 0.1),
        (Program(argv=("no-such-program-here",)), BrokenEnvironment, "can't start no-such-program-here", 120.0),
    ],
)
def test_a_program_that_is_none_of_level_0_is_refused_in_one_line(
    how: Program, kind: type[Exception], why: str, help_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifiable_consumer, "HELP_S", help_s)

    async def main() -> None:
        async with VerifiableSubject("x", how).opened():
            pass

    with pytest.raises(Exception, match=why) as error:
        trio.run(main)
    assert isinstance(trouble_in(error.value), kind)


def test_as_many_programs_run_at_once_as_their_weight_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([10.0, 11.0])
    monkeypatch.setattr(verifiable_consumer, "_children_s", lambda: next(seconds))
    subject = VerifiableSubject("java", program("kafka-4.1"))

    async def use(handle: Handle, heard: Heard) -> None:
        assert subject.start_s == 3.0
        assert jobs_of(subject, 64) == jobs_for(3.0, os.cpu_count() or 1) < 64

    using(subject, use)
