from __future__ import annotations

from tests.chaos.spark.streaming.test_streaming_verdict import SHARED, played, read

from groupproof.chaos.spark.streaming.streaming_picture import drawn
from groupproof.chaos.spark.streaming.streaming_reads import GenerationAssignment


def test_each_partition_has_a_lane_for_each_query_with_what_it_was_given_until_the_next_generation() -> None:
    had = played("shared-group", SHARED, read("a", 0, 1), read("b", 1))
    assignments = [
        GenerationAssignment(generation=1, at_s=1.0, partitions={"a": (0, 1)}),
        GenerationAssignment(generation=2, at_s=3.0, partitions={"a": (0,), "b": (1,)}),
    ]

    picture = drawn(had, assignments, 2)

    assert picture.count('class="lane"') == 4
    assert picture.count('class="owned"') == 4
    assert "generation 2: b was given partition 1" in picture
    assert ">b starts</text>" in picture


def test_what_is_read_again_is_marked() -> None:
    picture = drawn(played("deprecated-path", [], read("a", 0)), [], 2)

    assert picture.count("which it had read before") == 1
    assert picture.count("var(--bad)") == 1


def test_a_course_without_any_read_can_be_drawn() -> None:
    assert drawn(played("default-path", []), [], 1).endswith("</svg>")
