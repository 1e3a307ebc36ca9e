"""Builders of script steps: one function for each request of the group protocol. Its defaults are what a well-behaved member sends.

Keywords override fields of the body, by Kafka's names. Steps compose by concatenation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupproof.harness.model.script import Ask, AssignmentBytes, AwaitAnswer, Group, Ref, ScriptStep, SubscriptionBytes, Topic
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = [
    "REBALANCE_MS", "SESSION_MS", "answered", "ask", "beat", "commit", "delete_groups", "describe", "fetch", "join", "joined", "leave", "list_groups",
    "stable", "sync",
]  # fmt: skip

SESSION_MS = 6_000
REBALANCE_MS = 10_000

_OF_ASK = frozenset({"label", "version", "over", "to", "wait", "within_ms", "code", "is_parked", "settles", "since"})
GROUP = Group()


def ask(member: str, api: Api, fields: Mapping[str, Any], overrides: Mapping[str, Any], *, label: str) -> Ask:
    """Return a request. An override that is an option of `Ask` sets that option; every other override is a field of the body."""
    options = {name: value for name, value in overrides.items() if name in _OF_ASK}
    body = {**fields, **{name: value for name, value in overrides.items() if name not in _OF_ASK}}
    return Ask(member=member, api=api, fields=body, **{"label": label, **options})


def _protocols(names: Sequence[str], metadata: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({"name": name, "metadata": metadata} for name in names)


def join(member: str, *, protocols: Sequence[str] = ("range",), metadata: Any = None, instance: str | None = None, **overrides: Any) -> Ask:
    """Send JoinGroup as `member`, with its latest member id, without waiting for the answer. The label is "join MEMBER"."""
    fields = {
        "group_id": GROUP,
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": REBALANCE_MS,
        "member_id": Ref(member, "member_id"),
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "protocols": _protocols(protocols, SubscriptionBytes() if metadata is None else metadata),
    }
    return ask(member, Api.JOIN_GROUP, fields, {"wait": False, **overrides}, label=f"join {member}")


def joined(member: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Join as a new member does. From v4 on, a dynamic member first gets its id (79) and then joins with it."""
    if overrides.get("instance") is not None or (overrides.get("version") is not None and overrides["version"] < 4):
        return (join(member, **overrides),)
    first = {**overrides, "wait": True, "label": f"id {member}", "code": ErrorCode.MEMBER_ID_REQUIRED, "is_parked": False, "since": 4}
    return (join(member, **first), join(member, **overrides))


def answered(label: str, code: int | None = None, within_ms: int = 10_000) -> AwaitAnswer:
    return AwaitAnswer(label=label, code=code, within_ms=within_ms)


def sync(member: str, assignments: Mapping[str, Iterable[tuple[str, int]]] | None = None, *, instance: str | None = None, **overrides: Any) -> Ask:
    """Send SyncGroup as `member`, as the leader does where `assignments` (by member) are set. Waits for the answer by default."""
    fields = {
        "group_id": GROUP,
        "generation_id": Ref(member, "generation"),
        "member_id": Ref(member, "member_id"),
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "protocol_name": Ref(member, "protocol_name"),
        "assignments": tuple(
            {"member_id": Ref(name, "member_id"), "assignment": AssignmentBytes(tuple(owned))} for name, owned in (assignments or {}).items()
        ),
    }
    return ask(member, Api.SYNC_GROUP, fields, overrides, label=f"sync {member}")


def beat(member: str, *, instance: str | None = None, **overrides: Any) -> Ask:
    fields = {
        "group_id": GROUP,
        "generation_id": Ref(member, "generation"),
        "member_id": Ref(member, "member_id"),
        "group_instance_id": instance,
    }
    return ask(member, Api.HEARTBEAT, fields, overrides, label=f"beat {member}")


def leave(member: str, *, members: Sequence[Mapping[str, Any]] | None = None, **overrides: Any) -> Ask:
    """Send LeaveGroup as `member`, for itself or for `members`."""
    own = ({"member_id": Ref(member, "member_id"), "group_instance_id": None},)
    fields = {"group_id": GROUP, "members": own if members is None else tuple(members)}
    return ask(member, Api.LEAVE_GROUP, fields, overrides, label=f"leave {member}")


def commit(
    member: str, offsets: Mapping[tuple[str, int], int] | None = None, *, metadata: str | None = "", instance: str | None = None, **overrides: Any
) -> Ask:
    """Send OffsetCommit as `member`, by default for partition 0 of topic t at offset 1."""
    topics: dict[str, list[Mapping[str, Any]]] = {}
    for (topic, partition), offset in ({("t", 0): 1} if offsets is None else offsets).items():
        topics.setdefault(topic, []).append({"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata})
    fields = {
        "group_id": GROUP,
        "generation_id": Ref(member, "generation"),
        "member_id": Ref(member, "member_id"),
        "group_instance_id": instance,
        "topics": tuple({"name": Topic(name), "partitions": tuple(partitions)} for name, partitions in topics.items()),
    }
    return ask(member, Api.OFFSET_COMMIT, fields, overrides, label=f"commit {member}")


def fetch(member: str, partitions: Mapping[str, Sequence[int]] | None = None, *, everything: bool = False, **overrides: Any) -> Ask:
    """Send OffsetFetch as `member`: partition 0 of topic t, the `partitions`, or `everything` that was committed."""
    wanted = {"t": (0,)} if partitions is None else partitions
    topics = None if everything else tuple({"name": Topic(name), "partition_indexes": tuple(of)} for name, of in wanted.items())
    group = {"group_id": overrides.pop("group_id", GROUP), "topics": topics}
    fields = {"groups": (group,), "require_stable": False}
    return ask(member, Api.OFFSET_FETCH, fields, overrides, label=f"fetch {member}")


def describe(member: str, *, group: Any = GROUP, **overrides: Any) -> Ask:
    return ask(member, Api.DESCRIBE_GROUPS, {"groups": (group,)}, overrides, label=f"describe {member}")


def list_groups(member: str, **overrides: Any) -> Ask:
    return ask(member, Api.LIST_GROUPS, {}, overrides, label=f"list {member}")


def delete_groups(member: str, *, group: Any = GROUP, **overrides: Any) -> Ask:
    return ask(member, Api.DELETE_GROUPS, {"groups_names": (group,)}, overrides, label=f"delete {member}")


def stable(*members: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to Stable: the members join, the first one (the leader) assigns partition i to the i-th member, and all sync.

    With an initial delay of 0 the first join completes alone. Each later member then starts a new generation, and the earlier members rejoin.
    """
    steps: list[ScriptStep] = []
    for index, member in enumerate(members):
        steps += joined(member, **overrides)
        steps += [join(earlier, **overrides) for earlier in members[:index]]
        steps += [answered(f"join {member}", code=0) for member in members[: index + 1]]
    leader, *followers = members
    steps += [sync(follower, wait=False, is_parked=True) for follower in followers]
    steps.append(sync(leader, {member: [("t", index)] for index, member in enumerate(members)}, code=0))
    steps += [answered(f"sync {follower}", code=0) for follower in followers]
    return tuple(steps)
