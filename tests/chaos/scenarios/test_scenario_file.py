from __future__ import annotations

from pathlib import Path

import pytest
from tests.chaos.scenario_texts import HEAD, HEALED, scenario

from groupproof.chaos.scenarios.scenario import Action, Duration, Expectation, Fault, Healing, Phase
from groupproof.chaos.scenarios.scenario_file import BadScenario, load_scenario, read_scenario

FULL = """
[[phase]]
name = "faulty"
faults = [
  { name = "cut-off", kind = "partition", between = ["brokers", "minority"], lasts = true },
  { kind = "hold", api = "JoinGroup", direction = "response", who = "one", for = "blink", optional = true },
]
actions = [{ do = "commit", who = "one" }, { do = "wait", for = 250 }]
until = { answered = "Heartbeat", who = "one", error = "UNKNOWN_MEMBER_ID", within = "moment" }
"""
AFTER = """
members = "others"
still = 500
requirement = "TRIG-03"

[durations]
blink = { virtual = "1500ms", wire = 10 }

[[expect]]
says = "Somebody notices."
sees = "answered"
error = [25, "ILLEGAL_GENERATION"]
who = "others"
during = "faulty"
"""


def test_a_file_says_all_of_a_scenario() -> None:
    read = scenario(FULL, after=AFTER)

    assert (read.name, read.title, read.story, read.requirements) == ("a-crash", "A crash", "An instance dies.", ("TRIG-03",))
    assert read.case_id == "chaos/classic/a-crash"
    assert read.durations["blink"] == Duration(virtual_ms=1_500, wire_ms=10)
    assert read.phases == (
        Phase(
            name="faulty",
            faults=(
                Fault(name="cut-off", kind="partition", who="minority", lasts=True),
                Fault(
                    name="hold-2", kind="hold", who="one", optional=True, how={"api": "JoinGroup", "direction": "response", "for": "blink"}
                ),
            ),
            actions=(Action(do="commit", who="one"), Action(do="wait", how={"for": 250})),
            until={"answered": "Heartbeat", "who": "one", "error": "UNKNOWN_MEMBER_ID", "within": "moment"},
        ),
    )  # fmt: skip
    assert read.healing == Healing(name="healed", within="bound", members="others", still=500, requirement="TRIG-03")
    assert read.expect == (Expectation(says="Somebody notices.", sees="answered", errors=(25, 22), who="others", during="faulty"),)


def phase(text: str) -> str:
    return f'[[phase]]\nname = "p"\n{text}\n'


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (phase('faults = [{ kind = "hodl", api = "JoinGroup" }]'), r"phase 'p', fault 1: there is no kind of fault 'hodl'; did you mean hold"),
        (phase('faults = [{ kind = "hold" }]'), "phase 'p', fault 1: hold needs api"),
        (phase('faults = [{ kind = "hold", api = "JoinGruop" }]'), "phase 'p', fault 1: there is no API 'JoinGruop'; did you mean JoinGroup"),
        (phase('faults = [{ kind = "down", latency = 3 }]'), "phase 'p', fault 1: down has no field 'latency'"),
        (phase('faults = [{ kind = "answer", api = "Heartbeat", error = "REBALANCING" }]'), "there is no error 'REBALANCING'; did you mean REBALANCE"),
        (phase('faults = [{ kind = "down", name = "x" }, { kind = "reset", name = "x" }]'), "phase 'p', fault 2: another fault is called 'x'"),
        (phase('faults = [{ kind = "slow", latency = "long" }]'), "latency: there is no duration 'long'; there are session"),
        (phase('faults = [{ kind = "down", between = ["one", "others"] }]'), 'between names the brokers and some members, \\["brokers"'),
        (phase('faults = [{ kind = "down", who = "everyone" }]'), "there is no group of members called 'everyone'"),
        (phase('actions = [{ do = "kil", who = "one" }]'), "phase 'p', action 1: there is no action 'kil'; did you mean kill"),
        (phase('actions = [{ do = "kill" }]'), "phase 'p', action 1: kill needs who"),
        (phase('actions = [{ do = "kill", who = "joiner" }]'), "joiner are members that come later; say how many there are: joiners = 1"),
        (phase('actions = [{ do = "kill", who = "twin" }]'), "there is no twin; say twin = true"),
        (phase('actions = [{ do = "mend", fault = "x" }]'), "phase 'p', action 1: there is no fault so far 'x'; there are none"),
        (phase('actions = [{ do = "wait" }]'), "wait says for how long: for"),
        (phase('until = { who = "one" }'), "until waits for one of settled, delivered, sent, answered, told, not for who"),
        (phase('until = { settled = "all", sent = "JoinGroup" }'), "not for settled and sent"),
        (phase('until = { settled = "all", count = 2 }'), "until settled has no field 'count'"),
        (phase('converges_within = "bound"'), "phase 'p': converges_within belongs to the last phase"),
        (phase('for = "ages"'), "phase 'p': for: there is no duration 'ages'"),
        (phase("") + phase(""), "two phases have the same name"),
        (phase('faults = [{ kind = "hold", api = "JoinGroup", nth = 0 }]'), "phase 'p'/faults/0/nth: 0 is less than the minimum of 1"),
        (phase("colour = 3"), "phase 'p': .*'colour' was unexpected"),
    ],
)  # fmt: skip
def test_what_a_scenario_does_not_know_is_refused_with_its_place_and_the_nearest_right_names(wrong: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        scenario(wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("converges_within = 3", "it is no TOML: .*line"),
        ('title = "x"', "it is no TOML"),
        ("settings = { session_timeout_ms = 'sesion' }", "session_timeout_ms: there is no duration 'sesion'; did you mean session"),
        ("settings_of = { somebody = { x = 1 } }", "there is no group of members called 'somebody'"),
        ("durations = { d = { virtual = '3 hours', wire = '1s' } }", "durations/d/virtual: '3 hours' does not match"),
    ],
)
def test_the_head_is_checked_too(wrong: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        scenario(phase(""), head=wrong if "converges" not in wrong else "[[")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('[[expect]]\nsays = "x"\nsees = "smelt"', "expect 1: there is no sight 'smelt'"),
        ('[[expect]]\nsays = "x"\nsees = "sent"', "expect 1: to see what is sent it needs api"),
        ('[[expect]]\nsays = "x"\nsees = "sent"\napi = "JoinGroup"\nduring = "heald"', "there is no phase 'heald'; did you mean healed"),
        ('[[expect]]\nsays = "x"\nsees = "generations"\nrequirement = "TRIG-99"', "expect 1: no requirement TRIG-99; did you mean TRIG"),
        ("faults = []", "phase 'healed': the last phase heals everything, and has no faults"),
    ],
)
def test_the_healing_and_what_is_expected_are_checked_too(wrong: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        scenario(phase(""), after=wrong)


def test_the_last_phase_says_within_which_time_the_group_settles() -> None:
    with pytest.raises(BadScenario, match="phase 'end': the last phase says within which time the group has to settle: converges_within"):
        read_scenario("x", HEAD + phase("") + '[[phase]]\nname = "end"\n')


def test_a_requirement_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadScenario, match="the head: no requirement TRIG-77"):
        read_scenario("x", HEAD.replace("TRIG-03", "TRIG-77") + phase("") + HEALED)


def test_a_file_is_named_where_it_is_wrong(tmp_path: Path) -> None:
    good, bad = tmp_path / "my-own.toml", tmp_path / "bad.toml"
    good.write_text(HEAD + phase("") + HEALED)
    bad.write_text(HEAD)

    assert load_scenario(good).name == "my-own"
    with pytest.raises(BadScenario, match=r"bad\.toml: scenario: 'phase' is a required property"):
        load_scenario(bad)
    with pytest.raises(BadScenario, match=r"can't read the scenario .*none\.toml: No such file"):
        load_scenario(tmp_path / "none.toml")
    with pytest.raises(BadScenario, match="called by its file's name"):
        read_scenario("My scenario", HEAD)
