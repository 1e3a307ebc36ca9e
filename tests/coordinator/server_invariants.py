"""What holds of any assignment by a coordinator, said without an assignor; groups to hold it against; and short names for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberSpec, Partitions, SubscriptionType, TargetAssignment, TopicSpec

__all__ = ["ID", "groups", "is_balanced", "law_broken", "member", "moves", "named", "spec_of", "topics_of"]

ID = {name: f"{number:08x}-0000-4000-8000-000000000000" for number, name in enumerate("tuovwx", start=1)}
_NAME = {topic_id: name for name, topic_id in ID.items()}

Topics = Mapping[str, TopicSpec]


def member(names: str, assigned: Partitions | None = None, *, instance_id: str | None = None) -> MemberSpec:
    return MemberSpec(subscribed_topic_ids=tuple(ID[name] for name in names), assigned=assigned or {}, instance_id=instance_id)


def spec_of(subscriptions: Mapping[str, str]) -> GroupSpec:
    """Return a group of members that had nothing before."""
    kind = SubscriptionType.HOMOGENEOUS if len(set(subscriptions.values())) == 1 else SubscriptionType.HETEROGENEOUS
    return GroupSpec(members={name: member(names) for name, names in subscriptions.items()}, subscription_type=kind)


def topics_of(counts: Mapping[str, int]) -> Topics:
    return {ID[name]: TopicSpec(partitions=count) for name, count in counts.items()}


def named(target: TargetAssignment) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return an assignment by the topics' short names."""
    return {name: {_NAME[topic]: tuple(sorted(numbers)) for topic, numbers in partitions.items()} for name, partitions in target.items()}


@st.composite
def groups(draw: st.DrawFn, *, alike: bool | None = None) -> tuple[GroupSpec, Topics]:
    """Return a group whose members own whatever a coordinator may have given them before: no partition twice, and of topics that may be gone by now."""
    counts = {name: draw(st.integers(1, 9)) for name in draw(st.lists(st.sampled_from(sorted(ID)), unique=True, min_size=1, max_size=4))}
    is_alike = draw(st.booleans()) if alike is None else alike
    names = st.lists(st.sampled_from(sorted(counts)), unique=True, min_size=1)
    shared = tuple(draw(names))
    size = draw(st.integers(1, 7))
    owners = {(name, number): draw(st.integers(-1, size - 1)) for name in [*counts, "gone"] for number in range(counts.get(name, 2))}
    subscriptions: list[Sequence[str]] = [shared if is_alike else draw(names) for _ in range(size)]
    members = {
        f"m{index}": MemberSpec(subscribed_topic_ids=tuple(ID[name] for name in subscribed), assigned=_owned(owners, index))
        for index, subscribed in enumerate(subscriptions)
    }
    is_one = len({frozenset(subscribed) for subscribed in subscriptions}) == 1
    kind = SubscriptionType.HOMOGENEOUS if is_one else SubscriptionType.HETEROGENEOUS
    return GroupSpec(members=members, subscription_type=kind), topics_of(counts)


def _owned(owners: Mapping[tuple[str, int], int], index: int) -> Partitions:
    owned: dict[str, tuple[int, ...]] = {}
    for (name, number), owner in owners.items():
        if owner == index:
            topic = ID.get(name, "0000000f-0000-4000-8000-00000000000f")
            owned[topic] = (*owned.get(topic, ()), number)
    return owned


def law_broken(spec: GroupSpec, topics: Topics, target: TargetAssignment) -> str | None:
    """Return which invariant an assignment breaks: each member has one, of topics that it subscribes to, and each subscribed partition has one owner."""
    if target.keys() != spec.members.keys():
        return "a member has no assignment, or a stranger has one"
    held = [(topic, number) for partitions in target.values() for topic, numbers in partitions.items() for number in numbers]
    if len(held) != len(set(held)):
        return "a partition has two owners"
    if any(topic not in spec.members[name].subscribed_topic_ids for name, partitions in target.items() for topic in partitions):
        return "a member has a topic that it does not subscribe to"
    subscribed = {topic for specified in spec.members.values() for topic in specified.subscribed_topic_ids}
    if set(held) != {(topic, number) for topic in subscribed for number in range(topics[topic].partitions)}:
        return "a partition has no owner, or does not exist"
    if any(not numbers for partitions in target.values() for numbers in partitions.values()):
        return "a topic is listed without partitions"
    return None


def is_balanced(target: TargetAssignment) -> bool:
    """Tell whether no member has two partitions more than another, over all topics."""
    sizes = sorted(sum(map(len, partitions.values())) for partitions in target.values())
    return sizes[-1] - sizes[0] <= 1


def moves(spec: GroupSpec, target: TargetAssignment) -> int:
    """Return how many partitions a member gives up."""
    return sum(
        len(set(numbers) - set(target[name].get(topic, ())))
        for name, specified in spec.members.items()
        for topic, numbers in specified.assigned.items()
    )
