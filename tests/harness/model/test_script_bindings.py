from __future__ import annotations

from groupproof.harness.model.script import AssignmentBytes, Group, Ref, SubscriptionBytes, Topic
from groupproof.harness.model.script_bindings import Memory, Names, topics_of
from groupproof.protocol.wire.subscription import decode_assignment, decode_subscription

NAMES = Names(case="join/classic/Two members!", key="7f.c3", topics={"t": 2, "u": 5}, prefix="p-")


def test_groups_are_a_runs_own_and_topics_are_shared() -> None:
    again = Names(case=NAMES.case, key="7f.c4", topics={"x": 5}, prefix="p-")

    assert NAMES.group("g") == "p-join-classic-two-members-7f.c3-g"
    assert NAMES.group("g") != again.group("g")
    assert NAMES.topic("u") == again.topic("x") == "p-t5"
    assert topics_of({"t": 2, "u": 5, "v": 2}, "p-") == {"p-t2": 2, "p-t5": 5}


def test_a_topic_that_is_not_declared_is_not_there() -> None:
    assert NAMES.topic("nowhere") == "nowhere"


def test_before_a_member_is_given_anything_it_has_no_id_and_no_generation() -> None:
    memory = Memory(names=NAMES)

    entry = memory.resolved({name: Ref("a", name) for name in ("member_id", "generation", "leader", "protocol_name")})

    assert entry == {"member_id": "", "generation": -1, "leader": "", "protocol_name": None}


def test_what_a_member_was_given_is_kept_until_it_is_given_something_else() -> None:
    memory = Memory(names=NAMES)

    memory.joined("a", {"error_code": 79, "member_id": "a-1", "generation_id": -1, "leader": "", "protocol_name": None})
    memory.joined("a", {"error_code": 0, "member_id": "a-1", "generation_id": 3, "leader": "b-1", "protocol_name": "range"})
    memory.joined("a", {"error_code": 27, "member_id": "", "generation_id": -1, "leader": "", "protocol_name": None})

    asked = [Ref("a", "member_id"), Ref("a", "generation"), Ref("a", "generation", -1), Ref("a", "leader"), Ref("a", "protocol_name")]
    assert memory.resolved(asked) == ("a-1", 3, 2, "b-1", "range")


def test_markers_are_found_wherever_a_body_has_them() -> None:
    body = Memory(names=NAMES).resolved({"groups": ({"group_id": Group("h"), "topics": ({"name": Topic("t"), "partition_indexes": (0, 1)},)},)})

    assert body == {"groups": ({"group_id": NAMES.group("h"), "topics": ({"name": "p-t2", "partition_indexes": (0, 1)},)},)}


def test_bytes_that_hold_names_are_written_with_the_real_ones() -> None:
    memory = Memory(names=NAMES)

    subscription = decode_subscription(memory.resolved(SubscriptionBytes(("t", "u"), (("u", 1),), b"\x01", 1)))
    assignment = decode_assignment(memory.resolved(AssignmentBytes((("t", 1), ("u", 0)))))

    assert (subscription.topics, subscription.owned, subscription.user_data) == (("p-t2", "p-t5"), (("p-t5", 1),), b"\x01")
    assert (assignment.partitions, assignment.user_data) == ((("p-t2", 1), ("p-t5", 0)), None)


def test_a_member_has_a_producer_of_its_own_in_each_run() -> None:
    runs = [Memory(names=Names(case="join/classic/x", key=key, topics={})) for key in ("1", "2")]

    entries = [run.resolved(Ref(member, "producer_id")) for run in runs for member in ("a", "b")]
    assert len(set(entries)) == 4
    assert entries[0] == runs[0].resolved(Ref("a", "producer_id"))
    assert all(0 <= item < 2**63 for item in entries)
