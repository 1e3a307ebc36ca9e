"""What members of both protocols do alike."""

from __future__ import annotations

import pytest

from groupproof.clients.member.any_member import AnyMember
from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.outputs import CloseResult, Fail, Node, Send

BOTH = pytest.mark.parametrize("kind", [Member, EpochMember])


def _member(kind: type[Member | EpochMember]) -> AnyMember:
    return kind(MemberSettings(group="g", topics=("t",), by_epochs=kind is EpochMember))


@BOTH
def test_a_failure_is_an_output_once(kind: type[Member | EpochMember]) -> None:
    member = _member(kind)
    member.fail("AUTHENTICATION", "refused", 0)

    first, second = (member.poll(now_ms, {}) for now_ms in (1, 2))  # type: ignore[attr-defined]  # both have it, each with its own steps

    assert [output.message for output in first if isinstance(output, Fail)] == ["refused"]
    assert [output for output in second if isinstance(output, Fail)] == []


@BOTH
def test_an_answer_that_nobody_waits_for_changes_nothing(kind: type[Member | EpochMember]) -> None:
    member = _member(kind)
    member.tick(0)

    assert member.unanswered(99, 0) == []
    assert member.disconnected(Node(node_id=1, host="h", port=9092), 0) == []
    assert (member.coordinator, member.member_id if kind is Member else "", member.owned) == (None, "", frozenset())


@BOTH
def test_a_member_outside_groups_closes_at_once(kind: type[Member | EpochMember]) -> None:
    outputs = _member(kind).close(0)

    assert [output.closed for output in outputs if isinstance(output, CloseResult)] == [True]
    assert not any(isinstance(output, Send) for output in outputs)
