from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from groupproof.harness.cli.certifying import Certification, as_folder
from groupproof.harness.cli.options import RunOptions
from groupproof.harness.troubles import WrongUsage

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


def test_what_is_wrong_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="matches no case"):
        Certification(replace(OPTIONS, only=("heartbeet",)), "coordinator")
    with pytest.raises(WrongUsage, match="can't read the expectations"):
        Certification(replace(OPTIONS, expect=(tmp_path / "none.toml",)), "coordinator")


def test_the_known_failures_that_ship_give_way_to_the_users(tmp_path: Path) -> None:
    shipped, own = tmp_path / "shipped.toml", tmp_path / "own.toml"
    shipped.write_text(KNOWN)
    own.write_text(KNOWN.replace("heartbeat", "join"))

    plain, told = Certification(OPTIONS, "coordinator"), Certification(replace(OPTIONS, expect=(own,)), "coordinator")
    for each in (plain, told):
        each.known_from(shipped)

    cases = [[known.case for known in each.order(profile="kafka-4.1", jobs=1).expectations.known] for each in (plain, told)]
    assert cases == [["heartbeat"], ["join"]]


def test_a_name_becomes_a_folder() -> None:
    assert as_folder("127.0.0.1:9092") == "127.0.0.1_9092"
    assert as_folder("..") == "subject"
