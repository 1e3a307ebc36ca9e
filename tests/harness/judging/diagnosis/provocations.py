"""Rebalances of every kind, each provoked in a group that is named after its cause: what to do to members and brokers, in real time.

`EXPECTED` says what began each rebalance of each group, as whoever provoked it knows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

import trio
from packaging.version import Version
from tests.harness.judging.diagnosis.puppet import Line, Puppet, add_partitions, pass_time
from tests.harness.judging.diagnosis.stage import Stage

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["EXPECTED", "PROVOCATIONS", "move_coordinator"]

SETTLED_S: Final = 2.0
"""After so long every member has heard of a generation that one has heard of."""

STATIC: Final = Version("2.4.0")
SYNC_DEADLINE: Final = Version("3.0.0")

EXPECTED: Final[dict[str, tuple[Cause, ...]]] = {
    "new-member": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER),
    "started-together": (Cause.FIRST_MEMBER,),
    "closed": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.CLOSED, Cause.CLOSED),
    "heartbeat-timeout": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.HEARTBEAT_TIMEOUT, Cause.RETURNED),
    "poll-interval": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.POLL_INTERVAL, Cause.RETURNED),
    "subscription-changed": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.SUBSCRIPTION),
    "partitions-changed": (Cause.FIRST_MEMBER, Cause.PARTITIONS),
    "handover": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.HANDOVER),
    "leader-rejoined": (Cause.FIRST_MEMBER, Cause.LEADER_REJOINED),
    "slow-member": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER),
    "sync-timeout": (Cause.FIRST_MEMBER, Cause.SYNC_TIMEOUT),
    "static-replaced": (Cause.FIRST_MEMBER, Cause.STATIC_REPLACED),
    "admin-removal": (Cause.FIRST_MEMBER, Cause.ADMIN_REMOVAL),
    "coordinator-moved": (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.MOVED),
}
"""What began the rebalances of each group, in order. Members played by hand fall silent at the end: a heartbeat timeout may follow."""


async def _new_member(stage: Stage) -> None:
    await stage.host.start("new-member", "new-a")
    await stage.host.start("new-member", "new-b")


async def _started_together(stage: Stage) -> None:
    async with trio.open_nursery() as nursery:
        for name in ("together-a", "together-b"):
            nursery.start_soon(partial(stage.host.start, "started-together", name))


async def _closed(stage: Stage) -> None:
    await stage.host.start("closed", "closed-a")
    await stage.host.start("closed", "closed-b")
    await pass_time(SETTLED_S)
    number = stage.host.count("closed-a", "partitions_assigned")
    await stage.host.say("closed-b", "close")
    await stage.host.until("closed-a", "partitions_assigned", number + 1)
    await stage.host.say("closed-a", "close")
    await stage.host.until("closed-a", "shutdown_complete", 1)


async def _heartbeat_timeout(stage: Stage) -> None:
    await stage.host.start("heartbeat-timeout", "beat-a")
    await stage.doomed.start("heartbeat-timeout", "beat-b")
    await pass_time(SETTLED_S)
    number = stage.host.count("beat-a", "partitions_assigned")
    stage.doomed.stop()
    await stage.host.until("beat-a", "partitions_assigned", number + 1)
    await pass_time(1)
    stage.doomed.go_on()
    await stage.host.until("beat-a", "partitions_assigned", number + 2)


async def _poll_interval(stage: Stage) -> None:
    await stage.host.start("poll-interval", "poll-a")
    await stage.host.start("poll-interval", "poll-b", max_poll_interval_ms=4_000)
    await pass_time(SETTLED_S)
    number = stage.host.count("poll-a", "partitions_assigned")
    await stage.host.say("poll-b", "pause")
    await stage.host.until("poll-a", "partitions_assigned", number + 1)
    await pass_time(1)
    await stage.host.say("poll-b", "resume")
    await stage.host.until("poll-a", "partitions_assigned", number + 2)


async def _subscription(stage: Stage) -> None:
    await stage.host.start("subscription-changed", "subscription-a")
    await stage.host.start("subscription-changed", "subscription-b")
    await pass_time(SETTLED_S)
    number = stage.host.count("subscription-a", "partitions_assigned")
    await stage.host.say("subscription-b", "resubscribe", topics=["t", "u"])
    await stage.host.until("subscription-a", "partitions_assigned", number + 1)


async def _grown(stage: Stage) -> None:
    properties = {"metadata.max.age.ms": "1000"}
    await stage.host.start("partitions-changed", "grown-a", topics=["grow"], properties=properties)
    await pass_time(SETTLED_S)
    number = stage.host.count("grown-a", "partitions_assigned")
    await add_partitions(stage.cluster.addresses, "grow", 10)
    await stage.host.until("grown-a", "partitions_assigned", number + 1)


async def _cooperative(stage: Stage) -> None:
    if stage.release < STATIC:
        return
    await stage.host.start("handover", "coop-a", assignors=["cooperative-sticky"])
    await stage.host.start("handover", "coop-b", assignors=["cooperative-sticky"])
    await pass_time(3)


async def _leader_rejoins(stage: Stage) -> None:
    leader = stage.puppet("leader-rejoined", "leader-a")
    await leader.enter()
    await pass_time(1)
    await leader.enter()


async def _slow_member(stage: Stage) -> None:
    """A member that is stuck in processing keeps the others waiting for the whole rebalance timeout."""
    quick, stuck, new = (stage.puppet("slow-member", f"slow-{name}", rebalance_ms=4_000) for name in ("a", "stuck", "new"))
    await _both(quick, stuck)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(new.enter)
        nursery.start_soon(_beating, stuck, 5.0)
        await pass_time(0.5)
        await quick.enter()


async def _both(*puppets: Puppet) -> None:
    """Let them form one generation, the first as its leader."""
    async with trio.open_nursery() as nursery:
        for puppet in puppets:
            nursery.start_soon(puppet.enter)
            await pass_time(0.2)


async def _beating(puppet: Puppet, seconds: float) -> None:
    with trio.move_on_after(seconds):
        while True:
            await puppet.beat()
            await pass_time(0.5)


async def _silent_follower(stage: Stage) -> None:
    """A follower that never asks for its assignment is put out where releases bound the wait."""
    if stage.release < SYNC_DEADLINE:
        return
    leader, silent = (stage.puppet("sync-timeout", f"sync-{name}", rebalance_ms=3_000, session_ms=30_000) for name in ("a", "silent"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leader.enter)
        await pass_time(0.2)
        await silent.join()
    await pass_time(2.7)
    with trio.move_on_after(8):
        await leader.live()


async def _static_replaced(stage: Stage) -> None:
    if stage.release < STATIC:
        return
    first = stage.puppet("static-replaced", "static-a", instance="a", protocols=("range", "roundrobin"))
    second = stage.puppet("static-replaced", "static-b", instance="b", protocols=("range", "roundrobin"))
    await _both(first, second)
    again = stage.puppet("static-replaced", "static-b", instance="b", protocols=("roundrobin",))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(again.enter)
        await pass_time(0.5)
        await first.enter()


async def _admin_removal(stage: Stage) -> None:
    if stage.release < STATIC:
        return
    stays, goes = stage.puppet("admin-removal", "admin-a", instance="a"), stage.puppet("admin-removal", "admin-b", instance="b")
    await _both(stays, goes)
    await goes.hang_up()
    admin = stage.puppet("admin-removal", "adminclient-1")
    removed = {"member_id": "", "group_instance_id": "b", "reason": "member was removed by an admin"}
    await admin.ask(Api.LEAVE_GROUP, members=(removed,))
    await stays.enter()


async def move_coordinator(stage: Stage) -> None:
    """The coordinator goes while the group prepares; what was under way begins anew where it went."""
    first, stuck, new = (stage.puppet("coordinator-moved", f"moved-{name}") for name in ("a", "b", "new"))
    await _both(first, stuck)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_surviving, new)
        await pass_time(0.5)
        nursery.start_soon(_surviving, first)
        await pass_time(0.5)
        await stage.cluster.stop(await _coordinator(stage, "coordinator-moved"))
        with suppress(OSError, EOFError, trio.BrokenResourceError):
            await _beating(stuck, 0.1)
        await stuck.meet()
        nursery.start_soon(_surviving, stuck)


async def _surviving(puppet: Puppet) -> None:
    """Enter the group whatever becomes of the coordinator meanwhile."""
    while True:
        try:
            joined = await puppet.join()
            if joined["error_code"] == ErrorCode.UNKNOWN_MEMBER_ID:
                puppet.member_id, puppet.generation = "", -1
            elif not joined["error_code"] and not (await puppet.sync(joined))["error_code"]:
                return
        except (OSError, EOFError, trio.BrokenResourceError):
            await puppet.meet()


async def _coordinator(stage: Stage, group: str) -> int:
    line = await Line.to(stage.bootstrap[0], "who-coordinates")
    answer = await line.ask(Api.FIND_COORDINATOR, {"coordinator_keys": (group,), "key_type": 0})
    await line.close()
    return int(answer["coordinators"][0]["node_id"])


PROVOCATIONS: Final[dict[str, Callable[[Stage], Awaitable[None]]]] = {
    "new-member": _new_member,
    "started-together": _started_together,
    "closed": _closed,
    "heartbeat-timeout": _heartbeat_timeout,
    "poll-interval": _poll_interval,
    "subscription-changed": _subscription,
    "partitions-changed": _grown,
    "handover": _cooperative,
    "leader-rejoined": _leader_rejoins,
    "slow-member": _slow_member,
    "sync-timeout": _silent_follower,
    "static-replaced": _static_replaced,
    "admin-removal": _admin_removal,
}
"""What to do, by the group in which it is done; all at once. The coordinator is moved when all else is done."""
