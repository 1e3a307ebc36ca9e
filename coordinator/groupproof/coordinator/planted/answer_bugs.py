"""Bugs planted on the wire: wrong fields of answers, in all versions or in one, and errors in the service of connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.variant import ConnectionVariant, Variant
from groupproof.protocol.rules import api_versions
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import VERSIONS

if TYPE_CHECKING:
    from groupproof.coordinator.machine.incoming_request import IncomingRequest

__all__ = ["BUGS_OF_ANSWERS", "Body", "Change", "changing", "each_entry", "wrong_code", "wrong_offset"]

Body = dict[str, Any]
Change = Callable[[Body], Body]

_LENGTH_BYTES: Final = 4
_GROUPS_SINCE: Final = 8  # OffsetFetch of several groups (KIP-709)
_KEYS_SINCE: Final = 4  # FindCoordinator of several keys (KIP-699)
_WRONG_CODE: Final = ErrorCode.UNKNOWN_SERVER_ERROR.value


def changing(api: Api, change: Change, version: int | None = None) -> ConnectionVariant:
    """Return the connection variant that changes the answers to `api`, of one version or of all."""

    def says(arrived: IncomingRequest, answer: Body) -> Body:
        is_meant = arrived.wire.api is api and version in (None, arrived.wire.version)
        return change(answer) if is_meant and not arrived.is_refused else answer

    return ConnectionVariant(says=says)


def _set(**fields: Any) -> Change:
    return lambda answer: {**answer, **fields} if not answer.get("error_code") else answer


def each_entry(name: str, change: Change) -> Change:
    """Return the change of each entry of a list."""
    return lambda answer: {**answer, name: tuple(change(dict(item)) for item in answer.get(name) or ())}


def _fewer(name: str) -> Change:
    """Return the change that leaves out the last entry of a list."""
    return lambda answer: {**answer, name: tuple(answer.get(name) or ())[:-1]}


# One version of one API, systematically ----------------------------------------------------------------------------------------------


def wrong_code(answer: Body) -> Body:
    return {**answer, "error_code": _WRONG_CODE}


def wrong_offset(answer: Body) -> Body:
    return {**answer, "committed_offset": answer["committed_offset"] + 1}


_WRONG: Final[Mapping[Api, Change]] = {
    Api.FIND_COORDINATOR: each_entry("coordinators", wrong_code),
    Api.JOIN_GROUP: lambda answer: wrong_code(answer) if answer["error_code"] else {**answer, "member_id": f"{answer['member_id']}?"},
    Api.SYNC_GROUP: lambda answer: {**answer, "assignment": answer["assignment"][::-1]} if answer["assignment"] else wrong_code(answer),
    Api.HEARTBEAT: lambda answer: {**answer, "error_code": 0 if answer["error_code"] else ErrorCode.REBALANCE_IN_PROGRESS.value},
    Api.LEAVE_GROUP: wrong_code,
    Api.OFFSET_COMMIT: each_entry("topics", each_entry("partitions", wrong_code)),
    Api.OFFSET_FETCH: each_entry("groups", each_entry("topics", each_entry("partitions", wrong_offset))),
    Api.DESCRIBE_GROUPS: each_entry("groups", lambda answer: {**answer, "group_state": "Dead" if answer["members"] else "Stable"}),
    Api.LIST_GROUPS: lambda answer: {**answer, "groups": ()},
    Api.DELETE_GROUPS: each_entry("results", wrong_code),
    Api.OFFSET_DELETE: wrong_code,
    Api.API_VERSIONS: wrong_code,
}


def _by_version() -> Iterator[Variant]:
    for api, change in _WRONG.items():
        low, high = api_versions()[api]
        for version in range(max(low, VERSIONS[api][0]), min(high, VERSIONS[api][1]) + 1):
            name = f"wrong/{api.title}-v{version}"
            yield Variant(
                name=name, says=f"Answers to {api.title} v{version} have a wrong field.", breaks=("FIND-04",), line=changing(api, change, version)
            )


# Single fields of all versions ---------------------------------------------------------------------------------------------------------


def _own_as_leader(answer: Body) -> Body:
    return {**answer, "leader": answer["member_id"]} if not answer["error_code"] else answer


def _swapped(answer: Body) -> Body:
    members = tuple(answer.get("members") or ())
    metadata = [member["metadata"] for member in members]
    return {**answer, "members": tuple({**member, "metadata": other} for member, other in zip(members, metadata[1:] + metadata[:1], strict=True))}


def _described(change: Change) -> Change:
    return each_entry("groups", change)


def _fields() -> Iterator[Variant]:
    join, sync, describe = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.DESCRIBE_GROUPS
    member = each_entry("members", lambda answer: {**answer, "member_metadata": b""})
    for name, says, breaks, api, change in (
        ("leader-told-to-all", "Every member gets the answer that it leads.", "JOIN-13", join, _own_as_leader),
        ("leader-is-nobody", "The leader in the answer is no member.", "JOIN-13", join, _set(leader="nobody")),
        ("list-lacks-a-member", "The leader's answer lacks the last member.", "JOIN-14", join, _fewer("members")),
        ("metadata-swapped", "The leader gets the metadata of each member under another member's id.", "JOIN-15", join, _swapped),
        ("metadata-lost", "The leader gets no metadata.", "JOIN-15", join, each_entry("members", lambda answer: {**answer, "metadata": b""})),
        ("instances-not-listed", "The leader does not get the instance ids of the members.", "JOIN-15", join, each_entry("members", lambda answer: {**answer, "group_instance_id": None})),
        ("protocol-not-told", "JoinGroup's answer names no protocol.", "JOIN-13", join, _set(protocol_name="")),
        ("assignment-lost", "SyncGroup's answer holds no assignment.", "SYNC-13", sync, _set(assignment=b"")),
        ("sync-names-nothing", "SyncGroup's answer names no protocol.", "SYNC-51", sync, _set(protocol_name=None)),
        ("skips-no-assignment", "The answer to a leader that returns does not say to skip the assignment.", "TR-115", join, _set(skip_assignment=False)),
        ("described-without-members", "DescribeGroups returns no members.", "INV-02", describe, _described(_set(members=()))),
        ("described-without-metadata", "DescribeGroups returns no subscriptions.", "INV-02", describe, _described(member)),
        ("described-without-protocol", "DescribeGroups returns no protocol.", "INV-02", describe, _described(_set(protocol_data="", protocol_type=""))),
        ("states-not-listed", "ListGroups returns no states.", "INV-02", Api.LIST_GROUPS, each_entry("groups", _set(group_state=""))),
        ("never-committed-is-zero", "An offset that was never committed is returned as 0.", "TR-125", Api.OFFSET_FETCH,
         each_entry("groups", each_entry("topics", each_entry("partitions", lambda answer: {**answer, "committed_offset": max(0, answer["committed_offset"])})))),
        ("fetched-without-metadata", "OffsetFetch returns no metadata.", "TR-125", Api.OFFSET_FETCH,
         each_entry("groups", each_entry("topics", each_entry("partitions", _set(metadata=""))))),
        ("leaves-told-as-one", "The codes of a LeaveGroup's entries are all 0.", "LEAVE-51", Api.LEAVE_GROUP, each_entry("members", lambda answer: {**answer, "error_code": 0})),
        ("keys-told-once", "FindCoordinator answers only for its first key.", "FIND-03", Api.FIND_COORDINATOR, lambda answer: {**answer, "coordinators": answer["coordinators"][:1]}),
        ("commits-refused-unseen", "A commit's errors are returned as 0.", "TR-123", Api.OFFSET_COMMIT, each_entry("topics", each_entry("partitions", lambda answer: {**answer, "error_code": 0}))),
    ):  # fmt: skip
        yield Variant(name=name, says=says, breaks=(breaks,), line=changing(api, change))


# Connections -----------------------------------------------------------------------------------------------------------------------------


def _other_correlation(_: IncomingRequest, data: bytes) -> bytes:
    at = _LENGTH_BYTES
    return data[:at] + (int.from_bytes(data[at : at + 4], "big") ^ 1).to_bytes(4, "big") + data[at + 4 :]


def _twice(api: Api) -> Callable[[IncomingRequest, bytes], bytes]:
    return lambda arrived, data: data * 2 if arrived.wire.api is api else data


def _one_byte_short(_: IncomingRequest, data: bytes) -> bytes:
    return (len(data) - _LENGTH_BYTES - 1).to_bytes(_LENGTH_BYTES, "big") + data[_LENGTH_BYTES:-1]


def _slow(api: Api, delay_s: float) -> ConnectionVariant:
    return ConnectionVariant(delay_s=lambda arrived: delay_s if arrived.wire.api is api else 0.0)


def _by_every_broker_itself(arrived: IncomingRequest, answer: Body) -> Body:
    if arrived.wire.api is not Api.FIND_COORDINATOR:
        return answer
    return {**answer, "coordinators": tuple({**coordinator, "node_id": arrived.columns["node"]} for coordinator in answer["coordinators"])}


def _future_unanswered(arrived: IncomingRequest, answer: Body) -> Body | None:
    return None if arrived.is_refused else answer


def _empty_key_refused(arrived: IncomingRequest, answer: Body) -> Body:
    if arrived.wire.api is not Api.FIND_COORDINATOR:
        return answer
    refused = ErrorCode.INVALID_GROUP_ID.value
    return {
        **answer,
        "coordinators": tuple(
            coordinator if coordinator["key"] else {**coordinator, "error_code": refused} for coordinator in answer["coordinators"]
        ),
    }


def _throttling(throttle_ms: int) -> ConnectionVariant:
    return ConnectionVariant(says=lambda _, answer: {**answer, "throttle_time_ms": throttle_ms})


def _with_another_group(arrived: IncomingRequest, answer: Body) -> Body:
    """Put another group's offsets before the requested ones, where the version contains group ids."""
    if arrived.wire.api is not Api.OFFSET_FETCH or arrived.wire.version < _GROUPS_SINCE:
        return answer
    groups = tuple(dict(group) for group in answer["groups"])
    return {**answer, "groups": (*({**group, "group_id": f"{group['group_id']}-of-another"} for group in groups[:1]), *groups)}


def _with_dead_port(arrived: IncomingRequest, answer: Body) -> Body:
    """Answer a port at which nobody listens, in the versions with one key only; the kit itself uses a newer one."""
    if arrived.wire.api is not Api.FIND_COORDINATOR or arrived.wire.version >= _KEYS_SINCE:
        return answer
    return {**answer, "coordinators": tuple({**coordinator, "port": 1} for coordinator in answer["coordinators"])}


def _lines() -> Iterator[Variant]:
    for name, says, breaks, line in (
        ("taken-up-at-once", "Requests behind a parked one of their connection are processed at once.", "INV-08", ConnectionVariant(in_order=False)),
        ("one-answer-at-a-time", "While one client does not take its answer, no other is answered.", "INV-08", ConnectionVariant(locks=True)),
        ("bad-frames-ignored", "A frame that cannot be read leaves its connection open, and silent.", "INV-10", ConnectionVariant(bad_frame="stays")),
        ("bad-frames-kill", "A frame that cannot be read ends all connections of the broker.", "INV-10", ConnectionVariant(bad_frame="dies")),
        ("closed-is-a-leave", "The members of a connection that ends are removed.", "LEAVE-07", ConnectionVariant(leaves_when_closed=True)),
        ("other-correlation", "Answers carry another correlation id.", "JOIN-34", ConnectionVariant(sends=_other_correlation)),
        ("joins-answered-twice", "JoinGroup is answered twice.", "JOIN-13", ConnectionVariant(sends=_twice(Api.JOIN_GROUP))),
        ("heartbeats-answered-twice", "Heartbeat is answered twice.", "JOIN-34", ConnectionVariant(sends=_twice(Api.HEARTBEAT))),
        ("answers-cut-short", "The last byte of every answer is missing.", "JOIN-34", ConnectionVariant(sends=_one_byte_short)),
        ("heartbeats-answered-late", "Heartbeats are answered after four seconds.", "TR-118", _slow(Api.HEARTBEAT, 4.0)),
        ("joins-answered-late", "The end of a join phase is answered after four seconds.", "TR-046", _slow(Api.JOIN_GROUP, 4.0)),
        ("every-broker-coordinates", "Every broker names itself as the coordinator.", "FIND-03", ConnectionVariant(says=_by_every_broker_itself)),
        ("future-unanswered", "An ApiVersions of an unknown version is not answered.", "INV-10", ConnectionVariant(says=_future_unanswered)),
        ("empty-key-refused", "FindCoordinator refuses the empty key.", "FIND-01", ConnectionVariant(says=_empty_key_refused)),
        ("throttles-for-ever", "Every answer has the longest possible throttle time.", "COMMIT-22", _throttling(2**31 - 1)),
        ("throttles-for-half-a-minute", "Every answer has a throttle time of 30 s.", "COMMIT-22", _throttling(30_000)),
        ("throttles-below-zero", "Every answer has a throttle time of -1 ms.", "COMMIT-22", _throttling(-1)),
        (
            "fetches-tell-of-others",
            "OffsetFetch also returns another group's offsets.",
            "TRIG-12",
            ConnectionVariant(says=_with_another_group),
        ),
        ("found-at-a-dead-port", "FindCoordinator returns a port on which nothing listens.", "FIND-04", ConnectionVariant(says=_with_dead_port)),
    ):
        yield Variant(name=name, says=says, breaks=(breaks,), line=line)
    yield Variant(name="joins-versions-lied", says="ApiVersions promises JoinGroup v9, which ends the connection.", breaks=("FIND-04",),
                  answered={Api.JOIN_GROUP: (0, 8)})  # fmt: skip


BUGS_OF_ANSWERS: Final[tuple[Variant, ...]] = (*_by_version(), *_fields(), *_lines())
