"""Builds the coordinator cases: their form, their settings, and the states in which many of them start.

Each set of settings needs one more broker, so there are only four: `PROMPT`, `DELAYED`, `SMALL`, and `PROMPT` on
two brokers. Requests keep `APART_MS` from deadlines, so that a busy host changes no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import case_id
from groupproof.harness.model.prerequisites import is_core
from groupproof.harness.model.requirement_levels import highest_level
from groupproof.harness.model.script import Ask, Group, Pass, Ref, Script, ScriptStep, Topic
from groupproof.harness.model.script_builders import answered, beat, join, joined, leave, stable, sync
from groupproof.harness.model.verdicts import Level
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import INSTANCE_ID_SINCE, Api, ErrorCode

__all__ = [
    "APART_MS", "DELAYED", "INITIAL_DELAY_MS", "MAX_SIZE", "NOBODY", "PROMPT", "SMALL", "Steps", "all_joined", "alone", "api_versions", "assigning", "case", "emptied",
    "find", "found_missing", "gathered", "in_group", "let_in", "named", "offering", "offset_delete", "passing", "preparing", "rejoined", "synced",
]  # fmt: skip

APART_MS: Final = 300
"""The minimum time between a request and a deadline, in milliseconds."""

INITIAL_DELAY_MS: Final = 1_000
MAX_SIZE: Final = 3

PROMPT: Final[Mapping[str, Any]] = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
DELAYED: Final[Mapping[str, Any]] = {**PROMPT, "group.initial.rebalance.delay.ms": INITIAL_DELAY_MS}
SMALL: Final[Mapping[str, Any]] = {
    **PROMPT, "group.max.size": MAX_SIZE, "offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 10_000
}  # fmt: skip

NOBODY: Final = "nobody-7f3c"
"""A member id that no coordinator has handed out."""

Steps = ScriptStep | Iterable[ScriptStep]


def case(
    id: str,
    title: str,
    requirements: Iterable[str],
    *steps: Steps,
    level: Level | None = None,
    settings: Mapping[str, Any] = PROMPT,
    brokers: int = 1,
    topics: Mapping[str, int] | None = None,
    required: bool = True,
    dialect: Dialect = CLASSIC,
) -> Case:
    """Return a coordinator case. The dialect stands between the parts of `id`, `area/name`; `title` says what the coordinator does. The level is that
    of the most severe requirement, unless `level` is set.

    The requests show which API versions the case needs. A case that needs more than any coordinator of the classic protocol has
    is never required.
    """
    area, name = id.split("/")
    cited = tuple(requirements)
    plan = Script(steps=_flat(steps), settings=settings, brokers=brokers, topics={"t": 2} if topics is None else topics)
    made = Case(
        id=case_id(area, dialect, name),
        title=f"The coordinator {title}.",
        requirements=cited,
        level=level or highest_level(cited),
        plan=plan,
        judges=(),
        needs=frozenset(need for step in plan.steps if isinstance(step, Ask) for need in _needs(step)),
        side="coordinator",
    )
    return replace(made, required=required and is_core(made))


_FILTERS_SINCE: Final = {"states_filter": 4, "types_filter": 5}
_ID_ROUND_SINCE: Final = 4
_BATCH_SINCE: Final = {Api.LEAVE_GROUP: ("members", 3), Api.FIND_COORDINATOR: ("coordinator_keys", 4)}


def _needs(ask: Ask) -> Iterator[str]:
    """Yield the API versions that the request needs, beside its API and its version: the coordinator's newest version must reach them."""
    entries = ask.fields.get("members") or ()
    if ask.fields.get("group_instance_id") or any(member.get("group_instance_id") for member in entries):
        yield f"{ask.api.title}>={INSTANCE_ID_SINCE[ask.api]}"
    batch, since = _BATCH_SINCE.get(ask.api, ("", 0))
    if len(ask.fields.get(batch, (None,))) != 1:
        yield f"{ask.api.title}>={since}"
    if ask.code == ErrorCode.MEMBER_ID_REQUIRED and not ask.since:
        yield f"{ask.api.title}>={_ID_ROUND_SINCE}"
    for name in _FILTERS_SINCE.keys() & ask.fields.keys():
        yield f"{ask.api.title}>={_FILTERS_SINCE[name]}"


def _flat(steps: Iterable[Steps]) -> tuple[ScriptStep, ...]:
    flat: list[ScriptStep] = []
    for step in steps:
        if isinstance(step, ScriptStep):
            flat.append(step)
        else:
            flat.extend(step)
    return tuple(flat)


def passing(ms: int) -> Pass:
    return Pass(ms=ms)


def named(*members: str | Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the entries of a LeaveGroup: a name becomes that script member's id, other entries stay as they are."""
    return tuple({"member_id": Ref(member, "member_id"), "group_instance_id": None} if isinstance(member, str) else member for member in members)


def offering(ask: ScriptStep, protocols: Mapping[str, Any]) -> Ask:
    """Return the JoinGroup with other protocols: names with their metadata."""
    if not isinstance(ask, Ask):
        raise TypeError(f"not a request: {ask}")
    entries = tuple({"name": name, "metadata": metadata} for name, metadata in protocols.items())
    return replace(ask, fields={**ask.fields, "protocols": entries})


def assigning(ask: Ask, assignments: Mapping[str, Any]) -> Ask:
    """Return the leader's SyncGroup with other assignments by member: bytes, or `Assigned`."""
    entries = tuple({"member_id": Ref(name, "member_id"), "assignment": partitions} for name, partitions in assignments.items())
    return replace(ask, fields={**ask.fields, "assignments": entries})


def in_group(name: str, *steps: Steps) -> tuple[ScriptStep, ...]:
    """Return the steps with their requests redirected to the script's group `name`."""
    return tuple(replace(step, fields=_regrouped(step.fields, Group(name))) if isinstance(step, Ask) else step for step in _flat(steps))


def _regrouped(value: Any, group: Group) -> Any:
    if isinstance(value, Group):
        return group
    if isinstance(value, Mapping):
        return {name: _regrouped(item, group) for name, item in value.items()}
    return tuple(_regrouped(item, group) for item in value) if isinstance(value, tuple) else value


# Requests without a builder in the script model ----------------------------------------------------------------------------------------


def _asked(member: str, api: Api, fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> Ask:
    return Ask(member=member, api=api, fields=fields, **{"label": f"{api.title} {member}", **overrides})


def find(member: str, *keys: Any, key_type: int = 0, **overrides: Any) -> Ask:
    """Send FindCoordinator to any broker, for the script's group unless `keys` are given."""
    return _asked(member, Api.FIND_COORDINATOR, {"coordinator_keys": keys or (Group(),), "key_type": key_type}, {"to": "any", **overrides})


def api_versions(member: str, **overrides: Any) -> Ask:
    fields = {"client_software_name": "groupproof", "client_software_version": "1"}
    return _asked(member, Api.API_VERSIONS, fields, {"version": 0, **overrides})


def offset_delete(member: str, partitions: Mapping[str, Iterable[int]], **overrides: Any) -> Ask:
    """Send OffsetDelete for partitions of the script's topics."""
    topics = tuple(
        {"name": Topic(name), "partitions": tuple({"partition_index": index} for index in indexes)} for name, indexes in partitions.items()
    )
    return _asked(member, Api.OFFSET_DELETE, {"group_id": Group(), "topics": topics}, overrides)


# States to start from ------------------------------------------------------------------------------------------------------------------


def alone(member: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to CompletingRebalance: one member has joined, leads, and has not synced."""
    return (*joined(member, **overrides), *let_in(member))


def gathered(*members: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to CompletingRebalance: the members have joined one generation, the first leads, and none has synced."""
    first, *others = members
    steps = list(alone(first, **overrides))
    for other in others:
        steps += joined(other, **{**overrides, "is_parked": True})
    if others:
        steps += [join(first, **overrides), *let_in(*members)]
    return tuple(steps)


def synced(leader: str, *followers: str) -> tuple[ScriptStep, ...]:
    """Bring the group to Stable: the leader assigns partition i to the i-th member, then the followers sync."""
    assignments = {name: [("t", index)] for index, name in enumerate((leader, *followers))}
    return (sync(leader, assignments, code=0), *(sync(follower, code=0) for follower in followers))


def preparing(leader: str, *others: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to PreparingRebalance: its leader joins again, as "join LEADER", and waits; the others still have their generation."""
    return (*stable(leader, *others, **overrides), join(leader, is_parked=True, **overrides))


def rejoined(*members: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Let the members of a group in PreparingRebalance join again. The last join ends the phase, and all are answered."""
    *waiting, last = members
    return (*(join(name, is_parked=True, **overrides) for name in waiting), join(last, **overrides), *let_in(*members))


def let_in(*members: str) -> tuple[ScriptStep, ...]:
    """Wait until the members' JoinGroups are answered, without an error."""
    return tuple(answered(f"join {member}", code=0) for member in members)


def all_joined(last: str, *waiting: str, **overrides: Any) -> tuple[ScriptStep, ...]:
    """Let the last missing member of a join phase join again; all are answered, also those that already wait."""
    return (join(last, **overrides), *let_in(*sorted((last, *waiting))))


def emptied(member: str = "a", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to Empty at a generation above 0: its member has left."""
    return (*stable(member, **overrides), leave(member, code=0))


def found_missing(member: str) -> Ask:
    """Send a heartbeat to a group that does not exist: the answer is 25, and no group is made."""
    return beat(member, member_id=NOBODY, generation_id=1, code=25)
