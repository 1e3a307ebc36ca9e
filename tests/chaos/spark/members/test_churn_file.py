from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.chaos.spark.members.churn_file import BadChurn, check_member, churn_named, read_churn, shipped
from groupproof.chaos.spark.members.churn_plan import Action, Span

HEAD = 'title = "t"\n[[phase]]\naction = "start"\nat = "0%"\n'


def test_what_the_issue_names_ships() -> None:
    names = {churn.name for churn in shipped()}

    assert {"steady", "ramp", "flapping", "rolling-restart", "third-dies", "join-storm", "slow-pollers", "zombies"} <= names
    assert all(churn.story and churn.title for churn in shipped())
    storm = churn_named("join-storm")
    assert storm.phases[0].spread.seconds(60) * 1000 < storm.coordinator["group.initial.rebalance.delay.ms"]
    slow = churn_named("slow-pollers")
    assert slow.phases[1].lasts.seconds(60) * 1000 > slow.member["max_poll_interval_ms"]


def test_spans_are_times_or_shares_of_the_run() -> None:
    churn = read_churn("p", HEAD + 'spread = "250ms"\nshare = "33.4%"\nwaves = 2\n')

    phase = churn.phases[0]
    assert (phase.action, phase.spread, round(phase.share, 6), phase.waves) == (Action.START, Span(0.25), 0.334, 2)
    assert phase.at.seconds(60) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "it is no TOML"),
        ('title = "t"', "the head: it needs phase"),
        (HEAD + 'shar = "1%"', r"phase 1: there is no field 'shar'; did you mean share"),
        (HEAD + 'spread = "soon"', r"spread is a span of time"),
        (HEAD + 'share = "0%"', r'share is a part of the members, "33%"'),
        (HEAD + 'lasts = "1s"', "start does not last"),
        (HEAD + "waves = -1", "waves is a whole number"),
        (HEAD.replace("start", "strat"), r"there is no action 'strat'; did you mean start"),
        (HEAD.replace("start", "die"), "no member is ever started"),
        (HEAD + '[[phase]]\naction = "stall"\nat = "1s"', "stall says for how long: lasts"),
        (HEAD + '[[fault]]\nat = "1s"\nfor = "1s"', "it strikes either frames"),
        (HEAD + '[[fault]]\nat = "1s"\nfor = "1s"\nimpair = { kind = "latncy" }', "impair: not a toxic"),
        (HEAD + "[member]\nsesion_timeout_ms = 1", r"member: there is no field 'sesion_timeout_ms'; did you mean session_timeout_ms"),
        (HEAD + "[member]\nsession_timeout_ms = 1", "member: heartbeat.interval.ms .* must be lower"),
        ("phase = 3\n" + 'title = "t"', r"phase is written as \[\[phase\]\]"),
    ],
)
def test_what_is_no_plan_is_refused_in_a_line(text: str, message: str) -> None:
    with pytest.raises(BadChurn, match=message) as raised:
        read_churn("p", text)

    assert "\n" not in str(raised.value)


def test_faults_are_read_with_the_plan() -> None:
    frames = '[[fault]]\nat = "10%"\nfor = "5s"\nframes = "Heartbeat,drop"\n'
    way = '[[fault]]\nat = "50%"\nfor = "5s"\nimpair = { kind = "latency", latency = 200 }\n'

    churn = read_churn("p", HEAD + frames + way)

    assert [dict(outside_fault) for _, _, outside_fault in churn.outside_faults] == [
        {"fault": "Heartbeat,drop"},
        {"impair": {"kind": "latency", "latency": 200}},
    ]


def test_a_wrong_name_is_answered_with_the_nearest_and_a_file_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(BadChurn, match="did you mean third-dies"):
        churn_named("third-die")
    own = tmp_path / "own.toml"
    with pytest.raises(BadChurn, match=r"can't read the plan of churn .*own\.toml: No such file"):
        churn_named(str(own))
    own.write_text(HEAD)
    assert churn_named(str(own)).name == "own"
    own.write_text(HEAD + "x = 1")
    with pytest.raises(BadChurn, match=r"own\.toml: phase 1"):
        churn_named(str(own))


def test_settings_on_the_command_line_are_checked_too() -> None:
    assert check_member("--set", {"session_timeout_ms": 10_000}) == {"session_timeout_ms": 10_000}
    with pytest.raises(BadChurn, match="--set: there is no field 'group'"):
        check_member("--set", {"group": "x"})
    with pytest.raises(BadChurn, match="--set: session_timeout_ms: Expected `int`, got `str`"):
        check_member("--set", {"session_timeout_ms": "soon"})
