"""The snapshots of the resolved tables are committed and current, so that a delta's effect is seen in review."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.protocol.rules import profiles
from groupproof.protocol.rules.__main__ import main
from groupproof.protocol.rules.table_snapshots import SNAPSHOTS, printed, stale, write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_committed_snapshots_are_current() -> None:
    assert stale() == [], "run: python -m groupproof.protocol.rules"
    assert main(["--check"]) == 0


def test_a_changed_or_missing_or_needless_snapshot_is_reported(tmp_path: Path) -> None:
    write(tmp_path)
    assert stale(tmp_path) == []
    (tmp_path / "kafka-2.4.txt").write_text("")
    (tmp_path / "kafka-1.1.txt").unlink()
    (tmp_path / "kafka-0.7.txt").write_text("")

    assert stale(tmp_path) == ["kafka-0.7", "kafka-1.1", "kafka-2.4"]


@pytest.mark.parametrize("name", profiles())
def test_a_snapshot_has_a_line_for_every_row(name: str) -> None:
    text = printed(name)

    assert "SyncGroup/PreparingRebalance/stranger | STRANGER | 25 UNKNOWN_MEMBER_ID | TR-055 | - | - | -" in text.splitlines()
    assert "default group.initial.rebalance.delay.ms = 3000" in text.splitlines()
    assert (SNAPSHOTS / f"{name}.txt").is_file()
