from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groupproof.harness.reports.pictures.scale import Placing, instants_of, scale_of
from groupproof.harness.reports.pictures.timeline import Instant, Lane, Span, Tick, Timeline


@st.composite
def instants(draw: st.DrawFn) -> list[Instant]:
    gaps = draw(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 20_000)), min_size=1, max_size=30))
    points, seq, ms = [], 0, 0.0
    for step, gap in gaps:
        seq, ms = seq + step, ms + gap
        points.append(Instant(seq, ms))
    return points


@given(instants())
def test_the_trace_order_is_kept_and_the_picture_is_filled(points: list[Instant]) -> None:
    scale = scale_of(points, width_min=100, width_max=2_000)
    xs = [scale.x(point) for point in points]

    assert all(before < after for before, after in pairwise(xs))
    assert xs[0] == 0
    assert len(points) == 1 or 99.9 <= scale.width <= 2_000.1


@given(instants(), st.integers(-3, 200), st.floats(-10, 1e6))
def test_any_instant_lies_in_the_picture(points: list[Instant], seq: int, ms: float) -> None:
    scale = scale_of(points, width_min=100, width_max=2_000)

    assert -0.001 <= scale.x(Instant(seq, ms)) <= scale.width + 0.001


def test_a_long_quiet_stretch_is_shortened_and_marked() -> None:
    scale = scale_of([Instant(0, 0), Instant(1, 100), Instant(2, 10_100)], width_min=100, width_max=2_000)

    short, long = scale.xs[1] - scale.xs[0], scale.xs[2] - scale.xs[1]
    assert 1 < long / short < 10
    assert [item.ms for item in scale.breaks] == [10_000]


def test_what_happens_in_one_millisecond_still_has_an_order() -> None:
    scale = scale_of([Instant(0, 5), Instant(10, 5), Instant(20, 5)], width_min=100, width_max=200)

    assert scale.x(Instant(0, 5)) < scale.x(Instant(5, 5)) < scale.x(Instant(10, 5))


def test_heartbeats_make_no_room_of_their_own() -> None:
    beats = [Tick(at=Instant(number, number * 300.0), kind="request", name="Heartbeat") for number in range(1, 20)]
    join = Tick(at=Instant(20, 6_000), kind="request", name="JoinGroup")
    lane = Lane(name="m0", states=[Span(start=Instant(0, 0), state="UNJOINED")], ticks=[*beats, join])

    assert instants_of(Timeline(end=Instant(30, 7_000), lanes=[lane])) == [Instant(0, 0), Instant(20, 6_000), Instant(30, 7_000)]


def test_what_lasts_ends_where_the_picture_does() -> None:
    end = Instant(9, 2_000)
    placing = Placing(scale=scale_of([Instant(0, 0), end], width_min=100, width_max=100), left=10, end=end)

    assert placing.edges(Instant(0, 0), None) == (10, 110)
    assert placing.titled(Instant(0, 0), None, "frozen") == "<title>frozen: 0 ms to 2 s (2 s)</title>"
    assert placing.titled(end, end, "struck") == "<title>struck: 2 s</title>"
