"""A shim of Kafka Connect's workers or of Kafka Streams' applications goes through paces of its own, and each planted fault is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.harness.running.shim_check.faults_of_shims import Body, Plain, ShimFault, run_faulty

from groupproof.harness.running.shim_check.embedded_exercises import embedded_kind
from groupproof.harness.running.shim_check.shim_check import ShimCheck

CONNECT, STREAMS = ["connect", "multi", "resubscribe"], ["streams", "multi", "static"]


class Embedded(Plain):
    """The reference's shim as one that is no consumer."""

    capabilities: list[str]

    def lines_of(self, body: Body) -> list[str | Body]:
        return [{**body, "capabilities": self.capabilities} if body.get("name") == "hello" else body]


class Workers(Embedded):
    capabilities = CONNECT


class Applications(Embedded):
    capabilities = STREAMS


class SwallowsStart(Workers):
    def lines_of(self, body: Body) -> list[str | Body]:
        return [] if body.get("name") == "startup_complete" else super().lines_of(body)


class SwallowsResubscribe(Workers):
    def heard(self, command: Body) -> Body:
        return {**command, "command": "pause"} if command.get("command") == "resubscribe" else command


class KnowsEverything(Workers):
    def lines_of(self, body: Body) -> list[str | Body]:
        return [{**body, "ignored": []}] if self.command_of(body) == "subscribe" else super().lines_of(body)


class NeverCloses(Applications):
    def lines_of(self, body: Body) -> list[str | Body]:
        return [] if body.get("name") == "shutdown_complete" else super().lines_of(body)


class TellsHalf(Applications):
    def lines_of(self, body: Body) -> list[str | Body]:
        return [{**body, "partitions": body["partitions"][:1]}] if body.get("name") == "partitions_assigned" else super().lines_of(body)


class KeepsRecords(Applications):
    def lines_of(self, body: Body) -> list[str | Body]:
        return [] if body.get("name") == "records_consumed" else super().lines_of(body)


def checked(make: Callable[[], Plain]) -> tuple[list[str], list[str]]:
    """Return the problems, and what was tried."""
    tried: list[str] = []
    fault = ShimFault(name="embedded", make=make, problem="")
    return ShimCheck(run_faulty(fault), say=tried.append).run(), [line for line in tried if line.startswith("tried: ")]


@pytest.mark.parametrize(("make", "own"), [(Workers, "tried: resubscribe"), (Applications, "tried: callbacks and records")])
def test_a_shim_that_is_no_consumer_goes_through_its_own_paces_and_no_others(make: Callable[[], Plain], own: str) -> None:
    problems, tried = checked(make)

    assert problems == []
    assert tried[1:] == ["tried: subscribe, held against the wire", own, "tried: close and exit", "tried: end of stdin", "tried: SIGTERM"]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (SwallowsStart, "no startup_complete within 15 s of subscribe"),
        (SwallowsResubscribe, "no JoinGroup came within 15 s of resubscribe: the worker knows of no new configuration"),
        (KnowsEverything, "the answer to subscribe does not list made_up_field, which nobody knows, among ignored"),
        (NeverCloses, "close was not followed by shutdown_complete"),
        (TellsHalf, "partitions_assigned names [('t', 0)], its client was given [('t', 0), ('t', 1), ('t', 2), ('t', 3)]"),
        (KeepsRecords, "no records_consumed within 15 s of partitions_assigned"),
    ],
)
def test_each_fault_of_such_a_shim_is_named(make: Callable[[], Plain], problem: str) -> None:
    assert problem in checked(make)[0]


@pytest.mark.parametrize(
    ("capabilities", "kind"), [(CONNECT, "connect"), (STREAMS, "streams"), (["classic", "connect"], ""), (["consumer", "streams"], ""), ([], "")]
)
def test_an_application_that_is_a_consumer_too_is_checked_as_one(capabilities: list[str], kind: str) -> None:
    assert embedded_kind(capabilities) == kind
