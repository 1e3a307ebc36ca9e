"""Gives each case names of its own, so that several share one cluster: renames a plan, and its trace back to the plan's names. Pure.

A name is changed wherever it stands alone: in columns, in bodies, and in the encoded subscriptions and assignments of bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from groupproof.harness.model.plan import Append, Grow, Plan, plan_from_json, plan_to_json
from groupproof.harness.running.plans.member_control import DEFAULTS
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.wire.subscription import SubscriptionError, decode_assignment, decode_subscription, encode_assignment, encode_subscription

__all__ = ["Renaming", "groups_of", "topics_of"]

_TRIES: Final = 200


def groups_of(plan: Plan) -> tuple[str, ...]:
    """Return the groups of the plan's members, in the order of the members."""
    return tuple(dict.fromkeys(str(member.settings.get("group", DEFAULTS["group"])) for member in plan.members))


def topics_of(plan: Plan) -> tuple[str, ...]:
    """Return the topics that the plan declares, grows, fills or subscribes to."""
    subscribed = (topic for member in plan.members for topic in member.settings.get("topics", DEFAULTS["topics"]))
    return tuple(dict.fromkeys([*plan.topics, *(step.topic for step in plan.steps if isinstance(step, Grow | Append)), *subscribed]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """`real` maps the plan's names to the cluster's names."""

    real: Mapping[str, str]

    @classmethod
    def of(cls, plan: Plan, key: str, *, is_free: Callable[[str], bool] = lambda _: True) -> Renaming:
        """Return names that end in `key`; if a group name is not free (`is_free`), try others with the same key."""
        groups = {group: next(filter(is_free, _tries(group, key)), f"{group}-{key}") for group in groups_of(plan)}
        patterns = {str(member.settings["pattern"]) for member in plan.members if "pattern" in member.settings}
        matching = {pattern: f"({pattern})-{key}" for pattern in patterns}  # otherwise the plan's pattern would match other cases' topics
        return cls(real={**{topic: f"{topic}-{key}" for topic in topics_of(plan)}, **matching, **groups})

    def plan(self, plan: Plan) -> Plan:
        """Return the plan with real names; each member names its group and its topics."""
        named = {name: DEFAULTS[name] for name in ("group", "topics")}
        members = tuple(replace(member, settings={**named, **member.settings}) for member in plan.members)
        value = plan_to_json(replace(plan, members=members))
        return plan_from_json({name: item if name == "coordinator" else _renamed(item, self.real) for name, item in value.items()})

    def trace(self, observations: Trace) -> Trace:
        """Return the trace with the plan's names, without foreign connections. A request with a group outside the plan comes from another client,
        which connected to the port before the kit used it."""
        groups = set(self.real.values())
        strange = {obs.connection for obs in observations if obs.group is not None and obs.group not in groups} - {None}
        kept = (obs for obs in observations if obs.connection not in strange)
        return [replace(self.restored(obs), seq=seq) for seq, obs in enumerate(kept)]

    def restored(self, obs: Observation) -> Observation:
        """Return the observation with the plan's names."""
        back = {real: name for name, real in self.real.items()}
        return replace(
            obs,
            group=back.get(obs.group, obs.group) if obs.group is not None else None,
            partitions=tuple((back.get(topic, topic), index) for topic, index in obs.partitions),
            offsets=tuple((back.get(topic, topic), index, offset) for topic, index, offset in obs.offsets),
            body=_renamed(obs.body, back),
        )


def _tries(group: str, key: str) -> Iterator[str]:
    yield f"{group}-{key}"
    for number in range(1, _TRIES):
        yield f"{group}-{key}-{number}"


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {names.get(name, name): _blob(name, data, names) if isinstance(data, bytes) else _renamed(data, names) for name, data in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed(item, names) for item in value)
    return value


def _blob(name: str, blob: bytes, names: Mapping[str, str]) -> bytes:
    """Return a subscription or an assignment with renamed topics; other bytes stay as they are."""
    with suppress(SubscriptionError):
        if name == "metadata":
            subscription = decode_subscription(blob)
            owned = tuple((names.get(topic, topic), index) for topic, index in subscription.owned)
            return encode_subscription(replace(subscription, topics=tuple(names.get(topic, topic) for topic in subscription.topics), owned=owned))
        if name == "assignment" and blob:
            assignment = decode_assignment(blob)
            return encode_assignment(
                replace(assignment, partitions=tuple((names.get(topic, topic), index) for topic, index in assignment.partitions))
            )
    return blob
