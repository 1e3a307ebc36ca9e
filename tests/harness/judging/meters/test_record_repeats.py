"""Records given twice and records given to nobody, by offset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.meters.record_repeats import Records, Spans


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=25))
def test_spans_know_what_a_set_of_numbers_would_know(added: list[tuple[int, int]]) -> None:
    spans, numbers = Spans(), set[int]()
    for first, length in added:
        new = set(range(first, first + length + 1))
        assert spans.add(first, first + length) == len(new & numbers)
        numbers |= new

    assert spans.missing == (len(set(range(min(numbers), max(numbers) + 1)) - numbers) if numbers else 0)
    assert all(before[1] + 1 < after[0] for before, after in zip(spans.spans, spans.spans[1:], strict=False))


def test_an_empty_span_adds_nothing() -> None:
    assert Spans().add(5, 4) == 0


def _consume(story: Story, ms: float, client: str, first: int, last: int) -> None:
    listed = [{"topic": "t", "partition": 0, "minOffset": first, "maxOffset": last, "count": last - first + 1}]
    story.add(ms, "event", who="shim", client=client, group=None, body={"name": "records_consumed", "partitions": listed})


def test_duplicates_are_laid_to_who_was_given_them_second_and_losses_to_nobody() -> None:
    story = Story()
    _consume(story, 0, "m0", 0, 9)
    _consume(story, 1, "m1", 5, 14)
    _consume(story, 2, "m1", 20, 24)
    meter = Records()
    for obs in story.trace:
        meter.feed(obs)
    figures = meter.result()

    assert figures.totals == {"records": 25, "duplicate_records": 5, "lost_records": 5}
    assert figures.by_client["m1"]["duplicate_records"] == 5
