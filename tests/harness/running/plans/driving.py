"""A plan carried out in virtual time with the driver alone: with the reference member, or with scripted shims that have no client."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import trio

from groupproof.clients.shims.reference import run_shim
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.model.plan import (
    Await,
    Impair,
    Member,
    Plan,
    Stable,
    Start,
    Step,
)
from groupproof.harness.running.plans.client_stage import COORDINATOR_DEFAULTS
from groupproof.harness.running.plans.member_control import Actor
from groupproof.harness.running.plans.plan_runner import Driver, Limits
from groupproof.harness.subjects.networks.impairments import Impairments
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.reference_control import DrivenReference
from groupproof.harness.subjects.shims.shim_memory import RunShim
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.trace import Observation, Recorder

__all__ = ["JOINED", "LIMITS", "M0", "kit", "ok", "play", "requests", "shim"]

M0 = Member(name="m0")
JOINED = (Start(member="m0"), Await(until=Stable(members=("m0",))))
LIMITS = Limits(subscribe_s=20, close_s=5, steps_s=60)


def play(
    steps: Sequence[Step],
    *members: Member,
    subject: RunShim = run_shim,
    of: ReferenceSubject | None = None,
    limits: Limits = LIMITS,
    on_started: Callable[[Actor], Awaitable[None]] | None = None,
    settings_needed: Mapping[str, frozenset[str]] | None = None,
    react_ms: float | None = None,
) -> list[Observation]:
    """Carry steps out in virtual time, and return the trace. `react_ms` is the subject's measured rhythm, if any."""
    plan = Plan(members=members or (M0,), steps=tuple(steps))
    trace: list[Observation] = []

    async def main() -> None:
        recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        if react_ms is not None:
            recorder.record("event", who="kit", body={"name": "rhythm", "react_ms": react_ms})
        cluster = Cluster(settings=COORDINATOR_DEFAULTS, topics=plan.topics, records=plan.records, recorder=recorder)
        under_test, reference_peers, network = (
            of or ReferenceSubject(subject),
            ReferenceSubject(run_shim),
            MemoryNetwork(Impairments(random.Random(1)) if any(isinstance(step, Impair) for step in steps) else None),
        )
        driver = Driver(
            plan,
            DrivenReference(cluster),
            network,
            recorder,
            subject_of=lambda kind: under_test if kind == "subject" else reference_peers,
            key="c1",
            seed=1,
            limits=limits,
            on_started=on_started,
            settings_needed=settings_needed or {},
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            async with network.opened(cluster):
                await driver.run()
            nursery.cancel_scope.cancel()
        trace.extend(recorder.trace)

    run_virtually(main, seed=1)
    return trace


def kit(trace: Sequence[Observation], *names: str) -> list[Observation]:
    return [obs for obs in trace if obs.who == "kit" and obs.body.get("name") in names]


def requests(trace: Sequence[Observation], api: str) -> list[Observation]:
    return [obs for obs in trace if obs.kind == "request" and obs.api == api]


def shim(reply: Callable[[dict[str, Any]], Sequence[dict[str, Any]] | None], *capabilities: str) -> RunShim:
    """Return a shim without a client: `reply` says what lines answer a command; None ends the shim with an error."""

    async def run(
        lines: AsyncIterator[str],
        emit: Callable[[str], Awaitable[None]],
        connect: Callable[[str, int], Awaitable[trio.abc.Stream]],
        *,
        seed: int,
        variant: str | None = None,
    ) -> None:
        greeting = {"name": "hello", "contract": 1, "client": "none", "version": "1", "language": "none", "capabilities": list(capabilities)}
        await emit(json.dumps(greeting))
        async for line in lines:
            command = json.loads(line)
            if command["command"].startswith("made-up"):
                await emit(json.dumps({"id": command["id"], "unimplemented": "no"}))
                continue
            answer = reply(command)
            if answer is None:
                raise RuntimeError("as the test asked")
            for entry in answer:
                await emit(json.dumps(entry) if entry else "{not json")

    return run


def ok(command: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": command["id"], "ok": True}]
