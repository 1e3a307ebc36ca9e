"""What `groupproof watch` shows: the worst group first, how sure a cause is, and metrics in the form that Prometheus reads."""

from __future__ import annotations

import io

from rich.console import Console
from tests.harness.judging.topic_history.stories import Story, member

from groupproof.harness.judging.topic_history.group_health import GroupHealth, health_of
from groupproof.harness.reports.texts.watch_text import history_of, metrics_of, rebalance_line, table_of
from groupproof.protocol.wire.offsets_topic import Tally


def _stormy() -> GroupHealth:
    story = Story()
    story.commit(0, 0)
    for number in range(1, 7):
        story.generation(number, number, member("a-1"), member(f"b-{number}", (1,), host="/10.0.0.9"), joined_s=number - 0.25)
    story.commit(9, 0, 1, offset=42)
    return health_of(story.group, 10_000)


def _watch_text(*groups: GroupHealth) -> str:
    written = io.StringIO()
    Console(width=220, file=written).print(table_of(groups, "2 groups"))
    return written.getvalue()


def test_the_worst_group_comes_first_with_what_is_wrong() -> None:
    calm = Story()
    calm.generation(0, 1, member("a-1"))
    healthy = health_of(calm.group, 1_000)
    calm.group.group = "aaa"
    text = _watch_text(healthy, _stormy())

    assert text.index("storm: 6") < text.index("aaa")
    assert "left b?" in text
    assert "first-member a" in text


def test_a_line_says_how_sure_a_cause_is_and_what_would_look_the_same() -> None:
    first, second = _stormy().group.rebalances[:2]

    assert rebalance_line(first) == (
        "1970-01-01 00:00:01 g ? → 1: first-member (the group was empty and a member joined), certain; sync phase 250 ms"
    )
    assert rebalance_line(second).startswith("1970-01-01 00:00:02 g 1 → 2: ")
    assert "likely, or " in rebalance_line(second)


def test_the_history_of_a_group_has_its_members_its_rebalances_and_its_problems() -> None:
    lines = list(history_of(_stormy()))

    assert lines[0] == "group g, classic: Stable, generation 6, 2 members; from its beginning"
    assert "b at 10.0.0.9: 1 partitions, there since 1970-01-01 00:00:06" in lines[2]
    assert sum(" → " in line for line in lines) == 6
    assert lines[-2] == "  problem  storm: 6 rebalances"


def test_metrics_are_in_prometheus_form_with_names_that_people_have_dashboards_for() -> None:
    tally = Tally()
    tally.unreadable["type 99"] = 2
    text = metrics_of([_stormy()], tally, 3)

    assert '# TYPE kafka_consumergroup_members gauge\nkafka_consumergroup_members{consumergroup="g"} 2\n' in text
    assert 'kafka_consumergroup_current_offset{consumergroup="g",topic="t",partition="1"} 42\n' in text
    assert 'groupproof_group_storm{consumergroup="g"} 1\n' in text
    assert 'groupproof_group_last_rebalance_seconds{consumergroup="g"} 6\n' in text
    assert 'groupproof_records_unreadable_total{reason="type 99"} 2\n' in text
    assert text.endswith("groupproof_records_behind 3\n")


def test_a_group_whose_name_has_quotes_breaks_no_line_of_the_metrics() -> None:
    story = Story()
    story.generation(0, 1, member("a-1"))
    story.group.group = 'a "b"\n\\c'

    assert 'kafka_consumergroup_members{consumergroup="a \\"b\\"\\n\\\\c"} 1\n' in metrics_of([health_of(story.group, 0)], Tally(), 0)
