from __future__ import annotations

from groupproof.harness.model.script import AssignmentBytes, Group, OwnedById, PartitionsById, Ref, SubscriptionBytes, Topic, TopicId, TopicPattern
from groupproof.harness.model.script_bindings import NO_TOPIC_ID, Memory, Names, topics_of
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.subscription import decode_assignment, decode_subscription

NAMES = Names(case="join/classic/Two members!", key="7f.c3", topics={"t": 2, "u": 5}, prefix="p-")


def test_groups_are_a_runs_own_and_topics_are_shared() -> None:
    again = Names(case=NAMES.case, key="7f.c4", topics={"x": 5}, prefix="p-")

    assert NAMES.group("g") == "p-join-classic-two-members-7f.c3-g"
    assert NAMES.group("g") != again.group("g")
    assert NAMES.topic("u") == again.topic("x") == "p-t5"
    assert topics_of({"t": 2, "u": 5, "v": 2}, "p-") == {"p-t2": 2, "p-t5": 5, "p-t2-2": 2}


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


def test_two_topics_of_one_size_are_two() -> None:
    names = Names(case="x/y/z", key="1", topics={"t": 4, "w": 4, "u": 3})

    assert len({names.topic("t"), names.topic("w"), names.topic("u")}) == 3
    assert {names.topic("t"), names.topic("w"), names.topic("u")} == topics_of(names.topics).keys()


def test_a_topic_that_a_script_makes_is_its_runs_own() -> None:
    runs = [Names(case="x/y/z", key=key, topics={}, own=frozenset({"later"})) for key in ("1", "2")]

    assert len({run.topic("later") for run in runs}) == 2
    assert runs[0].topic("later").startswith(runs[0].group(""))


def test_a_regular_expression_has_the_real_names() -> None:
    assert Memory(names=NAMES).resolved(TopicPattern("{t}|x.*{u}")) == "p-t2|x.*p-t5"
    assert Memory(names=NAMES).resolved(TopicPattern("o{2}|{nowhere}")) == "o{2}|nowhere"
    assert Names(case="x/y/z", key="1", topics={"t": 1}, prefix="a.b-").pattern("{t}") == r"a\.b-t1"


def test_partitions_go_by_the_ids_of_their_topics() -> None:
    memory = Memory(names=NAMES, topic_ids={"p-t2": "id-2", "p-t5": "id-5"})

    asked = memory.resolved(PartitionsById((("t", 0), ("u", 3), ("t", 1), ("nowhere", 0))))

    assert asked == (
        {"topic_id": "id-2", "partitions": (0, 1)}, {"topic_id": "id-5", "partitions": (3,)}, {"topic_id": NO_TOPIC_ID, "partitions": (0,)},
    )  # fmt: skip
    assert memory.resolved([TopicId("u"), TopicId("nowhere")]) == ("id-5", NO_TOPIC_ID)


def _beat(epoch: int, partitions: tuple[int, ...] | None, code: int = 0) -> dict[str, object]:
    assignment = None if partitions is None else {"topic_partitions": ({"topic_id": "id-2", "partitions": partitions},)}
    return {"error_code": code, "member_id": "a", "member_epoch": epoch, "assignment": assignment}


def test_what_a_member_was_last_assigned_stays_until_another_assignment_comes() -> None:
    memory = Memory(names=NAMES)

    assert memory.resolved(OwnedById("a")) == ()
    for answer in (_beat(2, (0, 1)), _beat(3, None), _beat(0, None, code=110), _beat(-1, None)):
        memory.answered(Api.CONSUMER_GROUP_HEARTBEAT, "a", answer)

    assert memory.resolved(OwnedById("a")) == ({"topic_id": "id-2", "partitions": (0, 1)},)
    assert memory.resolved(Ref("a", "member_epoch")) == 3
