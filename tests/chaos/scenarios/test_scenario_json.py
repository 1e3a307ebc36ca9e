from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.scenario_texts import HEAD, HEALED, carried_out, scenario

from groupproof.chaos.scenarios.random_scenarios import drawn
from groupproof.chaos.scenarios.scenario import RunMode, Scenario
from groupproof.chaos.scenarios.scenario_json import case_made_of, case_of_plan, case_of_scenario, scenario_from_json
from groupproof.chaos.scenarios.shipped_scenarios import shipped
from groupproof.harness.commands.base.boundary import run
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.model.case import plan_of
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.rejudge import rejudged, split
from groupproof.harness.running.schedule_file import load_schedule
from groupproof.protocol.trace import Trace, read_trace, write_trace

KILLED = '[[phase]]\nname = "p"\nactions = [{ do = "kill", who = "one" }]\nfor = 100\n'
UNSEEN = f'{HEAD}{KILLED}{HEALED}[[expect]]\nsays = "They notice."\nsees = "generations"\nwho = "others"\nduring = "p"\n'
NEVER = f"{HEAD}[settings_of.one]\nsession_timeout_ms = 100_000\n[durations]\nbound = {{ virtual = '1s', wire = '1s' }}\n{KILLED}{HEALED}members = 'others'\n"

MALFORMED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda origin: origin.pop("kind"), "kind"),
    (lambda origin: origin["scenario"].pop("healing"), "healing"),
    (lambda origin: origin["scenario"].update(surprise=1), "surprise"),
    (lambda origin: origin.update(members="many"), "many"),
    (lambda origin: origin.update(ground="moon"), "moon"),
    (lambda origin: origin["scenario"]["phases"][0]["actions"][0].update(who="nobody"), "nobody"),
    (lambda origin: origin.update(kind="plan", plan={}), "members"),
]


@pytest.mark.parametrize("mode", RunMode)
def test_every_scenario_comes_back_from_json_as_it_was(mode: RunMode) -> None:
    for item in (*shipped(), drawn(5, members=4), scenario(KILLED)):
        case = case_of_scenario(item, mode=mode, members=4)
        entry = json.loads(json.dumps(case.origin))

        assert scenario_from_json(entry["scenario"]) == item
        assert replace(case_made_of(case.id, entry), judges=()) == replace(case, judges=(), origin=entry | {"scenario": case.origin["scenario"]})  # type: ignore[index] # just made


def again(trace: Trace) -> Trace:
    """Return the trace as its file holds it."""
    (read,) = split(list(read_trace(write_trace(trace))))
    return read


@cache
def of_a_crash() -> Trace:
    return again(carried_out(case_of_scenario(scenario(KILLED), mode=RunMode.VIRTUAL))[0].trace)


@pytest.mark.parametrize("made", shipped()[:2], ids=lambda item: item.name)
def test_a_trace_alone_is_judged_as_its_case_was(made: Scenario) -> None:
    case = case_of_scenario(made, mode=RunMode.VIRTUAL)
    play, judgement = carried_out(case)
    (result,) = rejudged([again(play.trace)], (), UNIVERSAL)

    assert result.ruling == rule_on(case, [judgement])
    assert result.case.title == case.title


@pytest.mark.slow
@pytest.mark.parametrize(("text", "verdict"), [(UNSEEN, "INCONCLUSIVE"), (NEVER, "FAILED")])
def test_what_a_scenario_of_one_s_own_came_to_stands_in_its_traces(
    text: str, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    code = run(["chaos", "run", str(tmp_path / "mine.toml"), "--output", str(tmp_path / "out")])
    (reported,) = json.loads((tmp_path / "out" / "report.json").read_text())["cases"]
    capsys.readouterr()
    checked = run(["trace", "check", str(tmp_path / "out"), "--json"])
    (entry,) = json.loads(capsys.readouterr().out)

    assert entry["verdict"] == verdict
    assert checked == code
    assert {key: entry[key] for key in ("id", "verdict", "goodbye", "stability", "expected", "observed", "fingerprint")} == {
        key: reported[key] for key in ("id", "verdict", "goodbye", "stability", "expected", "observed", "fingerprint")
    }

    (plan,) = (tmp_path / "out").rglob("plan.json")
    (tmp_path / "mine.toml").unlink()
    assert (load_schedule(plan).origin or {})["scenario"]["name"] == "mine"
    assert run(["replay", str(plan)]) == (1 if verdict == "FAILED" else 2)
    assert f"{verdict} chaos/classic/mine" in capsys.readouterr().out


def test_a_plan_without_a_scenario_is_judged_by_whether_its_group_settles() -> None:
    case = case_of_plan("chaos/classic/x", plan_of(case_of_scenario(scenario(KILLED), mode=RunMode.VIRTUAL)))
    play, judgement = carried_out(case)
    (result,) = rejudged([again(play.trace)], (), UNIVERSAL)

    assert len(case.judges) == 1
    assert result.ruling == rule_on(case, [judgement])


@pytest.mark.parametrize(("spoil", "message"), MALFORMED)
def test_what_a_trace_does_not_tell_rightly_is_wrong_usage(spoil: Callable[[dict[str, Any]], object], message: str) -> None:
    first, *rest = of_a_crash()
    body = json.loads(json.dumps(first.body))
    spoil(body)

    with pytest.raises(WrongUsage, match=f"the trace of chaos/classic/a-crash can't be judged again: .*{message}"):
        rejudged([[replace(first, body=body), *rest]], (), UNIVERSAL)
