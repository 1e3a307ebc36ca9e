"""The order of the members and of the names; that it is the broker's shows in the vectors too, for all releases."""

from __future__ import annotations

from groupproof.coordinator.assignors.spec_order import members_in_order, names_in_order

TWELVE = [f"m{number}" for number in range(12)]


def test_a_new_member_is_the_last_of_its_bucket() -> None:
    assert members_in_order(["BB", "x"], size_max=2, updated="Aa", is_view=False) == ["BB", "Aa", "x"]
    assert members_in_order(["Aa", "x"], size_max=2, updated="BB", is_view=True) == ["Aa", "BB", "x"]


def test_a_member_that_is_there_already_stays_in_its_place() -> None:
    assert members_in_order(["Aa", "BB"], size_max=2, updated="BB", is_view=False) == members_in_order(["Aa", "BB"], size_max=2, is_view=False)


def test_a_replaced_member_is_gone_in_every_release() -> None:
    for is_view in (False, True):
        assert sorted(members_in_order(TWELVE, size_max=12, updated="new", replaced="m3", is_view=is_view)) == sorted({*TWELVE, "new"} - {"m3"})


def test_up_to_4_3_the_map_may_grow_for_a_moment_and_since_4_4_it_does_not() -> None:
    """Twelve members fill a table of sixteen; the thirteenth doubled it where it was put in before the one that it replaces was taken out."""
    orders = {
        (new, is_view): members_in_order(TWELVE, size_max=12, updated=new, replaced="m3", is_view=is_view)
        for new in ("a", "b", "n1", "q") for is_view in (False, True)
    }  # fmt: skip

    assert any(orders[new, False] != orders[new, True] for new, _ in orders)


def test_names_go_by_the_set_that_a_member_keeps_them_in() -> None:
    assert names_in_order(["orders", "t1", "BB", "t0", "Aa"]) == ["BB", "Aa", "orders", "t0", "t1"]
