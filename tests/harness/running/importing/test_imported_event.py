"""Several files become one trace in the order of time."""

from __future__ import annotations

from groupproof.harness.running.importing.imported_event import ImportedEvent, merged

DAY_MS = 19_700 * 86_400_000.0


def test_files_are_merged_by_time_and_by_their_order_where_times_are_the_same() -> None:
    one = [
        ImportedEvent(at_ms=DAY_MS + 5, kind="event", columns={"detail": "a"}),
        ImportedEvent(at_ms=DAY_MS + 20, kind="event", columns={"detail": "d"}),
    ]
    two = [
        ImportedEvent(at_ms=DAY_MS + 5, kind="event", columns={"detail": "b"}),
        ImportedEvent(at_ms=DAY_MS + 9, kind="event", columns={"detail": "c"}),
    ]
    trace = merged([one, two], run="logs")

    assert [obs.detail for obs in trace[1:]] == ["a", "b", "c", "d"]
    assert [(obs.seq, obs.at_ms) for obs in trace] == [(0, 0), (1, 0), (2, 0), (3, 4), (4, 15)]
    assert trace[0].body == {"name": "clock", "epoch_ms": round(DAY_MS) + 5}


def test_lines_without_a_day_are_of_the_day_on_which_the_dated_begin() -> None:
    trace = merged(
        [[ImportedEvent(at_ms=DAY_MS + 1_000, kind="event")], [ImportedEvent(at_ms=900, is_dated=False, kind="event", columns={"who": "member"})]],
        run="logs",
    )

    assert [(obs.who, obs.at_ms) for obs in trace[1:]] == [("member", 0), ("coordinator", 100)]


def test_nothing_reported_is_no_trace() -> None:
    assert merged([[], []], run="logs") == []


def test_connections_of_different_files_stay_apart() -> None:
    files = [[ImportedEvent(at_ms=DAY_MS + number, kind="request", columns={"connection": number}) for number in (1, 2)] for _ in range(3)]
    trace = merged([*files, [ImportedEvent(at_ms=DAY_MS + 9, kind="event", columns={"connection": None})]], run="logs")

    assert [obs.connection for obs in trace[1:]] == [1, 3, 5, 2, 4, 6, None]
