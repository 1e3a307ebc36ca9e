from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.commands.base.certification import Certification, as_folder
from groupproof.harness.commands.base.options import RunOptions
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.errors import WrongUsage

OPTIONS = RunOptions(
    profile=None, only=(), skip=(), level="must", seed=7, jobs=None, timeout=None, expect=(), fail_on=frozenset(), output=None, as_json=False
)
KNOWN = """
[[known]]
case = "heartbeat"
subject = ">=0"
verdict = "FAILED"
fingerprint = "abc"
reason = "is slow"
url = "https://example.com"
"""


def test_each_side_selects_among_its_own_cases() -> None:
    client, coordinator = (Certification(replace(OPTIONS, only=("heartbeat",)), side).cases for side in ("client", "coordinator"))

    assert {case.side for case in client} == {"client"}
    assert {case.side for case in coordinator} == {"coordinator"}


def test_what_is_wrong_is_reported_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="matches no case"):
        Certification(replace(OPTIONS, only=("heartbeet",)), "coordinator")
    with pytest.raises(WrongUsage, match="can't read the expectations"):
        Certification(replace(OPTIONS, expect=(tmp_path / "none.toml",)), "coordinator")


def test_the_known_failures_that_ship_give_way_to_the_users(tmp_path: Path) -> None:
    shipped, own = tmp_path / "shipped.toml", tmp_path / "own.toml"
    shipped.write_text(KNOWN)
    own.write_text(KNOWN.replace("heartbeat", "join"))

    plain, certification = Certification(OPTIONS, "coordinator"), Certification(replace(OPTIONS, expect=(own,)), "coordinator")
    for item in (plain, certification):
        item.known_from(shipped)

    cases = [
        [failure.case for failure in certification.run_config(profile="kafka-4.1", jobs=1).expectations.failures]
        for certification in (plain, certification)
    ]
    assert cases == [["heartbeat"], ["join"]]


def test_a_name_becomes_a_folder() -> None:
    assert as_folder("127.0.0.1:9092") == "127.0.0.1_9092"
    assert as_folder("..") == "subject"


def test_a_shard_takes_its_share_and_knows_what_the_others_have() -> None:
    whole = {case.id for case in Certification(OPTIONS, "client").cases}
    shards = [Certification(replace(OPTIONS, shard=Share(number=number, of=3)), "client") for number in (1, 2, 3)]
    configs = [shard.run_config(profile="kafka-4.1", jobs=1) for shard in shards]

    assert sorted(case.id for config in configs for case in config.cases) == sorted(whole)
    assert all({case.id for case in config.cases} | config.elsewhere == whole for config in configs)
    assert [str(config.shard) for config in configs] == ["1/3", "2/3", "3/3"]


def test_the_only_shard_of_one_is_the_whole() -> None:
    config = Certification(replace(OPTIONS, shard=Share(number=1, of=1)), "client").run_config(profile="kafka-4.1", jobs=1)

    assert (config.shard, config.elsewhere) == (None, frozenset())


def test_cases_are_dealt_out_by_ones_own_durations(tmp_path: Path) -> None:
    made = report({"heartbeat/classic/steady": ("OK", None)})
    made["cases"][0]["duration_s"] = 1_000_000.0
    (tmp_path / "report.json").write_text(json.dumps(made))
    options = replace(OPTIONS, shard=Share(number=1, of=2), durations=tmp_path)

    assert [case.id for case in Certification(options, "client").cases] == ["heartbeat/classic/steady"]


def test_a_baseline_is_of_the_same_side(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(report({"heartbeat/classic/steady": ("OK", None)})))
    options = replace(OPTIONS, baseline=tmp_path / "report.json", only=("heartbeat",), skip=("heartbeat/classic/steady",))

    config = Certification(options, "client").run_config(profile="kafka-4.1", jobs=1)

    assert config.baseline is not None
    assert config.baseline.name.endswith("report.json")
    assert (config.wanted.only, config.wanted.level, config.wanted.selected) == (("heartbeat",), "must", frozenset(case.id for case in config.cases))
    with pytest.raises(WrongUsage, match="is the report of a client, and has nothing about a coordinator"):
        Certification(options, "coordinator")
