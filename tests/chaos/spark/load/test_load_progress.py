from __future__ import annotations

import io

from rich.console import Console

from groupproof.chaos.spark.load.load_progress import Figures, figures_of, watched
from groupproof.chaos.spark.load.task_channel import Task


def task(number: int, groups: dict[str, list[int]], *, is_there: bool = True, **counts: object) -> Task:
    return Task(number=number, attempt=0, is_there=is_there, counts={"groups": groups, **counts})


def test_a_group_is_stable_when_all_that_are_there_are_settled_in_its_newest_generation() -> None:
    settled = [task(0, {"g": [3, 2, 2, 0]}), task(1, {"g": [3, 2, 2, 0]})]
    behind = [task(0, {"g": [3, 2, 2, 0]}), task(1, {"g": [2, 2, 2, 0]})]

    assert (figures_of(settled, 1.0).stable, figures_of(settled, 1.0).members) == (1, 4)
    assert (figures_of(behind, 1.0).stable, figures_of(behind, 1.0).rebalances) == (0, 3)
    assert figures_of(reversed(behind), 1.0).stable == 0


def test_a_group_whose_members_have_no_frames_is_stable_when_all_partitions_are_assigned() -> None:
    """librdkafka calls no callback for an empty assignment, so that a member without partitions never reports that it is settled."""
    complete = [task(0, {"g": [0, 2, 0, 2]}), task(1, {"g": [0, 1, 0, 1]})]

    assert figures_of(complete, 1.0, partitions=3).stable == 1
    assert figures_of(complete[:1], 1.0, partitions=3).stable == 0
    assert figures_of([task(0, {"g": [0, 0, 0, 0]})], 1.0, partitions=0).stable == 0


def test_a_lost_tasks_members_are_gone_and_its_counts_stay() -> None:
    gone = task(1, {"g": [3, 2, 2, 0]}, is_there=False, heartbeats=7, errors={"UNKNOWN_MEMBER_ID": 2})
    gone.lost = 1

    figures = figures_of([task(0, {"g": [4, 2, 2, 0]}, heartbeats=5), gone], 2.0, Figures(at_s=1.0, heartbeats=8))

    assert (figures.members, figures.stable, figures.heartbeats, figures.tasks_lost) == (2, 1, 12, 1)
    assert figures.heartbeats_per_s == 4.0
    assert figures.errors == {"UNKNOWN_MEMBER_ID": 2}


def test_elsewhere_than_on_a_terminal_it_is_a_line_now_and_then() -> None:
    out = io.StringIO()
    with watched(Console(file=out, width=80)) as display:
        for second in range(12):
            display.figures(Figures(at_s=float(second), members=3, groups=1, stable=1, errors={"A": 1}))
        display.line("a [note]")

    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[0].strip() == "0.0 s  members 3, groups stable 1/1, rebalances 0, heartbeats 0/s, commits 0, rows 0, errors: A 1"
    assert lines[-1] == "a [note]"


def test_on_a_terminal_it_is_a_table() -> None:
    out = io.StringIO()
    with watched(Console(file=out, force_terminal=True, width=80)) as display:
        display.figures(Figures(at_s=2.0, members=1000, errors={"REBALANCE_IN_PROGRESS": 9}))
        display.line("a task is gone")

    assert "1000" in out.getvalue()
    assert "REBALANCE_IN_PROGRESS" in out.getvalue()
    assert "a task is gone" in out.getvalue()
