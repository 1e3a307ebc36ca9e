"""The shape of ConsumerGroupHeartbeat: refusals before any group is read, in Kafka's order (CGH-01 to CGH-35)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import STATES, consumer_case, shared
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import LEFT, SLOT_KEPT, away, beat, describe, full, join, leave
from groupproof.harness.model.script import Ref

__all__ = ["CASES"]

_LEAST: Final = -(2**31)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A malformed request: its `title` in words, its fields, and the error that refuses it."""

    title: str
    requirements: tuple[str, ...]
    code: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    epoch: int | None = None


_OF_JOINS: Final[Mapping[str, _Fault]] = {
    "empty-group-id": _Fault("without a group's name", ("CGH-01", "CGH-27"), 42, {"group_id": ""}),
    "empty-member-id": _Fault("without a member id", ("CGH-02",), 42, {"member_id": ""}),
    "empty-instance-id": _Fault("with an empty instance id", ("CGH-07",), 42, {"instance_id": ""}),
    "empty-rack-id": _Fault("with an empty rack", ("CGH-08",), 42, {"rack_id": ""}),
    "no-rebalance-timeout": _Fault("without a rebalance timeout", ("CGH-09",), 42, {"timeout": -1}),
    "no-owned-partitions": _Fault("that says nothing of owned partitions", ("CGH-10",), 42, {"owned": None}),
    "with-owned-partitions": _Fault("that claims partitions", ("CGH-11",), 42, {"owned": [("t", 0)]}),
    "no-subscription": _Fault("without names and regular expression", ("CGH-12",), 42, {"names": None}),
    "unknown-assignor": _Fault("with an assignor that nobody offers", ("CGH-17", "CGH-20"), 112, {"server_assignor": "nobody"}),
    "empty-assignor": _Fault("with an assignor without a name", ("CGH-18",), 112, {"server_assignor": ""}),
    "assignor-in-capitals": _Fault("with the assignor UNIFORM", ("CGH-19",), 112, {"server_assignor": "UNIFORM"}),
    "broken-regex": _Fault("with a regular expression that does not compile", ("CGH-22",), 128, {"regex": "("}),
    "regex-with-look-ahead": _Fault("with a look-ahead, which RE2 lacks", ("CGH-23",), 128, {"regex": "(?=x)y"}),
    "regex-with-look-behind": _Fault("with a look-behind, which RE2 lacks", ("CGH-23",), 128, {"regex": "(?<=x)y"}),
    "regex-with-back-reference": _Fault("with a back reference, which RE2 lacks", ("CGH-23",), 128, {"regex": r"(a)\1"}),
    "regex-with-unclosed-class": _Fault("with a class of characters that does not end", ("CGH-22",), 128, {"regex": "[a-z"}),
    "regex-with-repeated-repetition": _Fault("with a repetition of a repetition", ("CGH-22",), 128, {"regex": "a**"}),
}
_OF_OTHERS: Final[Mapping[str, _Fault]] = {
    "static-leave-without-instance": _Fault("at epoch -2 without an instance id", ("CGH-15",), 42, epoch=SLOT_KEPT),
    "epoch-below-any": _Fault("at epoch -3", ("CGH-16",), 42, epoch=-3),
    "least-epoch": _Fault("at the least epoch that there is", ("CGH-16",), 42, epoch=_LEAST),
    "leave-with-unknown-assignor": _Fault(
        "that leaves, with an assignor that nobody offers", ("CGH-21",), 112, {"server_assignor": "nobody"}, epoch=LEFT
    ),
    "leave-without-member-id": _Fault("that leaves without a member id", ("CGH-02",), 42, {"member_id": ""}, epoch=LEFT),
    "leave-with-empty-instance-id": _Fault("that leaves with an empty instance id", ("CGH-07",), 42, {"instance_id": ""}, epoch=LEFT),
}
_TWO_AT_ONCE: Final[Mapping[str, _Fault]] = {
    "group-id-before-assignor": _Fault(
        "without a group's name and with an unknown assignor", ("CGH-26",), 42, {"group_id": "", "server_assignor": "nobody"}
    ),
    "timeout-before-assignor": _Fault(
        "without a rebalance timeout and with an unknown assignor", ("CGH-26",), 42, {"timeout": -1, "server_assignor": "nobody"}
    ),
    "instance-before-assignor": _Fault(
        "with an empty instance id and an unknown assignor", ("CGH-26",), 42, {"instance_id": "", "server_assignor": "nobody"}
    ),
    "rack-before-assignor": _Fault("with an empty rack and an unknown assignor", ("CGH-26",), 42, {"rack_id": "", "server_assignor": "nobody"}),
    "partitions-before-regex": _Fault("with partitions and a broken regular expression", ("CGH-26",), 42, {"owned": [("t", 0)], "regex": "("}),
    "assignor-before-regex": _Fault(
        "with an unknown assignor and a broken regular expression", ("CGH-26",), 112, {"server_assignor": "nobody", "regex": "("}
    ),
}


def _refused_newcomers() -> Iterator[Case]:
    """Yield a case for each malformed join: it makes no group and no member."""
    for name, fault in {**_OF_JOINS, **_TWO_AT_ONCE}.items():
        yield consumer_case(
            f"heartbeat/join-{name}",
            f"refuses a join {fault.title} with {fault.code}, and makes neither group nor member",
            (*fault.requirements, "CGH-24"),
            join("a", **{"code": fault.code, **fault.fields}),
            describe("z", code=69),
            beat("a", epoch=1, code=69),
            join("a", code=0),
        )
    for name, fault in _OF_OTHERS.items():
        yield consumer_case(
            f"heartbeat/{name}",
            f"refuses a request {fault.title} with {fault.code} though there is no such group",
            fault.requirements,
            beat("a", **{"epoch": fault.epoch, "code": fault.code, **fault.fields}),
            describe("z", code=69),
        )


_MALFORMED: Final[Mapping[str, Mapping[str, Any]]] = {
    "empty-group-id": {"group_id": "", "code": 42},
    "empty-member-id": {"member_id": "", "code": 42},
    "empty-instance-id": {"instance_id": "", "code": 42},
    "empty-rack-id": {"rack_id": "", "code": 42},
    "unknown-assignor": {"server_assignor": "nobody", "code": 112},
    "broken-regex": {"regex": "(", "code": 128},
    "epoch-below-any": {"epoch": -3, "code": 42},
    "static-leave-without-instance": {"epoch": SLOT_KEPT, "code": 42},
    "leave-with-unknown-assignor": {"epoch": LEFT, "server_assignor": "nobody", "code": 112},
    "join-with-owned-partitions": {"epoch": 0, "timeout": 60_000, "names": ("t",), "owned": [("t", 0)], "code": 42},
    "join-without-timeout": {"epoch": 0, "names": ("t",), "owned": (), "code": 42},
}


def _refused_members() -> Iterator[Case]:
    """Yield a case for each malformed request of a member: the member does not change."""
    for name, fields in _MALFORMED.items():
        yield consumer_case(
            f"heartbeat/member-sends-{name}",
            f"refuses what a member sends malformed ({name.replace('-', ' ')}) with {fields['code']}, and leaves the member as it was",
            ("CGH-25", "CGM-25", "CGM-28"),
            shared(),
            beat("a", **fields),
            describe("z", code=0),
            beat("a", code=0),
            full("a", code=0),
        )


_ACCEPTED: Final = (
    consumer_case(
        "heartbeat/empty-names",
        "lets a member in that subscribes to nothing by an empty list of names",
        ("CGH-13", "CGM-02"),
        join("a", names=(), code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "heartbeat/empty-regex",
        "lets a member in that subscribes to nothing by an empty regular expression",
        ("CGH-14", "CGM-02"),
        join("a", names=None, regex="", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "heartbeat/topic-named-twice",
        "takes a topic that is named twice for one",
        ("CGH-30",),
        join("a", names=("t", "t"), code=0),
        beat("a", names=("t",), code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "heartbeat/unknown-topic",
        "lets a member in that names a topic which does not exist, and leaves that out",
        ("CGH-31",),
        join("a", names=("t", "nowhere-to-be-found"), code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "heartbeat/illegal-topic-name",
        "takes an illegal topic name for a topic that does not exist",
        ("CGH-32",),
        join("a", names=("b@d!name",), code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "heartbeat/long-member-id",
        "takes any text for a member id",
        ("CGH-34", "CGM-53"),
        join("a", member_id="no uuid " * 37, code=0),
        beat("a", member_id="no uuid " * 37, code=0),
    ),
    *(
        consumer_case(
            f"heartbeat/rebalance-timeout-{name}",
            f"takes a rebalance timeout of {timeout} ms",
            ("CGH-29",),
            join("a", timeout=timeout, code=0),
            beat("a", code=0),
        )
        for name, timeout in (("zero", 0), ("negative", -5))
    ),
    consumer_case(
        "heartbeat/unknown-topic-id",
        "bears that a member reports a partition of a topic id that nobody knows",
        ("CGH-35",),
        join("a", code=0),
        beat("a", owned=[("nowhere", 0)], code=0),
        full("a", code=0),
    ),
    consumer_case(
        "heartbeat/unknown-topic-id-acknowledges",
        "takes a report of partitions of an unknown topic alone for a report without those to be revoked",
        ("CGH-35", "CGR-06"),
        join("a"),
        join("b"),
        beat("a", code=0),
        beat("a", owned=[("nowhere", 0)], code=0),
        beat("b", code=0),
    ),
    consumer_case(
        "heartbeat/answer-carries-all",
        "answers a heartbeat with member id, epoch and interval",
        ("CGH-28", "CGM-52", "CGM-53"),
        join("a", code=0),
        beat("a", code=0),
    ),
)

_ID_OF_A: Final = Ref("a", "member_id")
_VERSION_0: Final = (
    consumer_case(
        "heartbeat/v0-gives-an-id",
        "gives an id to a member that joins by version 0 without one",
        ("CGH-03", "CGX-32"),
        join("a", version=0, member_id="", code=0),
        beat("a", version=0, member_id=_ID_OF_A, code=0),
        join("b", version=0, member_id="", code=0),
        beat("a", version=0, member_id=_ID_OF_A, code=0),
        leave("a", version=0, member_id=_ID_OF_A, code=0),
    ),
    consumer_case(
        "heartbeat/v0-keeps-an-id",
        "takes the id that a member brings by version 0",
        ("CGM-53", "CGX-32"),
        join("a", version=0, code=0),
        beat("a", version=0, code=0),
        beat("a", version=1, code=0),
    ),
    consumer_case(
        "heartbeat/v0-without-id-later",
        "refuses a heartbeat by version 0 without a member id at an epoch above 0 with 42",
        ("CGH-04",),
        join("a", code=0),
        beat("a", version=0, member_id="", epoch=1, code=42),
        beat("a", code=0),
    ),
    consumer_case(
        "heartbeat/v0-leaves-without-id",
        "refuses a leave by version 0 without a member id with 42",
        ("CGH-05",),
        join("a", code=0),
        beat("a", version=0, member_id="", epoch=LEFT, code=42),
        beat("a", code=0),
    ),
    consumer_case(
        "heartbeat/v0-static-leave-without-id",
        "looks the instance up where a static leave by version 0 names no member id",
        ("CGH-06",),
        join("a", code=0),
        away("b", "i9", version=0, member_id="", code=25),
    ),
)


def _strangers() -> Iterator[Case]:
    """Yield cases on the answers to an unknown member, in each state of a group."""
    for name, epoch, requirement in (("beats", 3, "CGH-45"), ("leaves", LEFT, "CGH-46")):
        for state, group in STATES.items():
            yield consumer_case(
                f"heartbeat/stranger-{name}-{state}",
                f"answers a stranger that {name} with 25 while the group {group.words}",
                (requirement, "CGI-15"),
                group.steps,
                describe("x"),
                beat("z", epoch=epoch, code=25),
                describe("x"),
            )


_NO_GROUP: Final = (
    consumer_case("heartbeat/no-group", "answers a heartbeat to a group that does not exist with 69", ("CGH-43",), beat("a", epoch=3, code=69)),
    consumer_case("heartbeat/no-group-to-leave", "answers a leave of a group that does not exist with 69", ("CGH-44",), leave("a", code=69)),
    consumer_case(
        "heartbeat/no-group-to-come-back-to", "answers a static leave of a group that does not exist with 69", ("CGH-44",), away("a", "i1", code=69)
    ),
)

CASES: Final[tuple[Case, ...]] = (*_refused_newcomers(), *_refused_members(), *_ACCEPTED, *_VERSION_0, *_NO_GROUP, *_strangers())
