"""Generations: each has one number, leader, protocol and assignment, and no request of an older one is accepted (INV-04 to INV-09).

A generation is final once it is stored. A coordinator that moves away loses what it had not stored (EMIG-05), so the next tenure may use that
number again. Static members are identified by their instance, because their ids change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from groupproof.coordinator.machine.coordinator import Coordinator, Transition
from groupproof.harness.simulation.settings import GROUP, InvariantBroken
from groupproof.protocol.rules import ClassicEvent
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import VALID_PREVIOUS_STATES, ErrorCode, GroupState, TopicPartition
from groupproof.protocol.wire.messages import (
    GroupResponse,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupproof.protocol.wire.subscription import decode_assignment

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["Generation", "Generations"]

_UNLOADED: Final = f"{ClassicEvent.UNLOADED.value}/"


@dataclass(slots=True, eq=False)
class Generation:
    """One generation according to the answers. `members` maps instances, or ids without an instance, to member ids.

    `sent` is the leader's assignment. The instances in `late` have a newer id that the leader did not know.
    """

    number: int
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, str] = field(default_factory=dict)
    sent: dict[str, bytes] | None = None
    late: set[str] = field(default_factory=set)
    has_resumed: bool = False  # its static leader returned, and the answer skipped the assignment (KIP-814)

    @property
    def assigned(self) -> list[TopicPartition]:
        """The partitions that the leader assigned. A partition assigned twice occurs twice."""
        return [partition for blob in (self.sent or {}).values() for partition in (decode_assignment(blob).partitions if blob else ())]

    @property
    def is_incomplete(self) -> bool:
        """Return whether a member got no assignment because it returned too late (KAFKA-9801).

        If that was the leader, which does not know its role, no member got one.
        """
        return self.sent == {} or bool(self.late)


class Generations:
    """Follows the generations. `current` is the generation of this tenure, `stored` the last one whose assignment was stored.

    With `takes_late`, a static member that returns during CompletingRebalance gets a new id that the leader does not know. If it is the leader, the
    answer names its old id as the leader's, and it syncs as a follower.
    """

    def __init__(self, *, takes_late: bool = False) -> None:
        self._takes_late = takes_late
        self.current = self.stored = self._previous = Generation(0)
        self.state: State = None
        self.asked_in: State = None  # the state in which the current request came
        self._is_led = False
        self._instances: dict[str, str] = {}
        self._owner_of_id: dict[str, str] = {}

    def identity(self, member_id: str) -> str:
        return self._instances.get(member_id, member_id)

    def _is_same(self, member_id: str, other: str | None) -> bool:
        return member_id == other or (other is not None and self.identity(member_id) == self.identity(other))

    # Tenures

    def led_by(self, machine: Coordinator) -> None:
        progress = machine.progress(GROUP)
        number = 0 if progress is None else progress.generation
        self._is_led, self._previous = True, Generation(0)
        if number < self.stored.number:
            raise InvariantBroken("EMIG-03", f"the group was loaded at generation {number}, though {self.stored.number} was stored")
        self.current = self.stored if number == self.stored.number else Generation(number)
        self.state = None if progress is None else progress.state

    def unloaded(self) -> None:
        """End the tenure. Until the next one begins, the members are unknown, and heartbeats are not checked (FIND-10)."""
        self._is_led = False

    def moved(self, move: Transition) -> None:
        if move.rule.startswith(_UNLOADED):
            return
        if move.before is not self.state or (move.before is not None and move.before not in VALID_PREVIOUS_STATES[move.after]):
            raise InvariantBroken("INV-01", f"the group went from {move.before} to {move.after} where it stood in {self.state}")
        self.state = move.after
        counts = move.before is GroupState.PREPARING_REBALANCE
        if move.before is None:
            self.current = Generation(0)
        elif not self._follows(move, counts=counts):
            raise InvariantBroken(
                "INV-04", f"generation {move.generation} follows {self.current.number} from {move.before.value} to {move.after.value}"
            )
        elif counts:
            self._previous, self.current = self.current, Generation(move.generation)
        if move.after is GroupState.DEAD:
            self.state, self.current = None, Generation(0)
            self.stored = self.current

    def _follows(self, move: Transition, *, counts: bool) -> bool:
        """Return whether the generation grew with a completed rebalance. Its start, its step, and the number of an Empty group are open (decision 0076)."""
        number, before = move.generation, self.current.number
        if not counts:
            return number == before
        is_first = not before and self.current.leader is None
        return number >= before if is_first or move.after is GroupState.EMPTY else number > before

    # Requests and answers

    def syncs(self, request: SyncGroupRequest) -> None:
        """Record the leader's assignment."""
        current = self.current
        is_due = self.state is GroupState.COMPLETING_REBALANCE and request.generation_id == current.number
        if is_due and (request.assignments or self._takes_late) and self._is_same(request.member_id, current.leader):
            current.sent = {self.identity(assignment.member_id): assignment.assignment for assignment in request.assignments}

    def answered(self, message: GroupResponse, pending: PendingRequest) -> None:
        """Check an answer that names members of a generation."""
        look = _LOOKS.get(type(message))
        if look is not None:
            look(self, message, pending)

    def _joined(self, message: JoinGroupResponse, pending: PendingRequest) -> None:
        owner, request = pending.connection.owner.name, cast(JoinGroupRequest, pending.request)
        if request.group_instance_id is not None and message.member_id:
            self._instances[message.member_id] = request.group_instance_id
        if message.error_code not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            return
        if self._owner_of_id.setdefault(message.member_id, owner) != owner:
            raise InvariantBroken("JOIN-03", f"{owner} was given the member id of {self._owner_of_id[message.member_id]}: {message.member_id}")
        if not message.error_code:
            self._enter(message, self.current)
            # The earlier id of the instance may never have got an answer. A leader's JoinGroup names all ids, the newest too.
            if self._takes_late and self.asked_in is GroupState.COMPLETING_REBALANCE and not (request.member_id or message.members):
                self.current.late.add(self.identity(message.member_id))

    def _enter(self, message: JoinGroupResponse, current: Generation) -> None:
        if message.generation_id != current.number:
            raise InvariantBroken("INV-04", f"JoinGroup was answered with generation {message.generation_id}, where {current.number} is the group's")
        is_first = current.leader is None
        if not is_first and not (self._is_same(message.leader, current.leader) and message.protocol_name == current.protocol):
            text = f"{current.leader} with {current.protocol}, then {message.leader} with {message.protocol_name}"
            raise InvariantBroken("JOIN-13", f"generation {current.number} was told two leaders or protocols: {text}")
        leads = message.leader == message.member_id
        if leads != bool(message.members) and not (leads and message.skip_assignment):
            raise InvariantBroken("JOIN-14", f"{message.member_id} was told {len(message.members)} members, its leader is {message.leader}")
        # A late static leader has lost its place (STATIC-12); a late dynamic one is no longer a member.
        was_leader = message.member_id == self._previous.leader and message.member_id not in self._instances
        if was_leader and not leads:
            raise InvariantBroken(
                "JOIN-06", f"{message.leader} leads generation {current.number}, though {message.member_id}, which led before, is in it"
            )
        current.has_resumed |= message.skip_assignment
        current.leader, current.protocol = message.leader, message.protocol_name
        # A leader that lost its answer and joins again gets the newest ids.
        current.late.difference_update(self.identity(member.member_id) for member in message.members)
        current.members.setdefault(self.identity(message.member_id), message.member_id)

    def _synced(self, message: SyncGroupResponse, pending: PendingRequest) -> None:
        request = cast(SyncGroupRequest, pending.request)
        if message.error_code:
            return
        current = self.check_member(request.member_id, request.generation_id, "SyncGroup", ("SYNC-01", "SYNC-02"))
        if current.sent is None:
            if current is not self.stored:
                raise InvariantBroken("SYNC-06", f"a SyncGroup of generation {current.number} was answered before its leader assigned")
            return
        identity = self.identity(request.member_id)
        if message.assignment != (b"" if identity in current.late else current.sent.get(identity, b"")):
            raise InvariantBroken("INV-09", f"{request.member_id} was not given what the leader of generation {current.number} assigned to it")
        self.stored = current

    def _beat(self, message: HeartbeatResponse, pending: PendingRequest) -> None:
        request: Any = pending.request
        if self._is_led and not message.error_code:
            self.check_member(request.member_id, request.generation_id, "Heartbeat", ("HB-08", "HB-10"))

    def check_member(self, member_id: str, generation: int, request_name: str, requirements: tuple[str, str]) -> Generation:
        """Return the current generation.

        Raise `InvariantBroken` with the first requirement for an unknown member, with the second for another generation.
        """
        current = self.current
        if generation == current.number and member_id in current.members:
            return current
        if generation != current.number:
            raise InvariantBroken(requirements[1], f"{request_name} of generation {generation} was taken for one of generation {current.number}")
        if current.members and self.identity(member_id) not in current.members:
            raise InvariantBroken(requirements[0], f"{request_name} of {member_id} was taken, which is no member of generation {current.number}")
        return current


_LOOKS: Final[dict[type, Callable[[Generations, Any, PendingRequest], None]]] = {
    JoinGroupResponse: Generations._joined,
    SyncGroupResponse: Generations._synced,
    HeartbeatResponse: Generations._beat,
}
