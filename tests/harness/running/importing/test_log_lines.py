"""A line is read in every layout that brokers and clients log in."""

from __future__ import annotations

import pytest

from groupproof.harness.running.importing.log_lines import log_lines

AT_MS = 1_708_000_496_789.0
SAID = "[GroupCoordinator 0]: Startup complete."


@pytest.mark.parametrize(
    "line",
    [
        f"[2024-02-15 12:34:56,789] INFO {SAID} (kafka.coordinator.group.GroupCoordinator)",
        f"2024-02-15 12:34:56,789 INFO {SAID} (kafka.coordinator.group.GroupCoordinator) [main]",
        f"2024-02-15 12:34:56,789 [main] INFO kafka.coordinator.group.GroupCoordinator - {SAID}",
        f"broker_1  | [2024-02-15 12:34:56,789] INFO {SAID} (kafka.coordinator.group.GroupCoordinator)",
        f"2024-02-15T12:34:56.789Z INFO {SAID} (kafka.coordinator.group.GroupCoordinator)",
        f"2024-02-15T14:34:56.789+0200 INFO {SAID} (kafka.coordinator.group.GroupCoordinator)",
        f"2024-02-15 12:34:56.789000000 INFO {SAID} (kafka.coordinator.group.GroupCoordinator)\r\n",
    ],
    ids=["kafka", "strimzi", "slf4j", "compose", "iso", "zone", "nanos"],
)
def test_time_level_logger_and_words_are_found(line: str) -> None:
    (read,) = log_lines([line])

    assert (read.at_ms, read.is_dated, read.level, read.logger, read.message) == (
        AT_MS,
        True,
        "INFO",
        "kafka.coordinator.group.GroupCoordinator",
        SAID,
    )


def test_a_line_that_names_no_day_counts_from_midnight() -> None:
    (read,) = log_lines(["01:00:00.250 [main] WARN a.b.C - words"])

    assert (read.at_ms, read.is_dated, read.message) == (3_600_250.0, False, "words")


def test_what_belongs_to_the_line_before_is_left_out() -> None:
    lines = [
        "java.lang.Exception: no",
        "\tat a.b.C(D.java:1)",
        "",
        "[2024-02-15 12:34:56,789] ERROR x (y.z)",
        "[2024-13-45 99:34:56,789] INFO no such day (y.z)",
    ]

    assert [(log_line.number, log_line.message) for log_line in log_lines(lines)] == [(4, "x")]
