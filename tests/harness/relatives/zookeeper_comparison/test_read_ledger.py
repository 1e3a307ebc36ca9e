from __future__ import annotations

from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger

P, Q = ("t", 0), ("t", 1)


def _read(ledger: ReadLedger, member: str, *, first: int, at_ms: int, count: int) -> None:
    """Read a record each 10 ms."""
    for number in range(count):
        ledger.read(member, P, first + number, at_ms + 10 * number)


def test_two_who_read_at_a_time_are_owners_only_as_far_as_their_commits_were_accepted() -> None:
    ledger = ReadLedger([P])
    ledger.holds("a", [P], 0)
    _read(ledger, "a", first=0, at_ms=0, count=11)
    ledger.holds("b", [P], 50)
    _read(ledger, "b", first=0, at_ms=60, count=11)
    assert ledger.figures(0, 200).two_readers_ms == 40
    assert ledger.figures(0, 200).two_owners_ms == 0

    ledger.accepted("b", {P: 11}, 170)
    ledger.accepted("a", {P: 9}, 180)
    figures = ledger.figures(0, 200)
    assert (figures.two_owners_ms, figures.two_owners) == (20, 1)
    assert figures.offsets_back == 1
    assert figures.read_twice == 11


def test_a_commit_counts_for_the_holding_that_a_member_has_now_though_it_read_farther_in_one_that_it_lost() -> None:
    ledger = ReadLedger([P])
    ledger.holds("a", [P], 0)
    _read(ledger, "a", first=0, at_ms=0, count=11)
    ledger.holds("b", [P], 40)
    _read(ledger, "b", first=0, at_ms=50, count=11)
    ledger.lets_go("a", 200)
    ledger.lets_go("b", 200, [P])
    ledger.accepted("b", {P: 11}, 200)
    ledger.holds("a", [P], 300)
    ledger.accepted("a", {P: 11}, 400)

    assert ledger.figures(0, 500).two_readers_ms > 0
    assert ledger.figures(0, 500).two_owners_ms == 0


def test_a_time_without_an_owner_is_counted_for_each_partition_and_the_longest_is_reported() -> None:
    ledger = ReadLedger([P, Q])
    ledger.holds("a", [P, Q], 10)
    ledger.lets_go("a", 100, [P])
    ledger.holds("b", [P], 130)
    ledger.lets_go("b", 180)

    figures = ledger.figures(0, 200)
    assert figures.none_ms == 10 + 30 + 20 + 10
    assert figures.none_longest_ms == 30
    assert ledger.holders(P) == set()
    assert ledger.holders(Q) == {"a"}


def test_only_the_time_that_is_looked_at_counts() -> None:
    ledger = ReadLedger([P])
    for member in "ab":
        ledger.holds(member, [P], 0)
        _read(ledger, member, first=0, at_ms=0, count=11)
        ledger.accepted(member, {P: 11}, 110)

    assert ledger.figures(20, 50).two_owners_ms == 30
    assert ledger.figures(150, 200).two_owners_ms == 0
