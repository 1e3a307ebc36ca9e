"""The log messages of a broker's group coordinator, release by release, and their meaning in a trace.

They come from Kafka's sources and from logs of real brokers, 1.1.0 to 4.1.0: `GroupCoordinator` and `GroupMetadataManager` in Scala up to 3.9, the
coordinator in Java from 4.0 on. Its lines begin with `[GroupCoordinator id=… topic=__consumer_offsets partition=…]`, and it calls groups of the
consumer protocol (KIP-848) `[GroupId …]`. Marker lines carry the
ids of the requirements for them (section H of the catalogue). Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from groupproof.protocol.vocabulary import GroupState

__all__ = ["MESSAGE_PATTERNS", "MessagePattern", "may_match", "prefix_of"]

_G: Final = r"(?P<group>.+?)"
_M: Final = r"(?P<member>.+?)"
_N: Final = r"(?P<generation>\d+)"
_ID: Final = rf"\[GroupId {_G}\]"
_OFFSETS: Final = r"(?: \(__consumer_offsets-(?P<offsets>\d+)\))?"
_STATIC_IN_2_4: Final = r"\[group\.instance\.id (?:Some\()?(?P<instance>.*?)\)?, member\.id (?P<bracketed>.+?)\]"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePattern:
    """One message: `name` is that of the event, or with `after` of the transition; `marks` is the requirement for the line."""

    name: str
    pattern: re.Pattern[str]
    before: GroupState | None = None
    after: GroupState | None = None
    marks: str = ""


def _pattern(name: str, pattern: str, *, before: GroupState | None = None, after: GroupState | None = None, marks: str = "") -> MessagePattern:
    return MessagePattern(name=name, pattern=re.compile(pattern), before=before, after=after, marks=marks)


_PREPARING, _COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE

MESSAGE_PATTERNS: Final[tuple[MessagePattern, ...]] = (
    _pattern(
        "prepared", rf"Preparing to rebalance group {_G}(?: in state \w+)? with old generation {_N}{_OFFSETS}(?: \(reason: (?P<reason>.*)\))?\.?$",
        after=_PREPARING, marks="DIAG-01",
    ),
    _pattern(
        "stabilized", rf"Stabilized group {_G} generation {_N}{_OFFSETS}(?: with (?P<members>\d+) members)?\.?$",
        before=_PREPARING, after=_COMPLETING, marks="DIAG-02",
    ),
    _pattern(
        "assigned", rf"Assignment received from leader(?: {_M})? for group {_G} for generation {_N}(?:\. The group has (?P<members>\d+) members.*)?\.?$",
        before=_COMPLETING, after=GroupState.STABLE, marks="DIAG-03",
    ),
    _pattern("emptied", rf"Group {_G} with generation {_N} is now empty{_OFFSETS}\.?$", after=GroupState.EMPTY, marks="DIAG-05"),
    _pattern("died", rf"Group {_G} transitioned to Dead in generation {_N}", after=GroupState.DEAD),
    _pattern("expired", rf"Member(?:{_STATIC_IN_2_4}| {_M}) in group {_G} has failed, removing it from the group", marks="DIAG-04"),
    _pattern("pending-expired", rf"Pending member {_M} in group {_G} has been removed after session timeout expiration", marks="DIAG-09"),
    _pattern("pending-expired", rf"Pending member {_M} has been removed after session timeout expiration", marks="DIAG-09"),
    _pattern(
        "expired-elsewhere",
        rf"Received notification of heartbeat expiration for member {_M} after group {_G} had already been (?:deleted|unloaded|upgraded)", marks="DIAG-09",
    ),
    _pattern("expired-unknown", rf"Member {_M} has already been removed from the group", marks="DIAG-09"),
    _pattern("unknown-at-completion", rf"Member {_M} was not found in {_G} during heartbeat completion check", marks="DIAG-09"),
    _pattern("left", rf"Member(?:{_STATIC_IN_2_4}| {_M}) in group {_G} has left, removing it from the group", marks="LEAVE-09"),
    _pattern("left", rf"\[Group {_G}\] (?:Static m|M)ember {_M}(?: with (?:group )?instance id (?P<instance>.+?))? has left group through explicit `LeaveGroup` request"
          r"; client reason: (?P<reason>.*)$", marks="LEAVE-09"),
    _pattern("left", r"Member MemberMetadata\(memberId=(?P<member>.+?), groupInstanceId=(?:Some\()?(?P<instance>.*?)\)?, clientId=(?P<client>.*?), clientHost=.*\)"
          rf" has left group {_G} through explicit `?LeaveGroup`? request(?:; client reason: (?P<reason>.*))?$", marks="LEAVE-09"),
    _pattern("left", rf"Member {_M} has left group {_G} through explicit `?LeaveGroup`? request(?:; client reason: (?P<reason>.*))?$", marks="LEAVE-09"),
    _pattern("given-id", rf"(?:Dynamic [mM]| ?M)ember with unknown member id (?:re)?joins group {_G} in (?P<state>\w+) state\. Created a new member id {_M} and request"),
    _pattern("given-id", rf"Dynamic [mM]ember with unknown member id (?:re)?joins group {_G} in (?:state )?(?P<state>\w+)(?: state)?\. Created a new member id {_M} (?:for|and added)"),
    _pattern("joining", rf"(?:Pending dynamic|Dynamic) [mM]ember with (?:specific member )?id {_M} joins group {_G} in (?P<state>\w+) state\. Adding to the group now"),
    _pattern(
        "replaced",
        r"Static member(?: with groupInstanceId=(?P<instance>.+?) and| (?:Some\()?(?P<known>.+?)\)? of group .+? with| (?:Some\()?(?P<older>.+?)\)? with)"
        rf" unknown member id (?:re)?joins(?: group {_G} in (?P<state>\w+) state\. Replacing previously mapped member (?P<replaced>.+?) with|, assigning new member id {_M},)",
    ),
    _pattern("joining", rf"Static member with groupInstanceId=(?P<instance>.+?) and unknown member id joins group {_G} in (?P<state>\w+) state\. Created a new member id {_M} for"),
    _pattern("evicted", rf"Group {_G} removed (?:dynamic )?members who haven't joined: (?:Set)?[\[({{](?P<several>.*)[\])}}]"),
    _pattern("evicted", rf"Group {_G} removed dynamic members who haven't joined: (?P<several>.*)$"),
    _pattern("unsynced", rf"Group {_G} removed members who haven't sent their sync requests?: (?:Set)?[\[({{]?(?P<several>.*?)[\])}}]?$"),
    _pattern("nobody-joined", rf"Group {_G} could not complete rebalance because no members rejoined"),
    _pattern("led", rf"Group leader \[member\.?[iI]d: {_M}, group\.?[iI]nstance\.?[iI]d: .*?\] failed to join before (?:the )?rebalance timeout.*Member (?P<elected>\S+) was elected as the new leader"),
    _pattern("loaded", rf"Loading group metadata for {_G} with generation {_N}"),
    _pattern("loaded", rf"Loaded classic group {_G} with (?P<members>\d+) members"),
    _pattern("loaded", rf"Loaded group metadata GroupMetadata\(groupId=(?:)(?P<group>.+?), generation={_N}, protocolType="),
    _pattern("loaded-partition", r"Finished loading offsets and group metadata from __consumer_offsets-(?P<offsets>\d+)"),
    _pattern("loaded-partition", r"Finished loading of metadata from __consumer_offsets-(?P<offsets>\d+)"),
    _pattern("unloaded", rf"Unloading group metadata for {_G} with generation {_N}"),
    _pattern("unloaded-partition", r"Finished unloading (?:of )?(?:metadata for )?(?:offsets and group metadata from )?__consumer_offsets-(?P<offsets>\d+)"),
    _pattern("not-stored", rf"Failed to write empty metadata for group {_G}: ", marks="DIAG-06"),
    _pattern("consumer-joined", rf"{_ID} (?:Static m|M)ember {_M}(?: with instance id (?P<instance>.+?))? joins the consumer group"),
    _pattern("consumer-replaced", rf"{_ID} Static member with instance id (?P<instance>.+?) re-joins the consumer group.* Created a new member {_M} to replace the existing "
          r"member (?P<replaced>.+?)\.?$"),
    _pattern("consumer-left", rf"{_ID} (?:Static m|M)ember {_M}(?: with instance id (?P<instance>.+?))? (?P<state>temporarily )?left the consumer group"),
    _pattern("consumer-expired", rf"{_ID} Member {_M} fenced from the group because (?:its|the member) session expired"),
    _pattern("consumer-overdue", rf"{_ID} Member {_M} fenced from the group because it failed to transition from epoch \d+ within (?P<timeout>\d+)ms"),
    _pattern("consumer-subscribed", rf"{_ID} Member {_M} updated its subscribed (?:topics|regex)"),
    _pattern("consumer-epoch", rf"{_ID} Bumped group epoch to {_N}"),
    _pattern("consumer-assigned", rf"{_ID} Computed a new target assignment for epoch {_N} "),
    _pattern("partition-made", r"Created log for partition (?P<topic>\S+)-(?P<partition>\d+) in "),
    _pattern("partition-made", r"Created log for partition \[(?P<topic>\S+),(?P<partition>\d+)\] in "),
)  # fmt: skip
"""The first one that matches a line is its meaning."""

_PREFIX: Final = re.compile(
    r"\[GroupCoordinator (?:id=)?(?P<node>\d+)(?: topic=__consumer_offsets partition=(?P<offsets>\d+))?\]:? ?|\[GroupMetadataManager brokerId=(?P<manager>\d+)\]:? ?"
)
_TELLING: Final = ("group", "Group", "ember ", "__consumer_offsets", "Created log for partition")


def prefix_of(message: str) -> tuple[int | None, int | None, str]:
    """Return the broker's id and the offsets partition in the line's prefix, and the rest of the message."""
    found = _PREFIX.match(message)
    if found is None:
        return None, None, message
    node = found["node"] or found["manager"]
    return int(node), int(found["offsets"]) if found["offsets"] else None, message[found.end() :]


def may_match(line: str) -> bool:
    """Return, by a cheap test, whether a line is worth reading."""
    return any(word in line for word in _TELLING)
