from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.running.plans.driving import M0, kit, ok, play, requests, shim

from groupproof.harness.model.plan import Await, Condition, Matches, Member, Stable, Start
from groupproof.harness.running.plans import fresh_records
from groupproof.harness.running.plans.fresh_records import FRESH_MS, FRESH_RECORDS, leave_records, may_wait_forever
from groupproof.harness.running.plans.member_control import Actor
from groupproof.protocol.trace import Recorder

RECORDS = Matches(kind_of="event", event="records_consumed", client="a0")


class Committing(Actor):
    """A member whose program commits as it likes, as those of level 0 do."""

    commits_unasked = True


def actor(make: type[Actor]) -> Actor:
    return make(M0, Recorder(lambda: 0))


@pytest.mark.parametrize(
    ("condition", "make", "in_vain"),
    [(RECORDS, Committing, True), (RECORDS, Actor, False), (Stable(members=("m0",)), Committing, False)],
)
def test_records_may_never_come_where_a_member_commits_unasked(condition: Condition, make: type[Actor], *, in_vain: bool) -> None:
    assert may_wait_forever(condition, [actor(make)]) == in_vain


def test_a_few_records_come_to_each_partition_once_those_before_must_have_come() -> None:
    appended: list[tuple[float, str, int, int]] = []

    async def append(topic: str, partitions: int, records: int) -> None:
        appended.append((trio.current_time(), topic, partitions, records))

    async def main() -> None:
        began = trio.current_time()
        await leave_records(append, {"t": 2, "u": 1})
        assert appended == [(began + FRESH_MS / 1000, "t", 2, FRESH_RECORDS), (began + FRESH_MS / 1000, "u", 1, FRESH_RECORDS)]

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.parametrize("commits", [True, False])
def test_a_member_that_takes_over_from_a_program_that_commits_still_gets_records(monkeypatch: pytest.MonkeyPatch, *, commits: bool) -> None:
    def only_starts(command: dict[str, Any]) -> Sequence[dict[str, Any]]:
        return ok(command)

    monkeypatch.setattr(Actor, "commits_unasked", commits)
    monkeypatch.setattr(fresh_records, "FRESH_MS", 500)
    twice = Matches(kind_of="event", event="records_consumed", client="a0", count=2)
    a0 = Member(name="a0", kind="reference")
    trace = play([Start(member="m0"), Start(member="a0"), Await(until=twice, within_ms=3_000)], M0, a0, subject=shim(only_starts))

    assert requests(trace, "Fetch")
    assert bool(kit(trace, "timeout")) != commits
