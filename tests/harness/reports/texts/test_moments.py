from __future__ import annotations

from groupproof.harness.reports.texts.moments import moment


def test_a_time_is_on_the_calendar_where_the_trace_tells_when_it_began() -> None:
    assert moment(1_234.5, None) == "1.234 s"
    assert moment(1_234.5, 1_700_000_000_000) == "2023-11-14 22:13:21.234"
