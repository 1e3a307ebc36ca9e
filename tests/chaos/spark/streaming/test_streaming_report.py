from __future__ import annotations

from pathlib import Path

from tests.chaos.spark.streaming.test_streaming_verdict import SHARED, played, read

from groupproof.chaos.spark.streaming.streaming_report import TRACE, judged
from groupproof.protocol.trace import read_trace


def test_a_scenario_is_judged_by_the_trace_that_it_leaves(tmp_path: Path) -> None:
    outcome = judged(played("shared-group", SHARED, read("a", 0, 1), read("b", 1)), tmp_path / "one")

    assert list(read_trace((tmp_path / "one" / TRACE).read_text("utf-8").splitlines())) == SHARED
    assert [result.case.id for result in outcome.judged] == ["observed/classic/g", "laws/classic/g"]
