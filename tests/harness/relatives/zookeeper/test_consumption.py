"""How long partitions had two consumers, or none."""

from __future__ import annotations

from groupproof.harness.relatives.zookeeper.consumption import Consuming

P, Q = ("t", 0), ("t", 1)


def test_time_with_two_consumers_and_with_none_is_summed_over_partitions() -> None:
    consuming = Consuming()
    consuming.start("a", [P, Q], 100)
    consuming.start("b", [P], 250)
    consuming.stop("a", 300)
    consuming.stop("b", 320)
    consuming.account(400)

    assert consuming.doubled_us == 50
    assert consuming.orphaned_us == (400 - 320) + (400 - 300)
    assert not consuming.by[P]
    assert not consuming.of("b")


def test_what_nobody_has_consumed_yet_is_no_orphan() -> None:
    consuming = Consuming()
    consuming.account(1_000)
    consuming.start("a", [P], 2_000)
    consuming.account(3_000)

    assert consuming.orphaned_us == 0
    assert consuming.of("a") == {P}
