from __future__ import annotations

from pathlib import Path

import pytest
from tests.chaos.scenario_texts import HEAD, HEALED

from groupproof.chaos.scenarios.shipped_scenarios import chosen, shipped
from groupproof.harness.model.errors import WrongUsage

FILE = f'{HEAD}[[phase]]\nname = "p"\n{HEALED}'


def names(*named: str) -> list[str]:
    return [scenario.name for scenario in chosen(named)]


def test_scenarios_are_named_each_by_itself_by_glob_or_all() -> None:
    assert names("slow-joiner", "chaos/classic/split-network") == ["slow-joiner", "split-network"]
    assert names("rolling-restart-*") == [f"rolling-restart-{how}-{who}" for how in ("cooperative", "eager") for who in ("dynamic", "static")]
    assert len(names("all", "slow-joiner")) == len(shipped()) >= 30


def test_a_users_own_file_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)

    assert names(str(path), "slow-joiner") == ["mine", "slow-joiner"]


def test_two_of_one_name_are_not_merged(tmp_path: Path) -> None:
    path = tmp_path / "slow-joiner.toml"
    path.write_text(FILE)

    with pytest.raises(WrongUsage, match="two scenarios are called 'slow-joiner'"):
        chosen(["slow-joiner", str(path)])


def test_a_wrong_name_is_answered_with_the_nearest_right_ones() -> None:
    with pytest.raises(WrongUsage, match="no scenario is called 'slow-joner'; did you mean slow-joiner"):
        chosen(["slow-joner"])
