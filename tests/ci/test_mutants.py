"""Reading what mutmut prints, drawing the sample, and what counts: the mutants themselves are `make mutants`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import mutants
import pytest
from mutants import Survivor, changed, names_of, sampled, told, unexplained

ROOT = Path(__file__).parents[2]
DIFF = """# groupproof.coordinator.guards.x__oversized__mutmut_1: survived
--- src/groupproof/coordinator/guards.py
+++ src/groupproof/coordinator/guards.py
@@ -1,2 +1,2 @@
 def _oversized(on: Input) -> bool:
-    return len(on.here.members) > on.settings.group_max_size
+    return len(on.here.members) >= on.settings.group_max_size
"""
OVERSIZED = Survivor(
    function="groupproof.coordinator.guards._oversized",
    was="return len(on.here.members) > on.settings.group_max_size",
    now="return len(on.here.members) >= on.settings.group_max_size",
)


def test_results_are_read_line_by_line() -> None:
    printed = "    groupproof.coordinator.timers.xǁTimersǁdue__mutmut_2: no tests\nother words\n    groupproof.clients.core.x_f__mutmut_1: killed\n"

    assert names_of(printed) == {
        "groupproof.coordinator.timers.xǁTimersǁdue__mutmut_2": "no tests",
        "groupproof.clients.core.x_f__mutmut_1": "killed",
    }


def test_a_diff_says_what_a_mutant_changed_whatever_its_number() -> None:
    assert changed("groupproof.coordinator.guards.x__oversized__mutmut_1", DIFF) == OVERSIZED
    assert changed("groupproof.coordinator.guards.x__oversized__mutmut_7", DIFF) == OVERSIZED
    assert changed("groupproof.coordinator.timers.xǁTimersǁdue__mutmut_2", DIFF).function == "groupproof.coordinator.timers.Timers.due"


def test_a_seed_draws_the_same_sample_in_whatever_order_the_names_come() -> None:
    names = [f"m{number}" for number in range(100)]

    assert sampled(names, 10, 3) == sampled(reversed(names), 10, 3) != sampled(names, 10, 4)
    assert sorted(sampled(names, 1000, 3)) == sorted(names)


def test_an_explained_survivor_does_not_count_and_a_changed_one_does() -> None:
    explained = [{"function": OVERSIZED.function, "was": OVERSIZED.was, "now": OVERSIZED.now, "because": "never reached"}]

    assert unexplained([OVERSIZED], explained) == []
    assert unexplained([OVERSIZED], [explained[0] | {"now": "return True"}]) == [OVERSIZED]


@pytest.mark.parametrize(("killed", "code"), [(19, 0), (18, 1), (0, 1)])
def test_one_open_survivor_in_twenty_is_the_most(killed: int, code: int) -> None:
    lines, ended = told(killed, 3, [OVERSIZED])

    assert ended == code
    assert f"{killed} killed, 2 explained, 1 not" in lines[-1]
    assert OVERSIZED.now in lines[0]


def test_the_machines_are_there_and_each_explanation_says_why() -> None:
    paths = [ROOT / component / "groupproof" / component / f"{module}.py" for component, modules in mutants.MACHINES.items() for module in modules]

    assert [path for path in paths if not path.exists()] == []
    for each in tomllib.loads((ROOT / mutants.EXPLAINED).read_text()).get("explained", []):
        assert set(each) == {"function", "was", "now", "because"}
        assert len(each["because"].split()) > 3
