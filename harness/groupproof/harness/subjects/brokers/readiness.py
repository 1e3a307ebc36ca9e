"""Waits until a cluster coordinates groups, and does the administration around a run: creates and deletes topics, deletes groups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import trio

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.assigned_topics import wait_until_assigned
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, Connect, NoCommonVersion, asking
from groupproof.harness.subjects.networks.wrong_port import other_server, tls_hint
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode, error_named
from groupproof.protocol.wire.message_codec import FramingError

__all__ = [
    "UP_S", "controller_of", "create_topics", "delete_groups", "delete_topics", "groups_over", "wait_until_coordinating", "wait_until_up",
]  # fmt: skip

UP_S: Final = 120.0
"""How long brokers may take to coordinate groups, in seconds; a cold JVM on a busy host needs half a minute."""

_PAUSE_S: Final = 0.1
_ATTEMPT_S: Final = 5.0
"""How long each attempt may take, even when the time is over."""

_MUTE: Final = "a connection can be made, but no request is answered"
_EMPTIED_S: Final = 15.0
"""How long groups may take to be empty after their members have left: a first join phase waits for its initial delay (3 s by default) and for
pending members."""

_FULL: Final = error_named(ErrorCode.NON_EMPTY_GROUP)

_CREATE_MS: Final = 20_000
_TOPIC_ALREADY_EXISTS: Final = 36
_NOT_CONTROLLER: Final = 41
_INVALID_REPLICATION_FACTOR: Final = 38
# The errors of a broker that is not ready yet: try again.
_SOON: Final = COORDINATOR_UNAVAILABLE | {
    ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    _NOT_CONTROLLER, _INVALID_REPLICATION_FACTOR,
}  # fmt: skip


class _NotYet(Exception):
    """The cluster is starting; `str()` says what is missing."""


async def wait_until_up(
    connect: Connect,
    addresses: Sequence[Address],
    dead: Callable[[], list[str]],
    *,
    within_s: float = UP_S,
    otherwise: str = "the brokers did not come up",
    uses_tls: bool = True,
) -> None:
    """Wait until every address answers ApiVersions, and each broker's Metadata names them all; raise `BrokenEnvironment`, which says `otherwise`.

    Without `uses_tls` the port may need TLS, and the error says so.
    """

    async def check() -> None:
        for host, port in addresses:
            async with asking(await connect(host, port)) as asker:
                answer = await asker.ask(Api.METADATA, {"topics": ()}, newest=8)
                if len(answer["brokers"]) < len(addresses):
                    raise _NotYet(f"{host}:{port} knows of {len(answer['brokers'])} of {len(addresses)} brokers")

    await _patiently(check, dead, within_s, otherwise, uses_tls=uses_tls)


async def wait_until_coordinating(
    connect: Connect, bootstrap: Address, partitions: int, dead: Callable[[], list[str]], *, within_s: float = UP_S
) -> None:
    """Wait until the coordinators of all partitions of `__consumer_offsets` are found, loaded, and answer; raise `BrokenEnvironment`."""
    waiting = groups_over(partitions)

    async def check() -> None:
        while waiting:
            async with asking(await connect(*bootstrap)) as asker:
                host, port = await _coordinator(asker, waiting[-1])
            async with asking(await connect(host, port)) as asker:
                await _answers(asker, waiting[-1])
            waiting.pop()

    await _patiently(check, dead, within_s, "the brokers came up, but coordinate no group")


def groups_over(partitions: int) -> list[str]:
    """Return one group id for each partition of `__consumer_offsets`."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(partition_of(f"groupproof-ready-{number}", partitions), f"groupproof-ready-{number}")
        number += 1
    return list(found.values())


async def _coordinator(asker: Asker, group: str) -> Address:
    answer = await asker.ask(Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": (group,)})
    found = answer["coordinators"][0]
    if found["error_code"]:
        raise _NotYet(f"FindCoordinator answers {error_named(found['error_code'])}")
    return found["host"], found["port"]


async def _answers(asker: Asker, group: str) -> None:
    """Send a Heartbeat of an unknown member: a coordinator that has loaded its groups answers that it is unknown."""
    body = {"group_id": group, "generation_id": 1, "member_id": "nobody"}
    answer = await asker.ask(Api.HEARTBEAT, body)
    if answer["error_code"] in _SOON:
        raise _NotYet(f"the coordinator answers {error_named(answer['error_code'])}")


async def create_topics(connect: Connect, bootstrap: Address, topics: Mapping[str, int], *, replicas: int, within_s: float = 60.0) -> list[str]:
    """Create missing topics, wait until every partition has a leader and group coordinators assign it, and return the names of the created topics.

    Raise `BrokenEnvironment` where the broker refuses, or has a topic with fewer partitions.
    """
    made: list[str] = []

    async def check() -> None:
        async with asking(await connect(*bootstrap)) as asker:
            missing = {name: topics[name] for name, has in (await _partitions(asker, topics)).items() if has == 0}
            controller = await controller_of(asker, bootstrap)
        if missing:
            async with asking(await connect(*controller)) as asker:
                made.extend(await _create(asker, missing, replicas))
        async with asking(await connect(*bootstrap)) as asker:
            there = await _partitions(asker, topics)
        for name, wanted in topics.items():
            if name in made and there[name] < wanted:
                raise _NotYet(f"of topic {name!r} {there[name]} of {wanted} partitions are led")
            if there[name] < wanted:
                raise BrokenEnvironment(f"topic {name!r} has {there[name]} partitions, {wanted} are needed: add some, or delete it")

    if topics:
        await _patiently(check, list, within_s, f"topics {', '.join(topics)} can't be had")
    if made:
        await wait_until_assigned(connect, bootstrap, {name: topics[name] for name in made})
    return made


async def controller_of(asker: Asker, otherwise: Address) -> Address:
    """Return the address of the controller, which creates and deletes topics: brokers of older releases do not forward these requests."""
    answer = await asker.ask(Api.METADATA, {"topics": ()}, newest=8)
    chosen = (broker for broker in answer["brokers"] if broker["node_id"] == answer.get("controller_id"))
    return next(((broker["host"], broker["port"]) for broker in chosen), otherwise)


async def _partitions(asker: Asker, topics: Iterable[str]) -> dict[str, int]:
    """Return how many partitions of each topic have a leader; 0 for a missing topic. From v4 on the request creates no topics."""
    body = {"topics": tuple({"name": name} for name in topics), "allow_auto_topic_creation": False}
    answer = await asker.ask(Api.METADATA, body, newest=8)
    led = {topic["name"]: sum(not part["error_code"] for part in topic["partitions"]) for topic in answer["topics"]}
    return {name: led.get(name, 0) for name in topics}


async def _create(asker: Asker, topics: Mapping[str, int], replicas: int) -> list[str]:
    wanted = tuple({"name": name, "num_partitions": partitions, "replication_factor": replicas} for name, partitions in topics.items())
    answer = await asker.ask(Api.CREATE_TOPICS, {"topics": wanted, "timeout_ms": _CREATE_MS})
    made = []
    for topic in answer["topics"]:
        code = topic["error_code"]
        if code in _SOON:
            raise _NotYet(f"CreateTopics answers {_describe(topic)}")
        if code not in (0, _TOPIC_ALREADY_EXISTS):
            raise BrokenEnvironment(f"topic {topic['name']!r} can't be created: {_describe(topic)}; create it, or allow this user to")
        if code == 0:
            made.append(topic["name"])
    return made


def _describe(result: Mapping[str, Any]) -> str:
    message = result.get("error_message")
    return f"{error_named(result['error_code'])}{f' ({message})' if message else ''}"


async def delete_topics(connect: Connect, bootstrap: Address, names: Sequence[str]) -> list[str]:
    """Delete topics; return one line for each that could not be deleted."""
    if not names:
        return []
    async with asking(await connect(*bootstrap)) as asker:
        controller = await controller_of(asker, bootstrap)
    async with asking(await connect(*controller)) as asker:
        answer = await asker.ask(Api.DELETE_TOPICS, {"topic_names": tuple(names), "timeout_ms": _CREATE_MS}, newest=5)
    return [
        f"topic {response['name']}: {_describe(response)}"
        for response in answer["responses"]
        if response["error_code"] not in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ]


async def delete_groups(connect: Connect, bootstrap: Address, groups: Iterable[str]) -> list[str]:
    """Delete groups by their coordinators, after their remaining members; return one line for each group that still exists."""
    deadline = trio.current_time() + _EMPTIED_S
    left: dict[str, str] = {}
    waiting = list(groups)
    while waiting:
        left |= {group: await _deleted(connect, bootstrap, group) for group in waiting}
        waiting = [group for group in waiting if left[group] == _FULL and trio.current_time() < deadline]
        await trio.sleep(_PAUSE_S)
    return [f"group {group}: {error}" for group, error in left.items() if error]


async def _deleted(connect: Connect, bootstrap: Address, group: str) -> str:
    """Delete a group; return the error text, empty on success. Remaining members are removed first: the group would outlive their sessions,
    by default for a week."""
    try:
        async with asking(await connect(*bootstrap)) as asker:
            address = await _coordinator(asker, group)
        async with asking(await connect(*address)) as asker:
            outcome = await _delete(asker, group)
            if outcome == _FULL:
                await _empty(asker, group)
                outcome = await _delete(asker, group)
    except (_NotYet, NoCommonVersion, *GONE) as error:
        return str(error)
    return outcome


async def _delete(asker: Asker, group: str) -> str:
    answer = await asker.ask(Api.DELETE_GROUPS, {"groups_names": (group,)})
    return next((_describe(result) for result in answer["results"] if result["error_code"] not in (0, ErrorCode.GROUP_ID_NOT_FOUND)), "")


async def _empty(asker: Asker, group: str) -> None:
    answer = await asker.ask(Api.DESCRIBE_GROUPS, {"groups": (group,)})
    for member in (member for described in answer["groups"] for member in described["members"]):
        leaving = {"member_id": member["member_id"], "group_instance_id": member.get("group_instance_id")}
        await asker.ask(Api.LEAVE_GROUP, {"group_id": group, "members": (leaving,)})


async def _patiently(
    check: Callable[[], Awaitable[None]], dead: Callable[[], list[str]], within_s: float, otherwise: str, *, uses_tls: bool = True
) -> None:
    """Repeat `check` until it passes; raise `BrokenEnvironment` when a process is dead, the time is over, or the server is no broker at all."""
    text = ""
    deadline = trio.current_time() + within_s
    while True:
        if ended := dead():
            raise BrokenEnvironment(f"{otherwise}: {'; '.join(ended)}")
        with trio.move_on_at(max(deadline, trio.current_time() + _ATTEMPT_S)):
            try:
                return await check()
            except FramingError as error:
                if named := other_server(error.first_bytes):
                    raise BrokenEnvironment(f"{otherwise}: {named}") from error
                text = str(error)
            except (_NotYet, NoCommonVersion, *GONE) as error:
                text = (str(error) or type(error).__name__) + ("" if uses_tls else tls_hint(error))
        if trio.current_time() > deadline:
            raise BrokenEnvironment(f"{otherwise} within {within_s:g} s: {text or _MUTE}")
        await trio.sleep(_PAUSE_S)
