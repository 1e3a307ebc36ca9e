"""Bugs planted beside the table: in effects, guards, timers, choices, settings, and in the stored or moved state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.machine.answers import FORMS
from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.group_descriptions import DESCRIPTIONS
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.coordinator.machine.machine_outputs import Arrival, Output, Reply
from groupproof.coordinator.machine.storage import StoredGroups
from groupproof.coordinator.machine.timers import session_of
from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules import ClassicEvent, Effect, Form, Guard
from groupproof.protocol.wire.messages import GroupResponse, JoinGroupResponse, ListGroupsRequest, SyncGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.timers import TimerKey

__all__ = ["BUGS_OF_RULES"]

EARLY_MS: Final = 700
LATE_MS: Final = 4_000


# Timers --------------------------------------------------------------------------------------------------------------------------


def _timer(name: str, says: str, breaks: str, kind: ClassicEvent, bend: Callable[[int], int | None]) -> Variant:
    def due(key: TimerKey, due_ms: int) -> int | None:
        return bend(due_ms) if key.kind is kind else due_ms

    return Variant(name=name, says=says, breaks=(breaks,), due_ms=due)


def _timers() -> Iterator[Variant]:
    for name, of, kind, breaks in (
        ("session", "a member's session", ClassicEvent.SESSION_END, "TR-120"),
        ("initial-delay", "the initial delay", ClassicEvent.INITIAL_DELAY_END, "IDJ-02"),
        ("join-deadline", "the join phase", ClassicEvent.JOIN_DEADLINE, "TR-048"),
        ("sync-deadline", "the wait for SyncGroup", ClassicEvent.SYNC_DEADLINE, "SYNC-16"),
    ):
        yield _timer(f"{name}-never-ends", f"The timer of {of} never goes off.", breaks, kind, lambda _: None)
        yield _timer(f"{name}-ends-early", f"The timer of {of} goes off {EARLY_MS} ms early.", breaks, kind, lambda due_ms: due_ms - EARLY_MS)
        yield _timer(f"{name}-ends-late", f"The timer of {of} goes off {LATE_MS} ms late.", breaks, kind, lambda due_ms: due_ms + LATE_MS)
    yield _timer("cleanup-never-ends", "What has expired is never cleaned up.", "COMMIT-24", ClassicEvent.CLEANUP, lambda _: None)


# Effects -------------------------------------------------------------------------------------------------------------------------


def _then(effect: Effect, more: Callable[[EffectContext, Event], None]) -> Callable[[EffectContext, Event], None]:
    """Return the effect followed by `more`."""

    def both(engine: EffectContext, event: Event) -> None:
        EFFECTS[effect](engine, event)
        more(engine, event)

    return both


def _count_by(difference: int) -> Callable[[EffectContext, Event], None]:
    def count(_: EffectContext, event: Event) -> None:
        event.existing_group.generation += difference

    return count


def _count_down(_: EffectContext, event: Event) -> None:
    group = event.existing_group
    group.generation = 10 if group.generation == 1 else group.generation - 2


def _leaders_protocol(_: EffectContext, event: Event) -> None:
    group = event.existing_group
    group.protocol_name = group.members.by_id[group.members.leader or ""].protocols[0].name


def _last_joiner_leads(_: EffectContext, event: Event) -> None:
    event.existing_group.members.leader = list(event.existing_group.members.by_id)[-1]


def _keep_newcomer(_: EffectContext, event: Event) -> None:
    event.existing_group.newcomer_came = True


def _spend_nothing(_: EffectContext, event: Event) -> None:
    event.existing_group.budget_ms = 1_000_000


def _answer_all_as_leaders(engine: EffectContext, event: Event) -> None:
    group = event.existing_group
    listed = group.members.listed(group.protocol_name)
    for member in group.members:
        parked = group.members.park_join(member, None)
        if parked is not None:
            engine.reply(parked.token, group.join_answer(member.member_id, listed))
        engine.timers.arm(session_of(group.group_id, member.member_id), event.now_ms + member.session_timeout_ms)
        member.is_new = False


def _assign_to(turn: int) -> Callable[[EffectContext, Event], None]:
    """Return the effect that gives each member the assignment of the member `turn` places after it."""

    def assign(_: EffectContext, event: Event) -> None:
        members, assignment = list(event.existing_group.members), event.assignment or {}
        for index, member in enumerate(members):
            member.assignment = assignment.get(members[(index + turn) % len(members)].member_id, b"")

    return assign


def _assign_first(_: EffectContext, event: Event) -> None:
    assignments = list((event.assignment or {}).values())
    for member in event.existing_group.members:
        member.assignment = assignments[0] if assignments else b""


def _keep_old_assignment(_: EffectContext, event: Event) -> None:
    for member in event.existing_group.members:
        member.assignment = member.assignment or (event.assignment or {}).get(member.member_id, b"")


def _keep_what_is_left_out(_: EffectContext, event: Event) -> None:
    for member in event.existing_group.members:
        member.assignment = (event.assignment or {}).get(member.member_id, member.assignment)


def _end_session_of_synced(engine: EffectContext, event: Event) -> None:
    engine.timers.arm(session_of(event.group_id, event.member_id), event.now_ms + 500)


def _commit(keep: Callable[[int, int | None], int], *, metadata: bool = True, first_only: bool = False) -> Callable[[EffectContext, Event], None]:
    """Return the effect that stores `keep(offset, previous offset)`, with or without the metadata."""

    def store(engine: EffectContext, event: Event) -> None:
        before = {key: committed.offset for key, committed in engine.offsets(event.group_id).by_partition.items()}
        EFFECTS[Effect.STORE_OFFSETS](engine, event)
        stored = engine.offsets(event.group_id).by_partition
        for index, (key, item) in enumerate(tuple(stored.items())):
            if first_only and index:
                del stored[key]
                continue
            stored[key] = item._replace(offset=keep(item.offset, before.get(key)), metadata=item.metadata if metadata else "")

    return store


def _effects() -> Iterator[Variant]:
    counted, stored = Effect.NEXT_GENERATION, Effect.STORE_OFFSETS
    for name, says, breaks, effect, function in (
        ("generation-stays", "A new generation has the number of the old one.", "INV-04", counted, _then(counted, _count_by(-1))),
        ("generation-falls", "Generations are counted down from 10.", "INV-04", counted, _then(counted, _count_down)),
        ("generation-negative", "The first generation is -1, and each further one is one less.", "INV-04", counted, _then(counted, _count_by(-2))),
        ("leaders-protocol", "The leader's first protocol is chosen, whatever the others support.", "JOIN-32", counted,
         _then(counted, _leaders_protocol)),
        ("leader-changes-each-time", "The member that joined last leads, though the leader is still there.", "JOIN-06", counted,
         _then(counted, _last_joiner_leads)),
        ("members-told-to-all", "Followers get the members too.", "JOIN-14", Effect.ANSWER_JOINS, _answer_all_as_leaders),
        ("assignments-swapped", "Each member is given the assignment of the next.", "SYNC-13", Effect.ASSIGN, _assign_to(1)),
        ("one-assignment-for-all", "Every member is given the first assignment of the leader's list.", "SYNC-13", Effect.ASSIGN, _assign_first),
        ("assignments-stay", "A member that has an assignment keeps it.", "SYNC-13", Effect.ASSIGN, _keep_old_assignment),
        ("left-out-keeps-its-own", "A member that the leader left out keeps its old assignment.", "SYNC-07", Effect.ASSIGN, _keep_what_is_left_out),
        ("delay-extended-for-ever", "The initial delay's bound is not kept.", "IDJ-05", Effect.EXTEND_INITIAL_DELAY,
         _then(Effect.EXTEND_INITIAL_DELAY, _spend_nothing)),
        ("delay-extended-without-newcomer", "The initial delay is extended though nobody new came.", "IDJ-04", Effect.EXTEND_INITIAL_DELAY,
         _then(Effect.EXTEND_INITIAL_DELAY, _keep_newcomer)),
        ("session-of-synced-is-short", "A member's session ends half a second after its SyncGroup.", "TR-082", Effect.MARK_SYNCED,
         _then(Effect.MARK_SYNCED, _end_session_of_synced)),
        ("commit-off-by-one", "The offset stored is one more than the one committed.", "TR-123", stored, _commit(lambda new, _: new + 1)),
        ("commit-never-lower", "A lower offset than the one stored is not stored.", "TR-123", stored,
         _commit(lambda new, old: max(new, -1 if old is None else old))),
        ("commit-only-once", "An offset that is stored is never replaced.", "TR-123", stored, _commit(lambda new, old: new if old is None else old)),
        ("commit-without-metadata", "A commit's metadata is not stored.", "TR-123", stored, _commit(lambda new, _: new, metadata=False)),
        ("commit-of-one-partition", "Of a group's offsets only one is kept.", "TR-123", stored, _commit(lambda new, _: new, first_only=True)),
    ):  # fmt: skip
        yield Variant(name=name, says=says, breaks=(breaks,), effects={effect: function})


# Guards --------------------------------------------------------------------------------------------------------------------------


def _strictly_within(event: Event) -> bool:
    bounds = event.settings
    return not bounds.group_min_session_timeout_ms < event.join.session_timeout_ms < bounds.group_max_session_timeout_ms


def _one_more_fits(event: Event) -> bool:
    members, limit = event.existing_group.members, event.settings.group_max_size + 1
    member = members.get(event.member_id)
    return member is None and len(members) >= limit


def _pending_count_too(event: Event) -> bool:
    members = event.existing_group.members
    return event.member_id not in members and len(members) + len(members.pending) >= event.settings.group_max_size


def _same_names(event: Event) -> bool:
    return [protocol.name for protocol in event.member.protocols] == [protocol.name for protocol in event.join.protocols]


def _same_set(event: Event) -> bool:
    return set(event.member.protocols) == set(event.join.protocols)


def _no_new_protocol(event: Event) -> bool:
    return set(event.join.protocols) >= set(event.member.protocols)


def _guards() -> Iterator[Variant]:
    for name, says, breaks, guard, function in (
        ("session-bounds-are-outside", "A session timeout that is just the bound is refused.", "JOIN-27", Guard.SESSION_TIMEOUT_OUT_OF_BOUNDS,
         _strictly_within),
        ("one-more-than-max-size", "A group takes one member more than group.max.size.", "JOIN-56", Guard.GROUP_IS_FULL, _one_more_fits),
        ("pending-ids-take-places", "Ids that are pending count as members of a full group.", "JOIN-56", Guard.GROUP_IS_FULL, _pending_count_too),
        ("metadata-never-the-same", "A member that joins again unchanged starts a rebalance.", "TR-113", Guard.METADATA_SAME, lambda _: False),
        ("metadata-always-the-same", "A member's new metadata is not noticed.", "TR-112", Guard.METADATA_SAME, lambda _: True),
        ("metadata-same-by-name", "Only the names of the protocols are compared, not their bytes.", "TR-112", Guard.METADATA_SAME, _same_names),
        ("metadata-same-in-any-order", "The order of the protocols is not compared.", "TR-112", Guard.METADATA_SAME, _same_set),
        ("metadata-same-with-one-more", "A protocol offered besides is not noticed.", "TR-112", Guard.METADATA_SAME, _no_new_protocol),
        ("later-generation-accepted", "A generation later than the group's counts as the group's.", "TR-119", Guard.OTHER_GENERATION,
         lambda event: event.generation < event.existing_group.generation),
        ("earlier-generation-accepted", "A generation earlier than the group's counts as the group's.", "TR-119", Guard.OTHER_GENERATION,
         lambda event: event.generation > event.existing_group.generation),
        ("no-generation-accepted", "No generation counts as the group's.", "TR-119", Guard.OTHER_GENERATION,
         lambda event: event.generation >= 0 and GUARDS[Guard.OTHER_GENERATION](event)),
        ("id-required-of-all", "A member id is required of JoinGroup before v4 too.", "TR-022", Guard.MEMBER_ID_NEEDED,
         lambda event: not event.member_id and event.instance_id is None),
        ("id-never-required", "No newcomer is given a member id first.", "TR-022", Guard.MEMBER_ID_NEEDED, lambda _: False),
        ("everyone-leads", "Every SyncGroup counts as the leader's.", "TR-081", Guard.LEADER, lambda _: True),
        ("nobody-leads", "No SyncGroup counts as the leader's.", "TR-081", Guard.LEADER, lambda _: False),
        ("fencing-forgotten", "An instance's old member id is not fenced.", "STATIC-10", Guard.FENCED, lambda _: False),
        ("protocols-of-one-suffice", "A member is admitted whose protocols only the newest member supports.", "JOIN-09", Guard.PROTOCOLS_UNFIT,
         lambda event: not event.join.protocols),
        ("initial-delay-always", "The initial delay is waited for before every generation.", "IDJ-02", Guard.INITIAL_DELAY_RUNS,
         lambda event: event.existing_group.generation > 0 or GUARDS[Guard.INITIAL_DELAY_RUNS](event)),
    ):  # fmt: skip
        yield Variant(name=name, says=says, breaks=(breaks,), guards={guard: function})


# Forms, choices, settings ----------------------------------------------------------------------------------------------------------


def _listed_unfiltered(event: Event) -> GroupResponse:
    asked = event.request
    assert isinstance(asked, ListGroupsRequest)
    event.request = replace(asked, states_filter=(), types_filter=())
    return DESCRIPTIONS[Form.LISTED](event)


def _own_assignment_lost(event: Event) -> GroupResponse:
    answer = FORMS[Form.OWN_ASSIGNMENT](event)
    assert isinstance(answer, SyncGroupResponse)
    return replace(answer, assignment=b"")


def _without_list(event: Event) -> GroupResponse:
    answer = FORMS[Form.CURRENT_GENERATION](event)
    assert isinstance(answer, JoinGroupResponse)
    return replace(answer, members=())


class _SameIds(RandomChoices):
    """Gives the same id to every member of one client."""

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        return f"{prefix}-00000000-0000-4000-8000-000000000000"


def _forgotten(kind: type[GroupResponse]) -> Callable[[Sequence[Output], Hashable], Sequence[Output]]:
    """Return the function that drops the answers of that kind to parked requests."""

    def outputs(out: Sequence[Output], token: Hashable) -> Sequence[Output]:
        return [output for output in out if not (isinstance(output, Reply) and output.token != token and isinstance(output.message, kind))]

    return outputs


def _others() -> Iterator[Variant]:
    yield Variant(name="list-unfiltered", says="ListGroups returns every group, whatever states and types are asked for.", breaks=("INV-02",),
                  forms={Form.LISTED: _listed_unfiltered})  # fmt: skip
    yield Variant(name="assignment-told-once", says="A second SyncGroup of a generation is answered without the assignment.", breaks=("TR-116",),
                  forms={Form.OWN_ASSIGNMENT: _own_assignment_lost})  # fmt: skip
    yield Variant(name="list-told-once", says="A leader that joins again unchanged does not get the members.", breaks=("TR-086",),
                  forms={Form.CURRENT_GENERATION: _without_list})  # fmt: skip
    yield Variant(name="same-member-ids", says="Two members of one client id get the same member id.", breaks=("JOIN-03",), choices=_SameIds)
    yield Variant(name="parked-joins-forgotten", says="A JoinGroup that was parked is never answered.", breaks=("TR-046",),
                  outputs=_forgotten(JoinGroupResponse))  # fmt: skip
    yield Variant(name="parked-syncs-forgotten", says="A SyncGroup that was parked is never answered.", breaks=("TR-082",),
                  outputs=_forgotten(SyncGroupResponse))  # fmt: skip
    yield Variant(name="metadata-of-any-length", says="Commit metadata of any length is stored.", breaks=("COMMIT-28",),
                  settings={"offset.metadata.max.bytes": 1_000_000})  # fmt: skip
    yield Variant(name="no-initial-delay", says="The first rebalance of a group is not delayed.", breaks=("IDJ-02",),
                  settings={"group.initial.rebalance.delay.ms": 0})  # fmt: skip
    yield Variant(name="no-max-size", says="group.max.size is not kept.", breaks=("JOIN-56",), settings={"group.max.size": 1_000_000})
    yield Variant(name="offsets-for-ever", says="Offsets never expire.", breaks=("COMMIT-26",), settings={"offsets.retention.minutes": 1_000_000})
    yield Variant(name="offsets-lost-on-move", says="A coordinator that takes over knows no offsets.", breaks=("EMIG-03",),
                  stored=lambda stored: replace(stored, offsets=()))  # fmt: skip
    yield Variant(name="groups-lost-on-move", says="A coordinator that takes over knows no members.", breaks=("EMIG-03",),
                  stored=lambda stored: replace(stored, groups=()))  # fmt: skip
    yield Variant(name="all-lost-on-move", says="A coordinator that takes over knows nothing.", breaks=("EMIG-03",), stored=lambda _: StoredGroups())


BUGS_OF_RULES: Final[tuple[Variant, ...]] = (*_timers(), *_effects(), *_guards(), *_others())
