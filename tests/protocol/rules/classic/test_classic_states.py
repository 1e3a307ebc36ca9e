"""The states of a classic group."""

from __future__ import annotations

from groupproof.protocol.rules import STATES, state_name
from groupproof.protocol.rules.classic.classic_states import LIVE, STATE_SAYS


def test_the_states_are_kafka_s_five_and_no_group() -> None:
    assert [state_name(state) for state in STATES] == ["none", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"]


def test_each_state_has_a_sentence_and_the_live_ones_are_those_with_members() -> None:
    assert list(STATE_SAYS) == list(STATES)
    assert STATES[2:5] == LIVE
