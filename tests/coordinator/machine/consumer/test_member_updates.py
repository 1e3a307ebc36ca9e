from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last

NEWEST = "kafka-4.4"


def test_only_what_changes_the_subscription_bumps_the_group_epoch() -> None:
    def bumps(change: str, profile: str = NEWEST) -> int | None:
        return last(profile, "A join names=t,u", "wait 1100", "epoch", f"A beat {change}", "bumps").bumps

    assert [bumps(change) for change in ("names=u,t", "rack=r", "timeout=1", "client=x", "assignor=uniform")] == [0, 0, 0, 0, 0]
    assert [bumps(change) for change in ("names=t", "names=[]", "assignor=range")] == [1, 1, 1]
    assert bumps("assignor=range", "kafka-4.3") == 0


def test_a_regex_that_is_resolved_already_counts_at_once_and_a_new_one_when_it_is() -> None:
    first = ("A join names=null regex=rx.*", "wait 1100", "A beat", "A beat owned=own", "wait 1100")

    assert last(NEWEST, *first, "epoch", "B join names=null regex=rx.*", "bumps").bumps == 1
    other = (*first, "epoch", "B join names=null regex=r.*")
    assert last(NEWEST, *other, "wait 100", "B beat", "wait 100", "bumps").bumps == 0, "10 s must pass from one resolution to the next (CGX-28)"
    assert last(NEWEST, *other, "wait 10000", "B beat", "wait 100", "bumps").bumps == 1


def test_a_regex_in_place_of_the_only_one_is_resolved_with_the_next_heartbeat() -> None:
    """What the old one matched is gone once its record is replayed, and with it the time of the last resolution (`maybeUpdateRegularExpressions`)."""
    changed = ("A join names=null regex=rx.*", "wait 1100", "A beat", "A beat owned=own", "epoch", "A beat regex=r.*", "wait 1100")

    assert last("kafka-4.1", *changed, "bumps").bumps == 0
    assert last("kafka-4.1", *changed, "A beat owned=own", "wait 100", "bumps").bumps == 1
    assert last("kafka-4.1", *changed[:3], "wait 10000", *changed[4:], "bumps").bumps == 1, "unless the last resolution is long ago"


def test_the_old_instance_id_of_a_member_leads_nowhere_since_4_4() -> None:
    lines = ("S join instance=i", "S join instance=j", "S beat instance=i")

    assert (last("kafka-4.3", *lines).code, last("kafka-4.4", *lines).code) == (0, 25)


def test_a_member_without_an_id_is_given_one_in_version_0() -> None:
    assert last(NEWEST, "- join version=0").code == 0


def test_who_joins_by_an_expression_and_names_another_assignor_bumps_at_once_since_4_4() -> None:
    """Fuzzing of 4.4.0 found it; whoever joins by names bumps in any case."""
    assert [_epoch_after_a_join(profile, assignor) for profile in ("kafka-4.3", NEWEST) for assignor in ("uniform", "range")] == [1, 1, 1, 2]


def _epoch_after_a_join(profile: str, assignor: str) -> int:
    player = Player(profile)
    player.group = "g"
    player.play("-", ["A", "join", "names=null", "regex=none", f"assignor={assignor}"])
    return int(player._described("g").group_epoch)


@pytest.mark.parametrize(("profile", "member", "bumps"), [("kafka-4.3", "A", 0), (NEWEST, "A", 1), (NEWEST, "B", 0)])
def test_of_two_assignors_that_are_level_every_heartbeat_for_the_second_bumps_since_4_4(profile: str, member: str, bumps: int) -> None:
    """The group and the copy that a heartbeat works on are two kinds of maps, with another order (`hasPreferredServerAssignorChanged`); fuzzing of 4.4.0 found it."""
    level = ("A join assignor=range", "wait 1100", "B join assignor=uniform", "wait 1100", "epoch")

    assert last(profile, *level, f"{member} beat", "bumps").bumps == bumps
    assert last(profile, *level, f"{member} beat", f"{member} beat", "bumps").bumps == 2 * bumps


def test_who_comes_for_an_instance_has_its_rack() -> None:
    player = Player(NEWEST, group="g")
    for line in ("S join instance=i rack=r1", "S away instance=i", "T join instance=i"):
        player.play("-", line.split(" "))
    (described,) = player._described("g").members

    assert (described.instance_id, described.rack_id) == ("i", "r1")
