"""A rehearsal as text."""

from __future__ import annotations

from groupproof.harness.reports.texts.rehearsal_text import advice_lines, exercise_lines, heading
from groupproof.harness.simulation.rehearsal.rehearsed_settings import settings_of
from groupproof.harness.simulation.rehearsal.setting_advice import Advice, Rehearsal
from groupproof.harness.simulation.rehearsal.work_meter import Cost


def _cost(worst_ms: int, sum_ms: int, rebalances: int, reread: int) -> Cost:
    return Cost(unowned_worst_ms=worst_ms, unowned_ms=sum_ms, rebalances=rebalances, reread=reread)


def test_the_heading_says_what_is_rehearsed() -> None:
    classic = settings_of({"group.id": "orders", "group.instance.id": "a"}, "kafka-3.7")
    newer = settings_of({"group.protocol": "consumer"}, "kafka-4.1")

    assert heading(classic, 7) == "orders: 6 static members, 12 partitions, classic protocol, range then cooperative-sticky, kafka-3.7, seed 7"
    assert heading(newer, 1) == "my-group: 6 members, 12 partitions, consumer protocol, the broker's assignor, kafka-4.1, seed 1"


def test_an_exercise_has_a_line_with_its_figures() -> None:
    rehearsal = Rehearsal(settings_of({"rehearse.members": "2", "rehearse.partitions": "2"}, "kafka-4.1"), ["gc-pause"], 1)
    *_, line = exercise_lines(rehearsal)

    assert line.split() == ["gc-pause", "20.0", "s", "20.0", "s", "0", "0"]


def test_advice_has_the_figures_that_differ_and_what_it_costs_elsewhere() -> None:
    advice = Advice(
        exercise="node-lost", changes={"session.timeout.ms": 10_000, "group.instance.id": ""}, before=_cost(45_000, 90_000, 1, 5),
        after=_cost(10_000, 20_000, 1, 5), elsewhere={"gc-pause": (_cost(0, 0, 0, 0), _cost(0, 0, 2, 40))},
    )  # fmt: skip

    assert list(advice_lines([advice])) == [
        "node-lost:",
        "  session.timeout.ms=10000, group.instance.id=(none)",
        "    worst 45.0 s -> 10.0 s, sum 90.0 s -> 20.0 s",
        "    gc-pause: rebalances 0 -> 2, read again 0 -> 40",
    ]
    assert list(advice_lines([])) == ["No other setting that was tried measures better."]
