from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.pytest_plugin.made import CASE, SUBJECT, options

from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.errors import WrongUsage


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"named": "kafka-pyton"}, "kafka-python"),
        ({"profile": "kafka-4.9"}, "did you mean kafka-4.4"),
        ({"only": ("heartbeet/classic",)}, "did you mean heartbeat/classic"),
        ({"side": "coordinator", "named": "kfaek"}, "did you mean kfake"),
        ({"expect": (Path("nowhere.toml"),)}, "can't read the expectations nowhere.toml"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(changed: dict[str, object], message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        RunPlan.of(options(**changed))


def test_a_node_id_narrows_what_the_file_selects() -> None:
    chosen = RunPlan.of(options(only=("heartbeat", "join")), [CASE.id])

    assert [case.id for case in chosen.cases] == [CASE.id]
    assert len(RunPlan.of(options(only=("heartbeat", "join"))).cases) > 1


def test_the_cases_of_both_protocols_are_collected_where_the_brokers_speak_both() -> None:
    def dialects(profile: str | None) -> set[str]:
        return {dialect_of_case(case.id) for case in RunPlan.of(options(profile=profile)).cases}

    assert dialects(None) == dialects("kafka-4.1") == {"classic", "consumer"}
    assert dialects("kafka-3.9") == {"classic"}


def test_the_report_goes_where_certify_puts_it_by_default() -> None:
    assert RunPlan.of(options()).output(SUBJECT) == Path("reports/odd-1.2")
    assert RunPlan(options=options(output=Path("out")), cases=(), expectations=RunPlan.of(options()).expectations).output(SUBJECT) == Path("out")
