from __future__ import annotations

import pytest
from tests.harness.cli.calling import Call

from groupproof.harness.suites import CASES


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("heartbeat/classic/unknown-member-id", ["CLIENT-48 (MUST)", "Start m0", "Needs of the shim: classic", "recovers:", "--only heartbeat/classic/unknown-member-id"]),
        ("HB-03", ["Heartbeat in Empty MUST be answered UNKNOWN_MEMBER_ID(25).", "Source:", "Level:"]),
        ("HB-02", ["Heartbeat/Dead/dead  (kafka-1.1)"]),
        ("client-48", ["CLIENT-48", "heartbeat/classic/unknown-member-id"]),
        ("kafka-2.4", ["release 2.4", "JoinGroup 0–6", "group.initial.rebalance.delay.ms"]),
        ("kafka-python@2.2.3", ["kafka-python@2.2.3", "Shim: level 1", "expectations"]),
    ],
)  # fmt: skip
def test_one_thing_is_told_in_full(name: str, said: list[str], groupproof: Call) -> None:
    called = groupproof("explain", name)

    assert called.code == 0
    assert [each for each in said if each not in called.out] == []


def test_every_case_can_be_explained(groupproof: Call) -> None:
    for case in CASES:
        assert groupproof("explain", case.id).code == 0


def test_an_unknown_name_is_answered_with_the_nearest(groupproof: Call) -> None:
    called = groupproof("explain", "hb-3")

    assert called.code == 3
    assert "did you mean HB-" in called.complaint
