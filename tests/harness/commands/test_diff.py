from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.subjects.brokers import broker_providers
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `old` name a coordinator of another release."""
    real = broker_providers.subject_named

    def named(spec: str, **options: Any) -> Any:
        return Old(profile="kafka-1.1", spec="old") if spec == "old" else real(spec, **options)

    monkeypatch.setattr(broker_providers, "subject_named", named)


class Old(ReferenceBrokers):
    """Not the reference itself, so that no other release is put on it."""


@pytest.mark.slow
def test_equal_subjects_are_reported_in_one_line(groupproof: Call) -> None:
    called = groupproof("diff", "groupproof", "groupproof", "--only", "heartbeat/*")

    assert called.code == 0
    assert called.out.startswith("groupproof and groupproof: 0 of ")


@pytest.mark.slow
@pytest.mark.usefixtures("old")
def test_each_schedule_that_diverges_is_reported_with_both_answers(groupproof: Call) -> None:
    called = groupproof("diff", "groupproof", "old", "--profile", "kafka-4.1", "--only", "heartbeat/*")

    assert called.code == 1
    case, first, second, *_ = called.out.splitlines()
    assert case.startswith("heartbeat/classic/")
    assert first.startswith("  groupproof  ")
    assert second.startswith("  old         ")
    assert first[14:] != second[14:]

    listed = groupproof("diff", "groupproof", "old", "--profile", "kafka-4.1", "--only", case.split()[0].rstrip(":,"), "--json").json
    assert {"case", "exchange", "first", "second"} == set(listed[0])


def test_generated_histories_need_hypothesis(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert "pip install 'groupproof[fuzz]'" in groupproof("diff", "groupproof", "groupproof", "--steps", "10").complaint


def test_an_unknown_subject_is_answered_with_the_nearest(groupproof: Call) -> None:
    called = groupproof("diff", "groupprof", "kfake")

    assert called.code == 3
    assert "did you mean groupproof" in called.complaint
