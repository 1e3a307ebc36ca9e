from __future__ import annotations

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_table import BEFORE_GROUP, CELLS, IN_CLASSIC_GROUPS, UNREACHABLE
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect, ConsumerEvent, ConsumerState
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.rules.dialect import table_of
from groupproof.protocol.vocabulary import ErrorCode, GroupState


def test_the_shape_of_a_heartbeat_is_looked_at_before_the_assignor_and_both_before_the_partition() -> None:
    codes = [row.answer for row in BEFORE_GROUP[ConsumerEvent.HEARTBEAT]]

    assert codes.index(ErrorCode.UNSUPPORTED_ASSIGNOR) > max(index for index, code in enumerate(codes) if code is ErrorCode.INVALID_REQUEST)
    assert codes[-2:] == [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


def test_a_full_group_is_looked_at_before_the_member_but_not_for_a_leave() -> None:
    names = [row.name for row in CELLS[ConsumerEvent.HEARTBEAT][ConsumerState.STABLE]]

    assert names.index("leaves") < names.index("group-full") < names.index("stranger") < names.index("epoch-fenced") < names.index("regex-invalid")


def test_each_state_leads_to_every_other_but_itself() -> None:
    for state, cell in CELLS[ConsumerEvent.STATE_CHECK].items():
        assert state not in [row.then for row in cell]
        assert len({row.then for row in cell}) == 4


def test_a_cell_that_cannot_come_up_has_a_reason_and_no_rows() -> None:
    assert all(UNREACHABLE.values())
    assert not [place for place in UNREACHABLE if CELLS.get(place[0], {}).get(place[1])]


def test_both_requests_have_an_answer_in_every_state_of_a_classic_group() -> None:
    assert {len(IN_CLASSIC_GROUPS[kind]) for kind in (ConsumerEvent.HEARTBEAT, ConsumerEvent.DESCRIBE)} == {5}


def test_what_is_parked_is_answered_in_every_row_behind_the_policy_the_type_and_the_size() -> None:
    rows = IN_CLASSIC_GROUPS[ConsumerEvent.HEARTBEAT][GroupState.PREPARING_REBALANCE]
    names = [row.name for row in rows]

    assert not any(row.effects for row in rows[: names.index("protocol-missing")])
    assert {row.effects for row in rows[names.index("protocol-missing") : -1]} == {(ConsumerEffect.ABORT_PARKED,)}
    assert rows[-1].effects == (ConsumerEffect.UPGRADE,)


def test_up_to_4_1_a_classic_members_own_id_is_fenced_behind_the_size_and_before_the_regex() -> None:
    table = table_of(CLASSIC, (4, 1, 1), CoordinatorKind.JAVA, beside=(CONSUMER,))
    names = [row.name for row in table.cells[ConsumerEvent.HEARTBEAT][GroupState.STABLE]]

    assert names[-4:] == ["group-full", "own-id-fenced", "regex-invalid", "upgrades"]
