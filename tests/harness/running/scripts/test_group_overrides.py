from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.harness.running.scripts.test_coordinator_stage import PROMPT, case
from tests.harness.subjects.brokers.unlike_brokers import unlike

from groupproof.coordinator.broker import broker as broker_module
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model import consumer_script_builders as consumer
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import ScriptStep
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.scripts.cluster_pool import cluster_spec_of, opened
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage
from groupproof.harness.running.scripts.group_overrides import BY_CASE
from groupproof.harness.subjects.brokers.reported_settings import described_configs
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.rules.consumer.group_configs import ASSIGNMENT_INTERVAL, MAX_SIZE, ConfigResource
from groupproof.protocol.vocabulary import Api

CONFIG = "consumer.assignment.interval.ms"
QUICK = {**PROMPT, ASSIGNMENT_INTERVAL: 0}
HAS = {**PROMPT, ASSIGNMENT_INTERVAL: 1_000}


def _case(*steps: ScriptStep, settings: Mapping[str, Any] = QUICK) -> Case:
    return case(*steps, id="join/consumer/x", settings=settings)


JOINS = _case(consumer.join("a"), consumer.join("b"))
"""The second member gets its partitions with its answer only where no pause lies between two targets (CGR-28)."""


def _played(one: Case, has: Mapping[str, Any] = HAS) -> tuple[Play, list[str | None]]:
    """Run the case on a running broker with the settings `has`; return its run, and the pause of its group afterwards, if it ran."""
    pauses: list[str | None] = []
    plays: list[Play] = []

    async def main() -> None:
        async with unlike([has], profile="kafka-4.4") as subject, opened(subject, cluster_spec_of(one), [one]) as cluster:
            stage = BrokerStage(subject=subject, spec=cluster_spec_of(one), cluster=cluster, profile="kafka-4.4", seed=1, token="x")
            play = await stage.play(one, key="c")
            plays.append(play)
            if group := next((obs.group for obs in play.trace if obs.group), None):
                async with cluster.where.asker_of(group) as asker:
                    configs = await described_configs(asker, ConfigResource.GROUP, group)
                assert not isinstance(configs, str)
                pauses.extend(config["value"] for config in configs if config["name"] == CONFIG)

    run_virtually(main, seed=1)
    return plays[0], pauses


def _why(play: Play) -> str:
    return next(str(obs.body["why"]) for obs in play.trace if obs.body.get("name") == "unmet")


def test_a_group_gets_the_pause_that_its_case_needs_and_loses_it_afterwards() -> None:
    play, pauses = _played(JOINS)
    ground = next(obs.body for obs in play.trace if obs.body.get("name") == "ground")
    assert (ground["settings"][ASSIGNMENT_INTERVAL], ground["sources"][ASSIGNMENT_INTERVAL]) == (0, BY_CASE)
    assert judge_script_run(JOINS, play.trace).verdict is Verdict.OK
    assert pauses == ["1000"]


def test_without_the_config_the_answers_would_be_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupproof.harness.running.scripts.group_overrides.configure_group", _do_nothing)
    monkeypatch.setattr("groupproof.harness.running.scripts.group_overrides._until_known", _do_nothing)
    assert judge_script_run(JOINS, _played(JOINS)[0].trace).verdict is Verdict.INFORMATIONAL


async def _do_nothing(*_: Any) -> None:
    return None


def test_a_broker_that_refuses_the_config_keeps_its_setting_unmet() -> None:
    play, _ = _played(JOINS, {**HAS, "group.consumer.min.assignment.interval.ms": 500})
    assert judge_script_run(JOINS, play.trace).verdict is Verdict.INCONCLUSIVE
    assert _why(play).startswith(f"{ASSIGNMENT_INTERVAL}=0: the broker has 1000, 0 is needed; group groupproof-")
    assert _why(play).endswith(f"can't be given {{'{CONFIG}': '0'}}: The group does not take these configs.")


@pytest.mark.slow
def test_a_coordinator_that_does_not_learn_of_the_config_keeps_its_setting_unmet(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = {"error_code": 0, "error_message": None, "resource_type": ConfigResource.GROUP.value, "resource_name": "g"}
    monkeypatch.setitem(broker_module._ANSWERS, Api.INCREMENTAL_ALTER_CONFIGS, lambda *_: {"responses": (accepted,)})
    assert _why(_played(JOINS)[0]).endswith("10 s after the broker accepted them")


def test_a_case_about_configs_of_groups_has_the_brokers_own() -> None:
    play, _ = _played(_case(consumer.configure("a", {"consumer.session.timeout.ms": "50000"})))
    assert _why(play) == f"{ASSIGNMENT_INTERVAL}=0: the broker has 1000, 0 is needed"


def test_where_something_else_is_lacking_too_only_that_is_reported_and_no_group_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupproof.harness.running.scripts.group_overrides.configure_group", None)
    play, _ = _played(_case(*map(consumer.join, "abc"), settings={**QUICK, MAX_SIZE: 2}), {**HAS, MAX_SIZE: 9})
    assert _why(play) == f"{MAX_SIZE}=2: the broker has 9, 2 is needed"
